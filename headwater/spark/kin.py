"""What may explain the opaque words that count (rule 4): reports of runs below and beside, kept with the votes.

Worked out when a vote comes to count and when a run comes whose word may explain one, so that gold reads no history.
"""

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.current import CARRIES
from headwater.lineage.kin import reported
from headwater.spark.arrow import Row, map_groups
from headwater.spark.delta import Folder, keep
from headwater.spark.derive import BELOW, BESIDE
from headwater.spark.judge import JUDGED, OPEN
from headwater.spark.ranges import prefixes, ranges
from headwater.spark.texts import read_contribution, text_of
from headwater.tables import EDGE_SETS, RUNS, Table

_ANSWERED = Table("answered", {"asker": "string", "kin": "string"})
_VOTE = ["group_key", "run_key"]


class Kin:
    """The runs of one batch amid those that silver holds."""

    def __init__(self, folder: Folder, derived: DataFrame, judged: DataFrame):
        """Take rows of `derive.DERIVED` and of `judge.JUDGED`, neither of them written yet."""
        self._judged = judged
        self._fresh = derived.select("run_key", "parent_run")
        self._runs = folder.read(RUNS)
        self._votes = folder.read(EDGE_SETS).where("NOT retracted")

    def answered(self) -> DataFrame:
        """Return the judged rows, and open ones of other runs that these may explain, with `kin` filled in."""
        judged = self._judged
        asking = keep(
            judged.where(f"part = '{OPEN}' AND asks IS NOT NULL AND NOT retracted").unionByName(self._woken())
        )
        if asking.isEmpty():
            return judged
        answers = keep(self._answers(asking))
        told = asking.drop("kin").withColumn("asker", _asker()).join(answers, "asker", "left").select(*JUDGED.columns)
        return keep(judged.join(asking.select(*_VOTE), _VOTE, "left_anti").unionByName(told))

    def _woken(self) -> DataFrame:
        """Return the stored rows that ask and that runs of this batch may answer."""
        stored = self._votes.where(f"part = '{OPEN}' AND asks IS NOT NULL")
        stored = keep(stored.join(self._judged.select(*_VOTE), _VOTE, "left_anti"))
        rows = stored.withColumns({"late": F.lit(False), "was": F.lit(OPEN)}).select(*JUDGED.columns)
        if stored.isEmpty():
            return rows
        beside = rows.where(F.col("asks") == BESIDE)
        beside = beside.join(self._judged.select("execution").distinct(), "execution", "left_semi")
        below = rows.where(F.col("asks") == BELOW).join(self._above(), "run_key", "left_semi")
        return beside.select(*JUDGED.columns).unionByName(below.select(*JUDGED.columns))

    def _above(self) -> DataFrame:
        """Return `run_key` of all runs that the batch's runs are below."""
        front = _parents(self._fresh)
        found = front
        while not front.isEmpty():
            front = keep(_parents(self._family(front, "run_key")).join(found, "run_key", "left_anti"))
            found = keep(found.unionByName(front))
        return found

    def _below(self, roots: DataFrame) -> DataFrame:
        """Return (`root`, `run_key`) for all runs below others, whose `run_key` is given."""
        front = keep(roots.select(F.col("run_key").alias("root"), "run_key").distinct())
        found = front
        while not front.isEmpty():
            parents = front.select("root", F.col("run_key").alias("parent_run"))
            children = self._family(parents.select("parent_run").distinct(), "parent_run").join(parents, "parent_run")
            children = children.select("root", "run_key").distinct()
            front = keep(children.join(found, ["root", "run_key"], "left_anti"))
            found = keep(found.unionByName(front))
        return found.where("root <> run_key")

    def _family(self, keys: DataFrame, by: str) -> DataFrame:
        """Return (`run_key`, `parent_run`) of the runs that have one of these keys in a column."""
        begins = keys.agg(prefixes(by)).collect()[0][0]
        near = self._runs.where(ranges(by, begins)).select("run_key", "parent_run")
        known = near.join(self._fresh, "run_key", "left_anti").unionByName(self._fresh)
        return known.join(keys, by, "left_semi").select("run_key", "parent_run")

    def _answers(self, asking: DataFrame) -> DataFrame:
        """Return rows of `_ANSWERED`."""
        below = self._below(asking.where(F.col("asks") == BELOW))
        below = self._contents("run_key", below.select(F.col("root").alias("asker"), "run_key"))
        executions = asking.where(F.col("asks") == BESIDE).select("execution").distinct()
        beside = self._contents("execution", executions.select(F.col("execution").alias("asker"), "execution"))
        return map_groups(below.unionByName(beside).distinct(), "asker", _answer, _ANSWERED)

    def _contents(self, by: str, wanted: DataFrame) -> DataFrame:
        """Return (`asker`, `content`) of the votes with column lineage that have one of these keys in a column."""
        begins = wanted.agg(prefixes(by)).collect()[0][0]
        near = self._votes.where(ranges(by, begins)).join(self._judged.select(*_VOTE), _VOTE, "left_anti")
        columns = [by, "weight", "content"]
        every = near.select(*columns).unionByName(self._judged.where("NOT retracted").select(*columns))
        return every.where(F.col("weight") == CARRIES).join(wanted, by).select("asker", "content")


def _asker() -> Column:
    return F.expr(f"CASE WHEN asks = '{BELOW}' THEN run_key ELSE execution END")


def _parents(runs: DataFrame) -> DataFrame:
    known = runs.where("parent_run IS NOT NULL")
    return keep(known.select(F.col("parent_run").alias("run_key")).distinct())


def _answer(rows: Sequence[Row]) -> Iterator[Row]:
    """Take (asker, content) of one asker; yield what all these runs report together, in a fixed order."""
    found = reported(read_contribution(content) for _, content in rows)
    yield rows[0][0], text_of([sorted(names) for names in found])
