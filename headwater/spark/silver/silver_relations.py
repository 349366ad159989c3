"""What may explain the opaque words that count (rule 4): reports of runs below and beside, kept with the candidates.

Worked out when a candidate comes to count and when a run comes whose word may explain one, so that gold reads no
history.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.current_candidates import INFERRED
from headwater.lineage.runs.related_runs import reported
from headwater.spark.delta.arrow_rows import Row, map_groups
from headwater.spark.delta.ranges import begin, ranges
from headwater.spark.delta.spark_delta import TableFolder, keep, kept, texts
from headwater.spark.gold.open_candidates import CLOSED, COUNTED, OPEN
from headwater.spark.silver.candidate_rows import BELOW, BESIDE
from headwater.spark.silver.texts import read_contribution, text_of
from headwater.tables import EDGE_SETS, RUNS, Table

_ANSWERED = Table("answered", {"asker": "string", "kin": "string"})
_VOTE = ["group_key", "run_key"]
_ASKS = f"part = '{OPEN}' AND asks IS NOT NULL AND NOT gone"


class SilverRelations:
    """The runs of one batch amid those that silver holds."""

    def __init__(self, folder: TableFolder, before: DataFrame, derived: DataFrame, counted: DataFrame, *, asks: bool):
        """Take open candidates as they were, rows of `DERIVED`, and rows of `COUNTED` that nobody keeps yet.

        asks: some open candidate asks.
        """
        self._folder = folder
        self._fresh = derived.select("run_key", "parent_run")
        self._runs = folder.read(RUNS)
        self._before = before
        self._closed = folder.read(EDGE_SETS)
        self._asks = asks
        self._counted, self._seen = kept(
            counted,
            asks=F.max(F.expr(_ASKS)),
            closed=texts(F.when(F.col("was") == CLOSED, begin("run_key"))),
            closes=F.max(F.col("part") == CLOSED),
            quiet=F.max("quiet"),
            loud=F.max(~F.col("quiet")),
            said=F.sum(F.when(F.col("part") == OPEN, F.length("content"))),
        )

    def answered(self) -> tuple[DataFrame, Mapping[str, Any]]:
        """Return the judged rows, and open ones of other runs that these may explain, with `relations` filled in.

        Also what `kept` tells of the judged ones.
        """
        counted = self._counted
        if not (self._seen["asks"] or self._asks):
            return counted, self._seen
        asking, seen = kept(
            self._folder.few(counted.where(_ASKS).unionByName(self._woken())),
            count=F.count("*"),
            below=F.max(F.col("asks") == BELOW),
        )
        if not seen["count"]:
            return counted, self._seen
        answers = keep(self._answers(asking, below=bool(seen["below"])))
        told = asking.drop("kin").withColumn("asker", _asker()).join(answers, "asker", "left").select(*COUNTED.columns)
        rows = counted.join(asking.select(*_VOTE), _VOTE, "left_anti").unionByName(told)
        return keep(self._folder.few(rows)), {**self._seen, "loud": True}

    def _woken(self) -> DataFrame:
        """Return the stored rows that ask and that runs of this batch may answer."""
        stored = self._before.where("asks IS NOT NULL").join(self._counted.select(*_VOTE), _VOTE, "left_anti")
        flags = {"was": F.lit(OPEN), **dict.fromkeys(("late", "gone", "fresh", "quiet"), F.lit(False))}
        rows = stored.withColumns(flags).select(*COUNTED.columns)
        beside = rows.where(F.col("asks") == BESIDE)
        beside = beside.join(self._counted.select("execution").distinct(), "execution", "left_semi")
        asking, seen = kept(rows.where(F.col("asks") == BELOW), count=F.count("*"))
        found = beside.select(*COUNTED.columns)
        if not seen["count"]:
            return found
        return found.unionByName(asking.join(self._above(), "run_key", "left_semi").select(*COUNTED.columns))

    def _above(self) -> DataFrame:
        """Return `run_key` of all runs that the batch's runs are below."""
        front, seen = _front(_parents(self._fresh), "run_key")
        found = front
        while seen["count"]:
            above = _parents(self._family(front, seen, "run_key")).join(found, "run_key", "left_anti")
            front, seen = _front(above, "run_key")
            found = self._folder.few(found.unionByName(front))
        return found

    def _below(self, roots: DataFrame) -> DataFrame:
        """Return (`root`, `run_key`) for all runs below others, whose `run_key` is given."""
        front, seen = _front(roots.select(F.col("run_key").alias("root"), "run_key").distinct(), "run_key")
        found = front
        while seen["count"]:
            parents = front.select("root", F.col("run_key").alias("parent_run"))
            children = self._family(parents.select("parent_run").distinct(), seen, "parent_run")
            children = children.join(parents, "parent_run").select("root", "run_key").distinct()
            front, seen = _front(children.join(found, ["root", "run_key"], "left_anti"), "run_key")
            found = self._folder.few(found.unionByName(front))
        return found.where("root <> run_key")

    def _family(self, keys: DataFrame, seen: Mapping[str, Any], by: str) -> DataFrame:
        """Return (`run_key`, `parent_run`) of the runs that have one of these keys in a column."""
        near = self._runs.where(ranges(by, json.loads(seen["begins"]))).select("run_key", "parent_run")
        known = self._folder.few(near.join(self._fresh, "run_key", "left_anti").unionByName(self._fresh))
        return known.join(keys, by, "left_semi").select("run_key", "parent_run")

    def _answers(self, asking: DataFrame, *, below: bool) -> DataFrame:
        """Return rows of `_ANSWERED`."""
        executions = asking.where(F.col("asks") == BESIDE).select("execution").distinct()
        found = self._contents("execution", executions.select(F.col("execution").alias("asker"), "execution"))
        if below:
            runs = self._below(asking.where(F.col("asks") == BELOW)).select(F.col("root").alias("asker"), "run_key")
            found = self._folder.few(found.unionByName(self._contents("run_key", runs)))
        return map_groups(found.distinct(), "asker", _answer, _ANSWERED, small=self._folder.small)

    def _contents(self, by: str, wanted: DataFrame) -> DataFrame:
        """Return (`asker`, `content`) of the candidates with column lineage that have one of these keys in a column."""
        wanted, seen = _front(wanted, by)
        columns = [*_VOTE, by, "weight", "content"]
        near = self._closed.where(ranges(by, json.loads(seen["begins"]))).select(*dict.fromkeys(columns))
        stored = near.unionByName(self._before.select(*near.columns))
        stored = self._folder.few(stored).join(self._counted.select(*_VOTE), _VOTE, "left_anti")
        every = stored.unionByName(self._counted.where("NOT gone").select(*stored.columns))
        return self._folder.few(every).where(F.col("weight") >= INFERRED).join(wanted, by).select("asker", "content")


def _front(frame: DataFrame, by: str) -> tuple[DataFrame, Mapping[str, Any]]:
    return kept(frame, count=F.count("*"), begins=texts(begin(by)))


def _asker() -> Column:
    return F.expr(f"CASE WHEN asks = '{BELOW}' THEN run_key ELSE execution END")


def _parents(runs: DataFrame) -> DataFrame:
    return runs.where("parent_run IS NOT NULL").select(F.col("parent_run").alias("run_key")).distinct()


def _answer(rows: Sequence[Row]) -> Iterator[Row]:
    """Take (asker, content) of one asker; yield what all these runs report together, in a fixed order."""
    found = reported(read_contribution(content) for _, content in rows)
    yield rows[0][0], text_of([sorted(names) for names in found])
