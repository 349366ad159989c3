"""One batch of silver: what its events change is worked out anew, whichever runs that concerns, and nothing else."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import Row as SqlRow
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.generations import Span
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.newest import NEWNESS
from headwater.lineage.schemas import SeenSchema
from headwater.lineage.user_rules import UserRules
from headwater.spark.arrow import map_rows
from headwater.spark.contents import contents_of, exact_keys, read_columns, refs_in
from headwater.spark.datasets import DATASET, datasets, fields, jobs, reads, still_read
from headwater.spark.delta import Folder, keep, kept, texts, together
from headwater.spark.derive import GROUP, derive
from headwater.spark.facets import newest_facets, newest_of
from headwater.spark.happened import HAPPENED
from headwater.spark.judge import CLOSED, OPEN, judge
from headwater.spark.kin import Kin
from headwater.spark.known import LATEST, History, Known, Latest, seen_of, with_columns
from headwater.spark.naming import Learnt, learn
from headwater.spark.parse import parse
from headwater.spark.positions import Position
from headwater.spark.ranges import begin, ranges
from headwater.spark.shapes import Shapes
from headwater.spark.state import State
from headwater.spark.texts import read_names
from headwater.tables import (
    BINDINGS,
    DATASETS,
    EDGE_SETS,
    FACETS,
    FIELDS,
    JOBS,
    LATEST_FACETS,
    RUN_DATASETS,
    RUNS,
    Table,
)

NAMES = Table("names", {"namespace": "string", "name": "string"})
_RUN_KEYS = Table("run_keys", {"run_key": "string"})
_GENERATIONS = Table("generations", dict.fromkeys(DATASET, "string"))
_SPANS = Table("spans", {**NAMES.columns, "since_us": "long", "until_us": "long"})
_VOTE = ["group_key", "run_key"]
_OF_NAME = ["namespace", "name", *DATASET, "facet", "producer"]


Seen = Mapping[str, Any]
"""What `kept` has found out."""


class Batch:
    """The state of one batch of silver.

    exact, borrows, asks: as in `Position`, after the batch. judged, derived: what it changes, rows of `JUDGED` and
    `DERIVED`; replaced: what the keys of runs begin with that were there before; moved: something happened to names;
    changed: some dataset is another one; loud, quiet: some votes say something new, or again what stands.
    """

    def __init__(
        self,
        folder: Folder,
        bronze: Folder,
        rules: UserRules,
        before: Position,
        state: State,
        *,
        bindings: Iterable[SqlRow],
    ):
        """`before`: of the last batch; bindings: rows of that table."""
        self.folder = folder
        self._bronze = bronze
        self.rules = rules
        self.number = before.batch + 1
        self.exact = self._exact_before = before.exact
        self.borrows = before.borrows
        self.asks = before.asks
        self.state = state
        self.judged: DataFrame | None = None
        self.derived: DataFrame
        self.replaced: Sequence[str] = ()
        self.moved = self.changed = self.loud = self.quiet = False
        self.naming: Naming
        self._bindings = [tuple(row[name] for name in HAPPENED.columns) for row in bindings]
        self._events: DataFrame
        self._shapes: Shapes
        self._parsed: DataFrame
        self._cut = False
        self._touched: DataFrame
        self._begins: list[str] = []

    def take(self, events: DataFrame) -> int:
        """Write all tables of silver but `state`; returns the number of events."""
        self._events = self.folder.few(events)
        self._shapes = Shapes(self._bronze, self._events, self.rules.names)
        self._parsed, seen = kept(
            parse(self._bronze, self._events, self._shapes, self.rules.names),
            count=F.count("*"),
            cut=F.max("cut"),
            begins=texts(begin("run_key")),
            changes=F.max("changes"),
            bindings=F.max(F.size("bindings")),
        )
        self._cut = bool(seen["cut"])
        self._touched = self._parsed.select("run_key").distinct()
        self._begins = json.loads(seen["begins"])
        learnt = learn(
            self._bindings, self._parsed, self, changes=bool(seen["changes"]), bindings=(seen["bindings"] or 0) > 0
        )
        self.naming, self.moved = learnt.naming, bool(learnt.moved or learnt.rows or learnt.gone)
        moved = keep(self.users(learnt.moved)) if learnt.moved else None
        latest = self._latest(learnt, moved)
        derived, told = self._derived(learnt, self._concerned(learnt, moved, latest))
        self._write(learnt, latest, derived, told)
        return int(seen["count"])

    @property
    def answers_stand(self) -> bool:
        """Whether nothing has changed that answers are made of."""
        return not (self.moved or self.changed or self.loud or self.exact != self._exact_before)

    # What is stored, for `learn`

    def named(self, names: Iterable[Name]) -> DataFrame:
        """Return names as rows."""
        return self._rows(NAMES, sorted({name.parts for name in names}))

    def runs(self, run_keys: Iterable[str]) -> DataFrame:
        """Return the keys of runs as rows."""
        return self._rows(_RUN_KEYS, [(key,) for key in sorted(run_keys)])

    def users(self, spans: Iterable[Span]) -> DataFrame:
        """Return `run_key` of the stored runs that use one of these names, as sent, at such a time."""
        wanted = F.broadcast(self._spans(spans))
        used = self.folder.read(RUN_DATASETS).join(wanted, ["namespace", "name"])
        return used.where("first_us <= until_us AND last_us >= since_us").select("run_key").distinct()

    def _spans(self, spans: Iterable[Span]) -> DataFrame:
        return self._rows(
            _SPANS, [(*name.parts, since_us, until_us) for name, since_us, until_us in sorted(set(spans))]
        )

    def _rows(self, table: Table, rows: Sequence[tuple[object, ...]]) -> DataFrame:
        return self.folder.rows(table, rows)

    def parts_of(self, run_keys: DataFrame) -> DataFrame:
        """Return rows in the columns `GROUP` of these runs, stored and in this batch."""
        run_keys, seen = kept(run_keys, begins=texts(begin("run_key")))
        own = self._parsed.select(*GROUP).join(run_keys, "run_key", "left_semi")
        return self.folder.few(self._stored_rows(run_keys, seen).unionByName(own))

    def _stored_rows(self, run_keys: DataFrame, seen: Seen) -> DataFrame:
        """Return rows in the columns `GROUP` of these runs as they are stored; seen: what they begin with."""
        near = self.folder.read(RUNS).where(ranges("run_key", json.loads(seen["begins"])))
        return near.select(*GROUP).join(run_keys, "run_key", "left_semi")

    # What changes

    def _rows_of(self, late: DataFrame | None) -> tuple[DataFrame, DataFrame]:
        """Return rows in the columns `GROUP` of the runs of the batch and of other runs that it concerns.

        Also rows of `CONTENT`, what they refer to.
        """
        own = self.folder.read(RUNS).where(ranges("run_key", self._begins)).select(*GROUP)
        stored = own.join(self._touched, "run_key", "left_semi")
        if late is not None:
            others, seen = kept(late.join(self._touched, "run_key", "left_anti"), begins=texts(begin("run_key")))
            stored = self.folder.few(stored.unionByName(self._stored_rows(others, seen)))
        stored, found = kept(stored, count=F.count("*"))
        fresh = self._parsed.select(*GROUP)
        if not found["count"]:
            return fresh, self._contents()
        return self.folder.few(fresh.unionByName(stored)), self._contents(stored)

    def _contents(self, more: DataFrame | None = None) -> DataFrame:
        """Return rows of `CONTENT` for all that the batch refers to, and `more` rows."""
        known = self._shapes.contents
        rows = [self._parsed.where("shape IS NULL")] if self._shapes.old else []
        rows = [each.select("contents") for each in (*rows, *([] if more is None else [more]))]
        if not rows:
            return known
        refs = refs_in(self.folder.few(reduce(DataFrame.unionByName, rows))).join(known, "ref", "left_anti")
        return self.folder.few(known.unionByName(contents_of(self._bronze, refs, self.rules.names)))

    def _latest(self, learnt: Learnt, moved: DataFrame | None) -> DataFrame:
        """Return rows of `LATEST` that are new, those of names that mean something else as `moved` or `gone`."""
        fresh_rows = self._parsed.select(*GROUP)
        rows, contents = (fresh_rows, self._contents()) if moved is None else self._rows_of(moved)
        found, seen = kept(
            with_columns(_newest(map_rows(rows.select("parts"), Latest(learnt.naming), LATEST)), contents),
            twins=texts(F.when(F.col("twins"), F.array(*DATASET))),
        )
        stays = {"gone": F.lit(False), "moved": F.lit(False)}
        stored = self.state.read(LATEST_FACETS).select(*LATEST.columns)
        fresh = found.withColumns(stays)
        if moved is not None:
            stale = self._stale(stored, learnt.moved)
            again = fresh.join(stale, _OF_NAME, "left_semi").withColumn("moved", F.lit(True))
            others = fresh.join(stale, _OF_NAME, "left_anti")
            gone = stale.join(found, _OF_NAME, "left_anti").withColumns({"gone": F.lit(True), "moved": F.lit(True)})
            fresh = keep(self.folder.few(others.unionByName(again).unionByName(gone)))
            stored = stored.join(stale, _OF_NAME, "left_anti")
        now = stored.unionByName(fresh.where("NOT gone").drop("gone", "moved"))
        self._tell_apart(json.loads(seen["twins"]), now, moved=moved is not None)
        return fresh

    def _stale(self, stored: DataFrame, moved: Iterable[Span]) -> DataFrame:
        """Return the rows that were mentioned when their name meant something else: all of them are in these spans."""
        inside = stored.join(F.broadcast(self._spans(moved)), ["namespace", "name"])
        inside = inside.where("time_us BETWEEN since_us AND until_us")
        return keep(inside.select(*LATEST.columns).dropDuplicates(_OF_NAME))

    def _tell_apart(self, twins: Iterable[Sequence[str]], now: DataFrame, *, moved: bool) -> None:
        """Find the columns that newest schemas tell apart by case: most lakes have none, then nothing is read."""
        several = {Name(*name) for name in twins} | self._exact_before.keys()
        if moved:  # an older schema may be the newest one again
            several |= {Name(*row) for row in now.where("twins").select(*DATASET).collect()}
        self.exact = {}
        if several:
            of = now.where("facet = 'schema'").join(F.broadcast(self._rows(_GENERATIONS, sorted(several))), DATASET)
            newest = F.max_by("value", F.struct(*NEWNESS))
            for row in of.groupBy(*DATASET).agg(newest).collect():
                if keys := exact_keys(row[3]):
                    self.exact[Name(*row[:3])] = keys

    def _concerned(self, learnt: Learnt, moved: DataFrame | None, latest: DataFrame) -> DataFrame | None:
        """Return runs outside the batch that say something else now, None where there can be none."""
        found = [] if moved is None else [moved]
        before = self._exact_before
        changed = [name for name in {*self.exact, *before} if self.exact.get(name) != before.get(name)]
        if changed:
            found.append(self.users(Span(name) for dataset in changed for name in learnt.naming.names_of(dataset)))
        if self.borrows:
            borrowed = self.state.read(EDGE_SETS).where("borrowed")
            if moved is None:
                datasets = latest.where("facet = 'schema'").select(*DATASET).distinct()
                borrowed = borrowed.join(F.broadcast(datasets), DATASET, "left_semi")
            found.append(borrowed.select("run_key"))
        return keep(reduce(DataFrame.unionByName, found).distinct()) if found else None

    def _derived(self, learnt: Learnt, late: DataFrame | None) -> tuple[DataFrame, Seen]:
        rows, contents = self._rows_of(late)
        known = Known(learnt.naming, self.exact)
        derived, told = self._told(rows, contents, known)
        wanted = {Name(*name) for text in json.loads(told["missing"]) for name in read_names(text)}
        if wanted:  # rare: then these runs are worked out once more
            missing = derived.where("missing IS NOT NULL")
            again = rows.join(missing.select("run_key"), "run_key", "left_semi")
            others = derived.where("missing IS NULL")
            derived, told = self._told(again, contents, self._with_histories(known, wanted), others)
        self._begins = json.loads(told["begins"])
        self.replaced = json.loads(told["stored"])
        return derived, told

    def _told(
        self, rows: DataFrame, contents: DataFrame, known: Known, others: DataFrame | None = None
    ) -> tuple[DataFrame, Seen]:
        """Apply the rules to runs, and find out what changes."""
        derived = derive(rows, contents, known, small=self.folder.small)
        return kept(
            derived if others is None else self.folder.few(derived.unionByName(others)),
            missing=texts(F.col("missing")),
            begins=texts(begin("run_key")),
            stored=texts(F.when(F.col("stored"), begin("run_key"))),
            changes=F.sum(F.size("changes")),
            replaced=F.max(F.exists("changes", lambda vote: vote["replaced"])),
            executions=texts(F.transform("changes", lambda vote: begin(vote["execution"]))),
            below=F.max(F.col("parent_run").isNotNull()),
        )

    def _with_histories(self, known: Known, datasets: set[Name]) -> Known:
        names = {name for dataset in datasets for name in known.naming.names_of(dataset)}
        users = self.users(Span(name) for name in names).unionByName(self._touched).distinct()
        rows = self.parts_of(users)
        mentioned = map_rows(rows.select("parts"), History(known.naming, frozenset(datasets)), LATEST).distinct()
        contents = contents_of(self._bronze, refs_in(rows), self.rules.names)
        found = with_columns(self.folder.few(mentioned), contents).collect()
        histories: dict[Name, list[SeenSchema]] = {dataset: [] for dataset in datasets}
        columns = {}
        for dataset, seen, text in seen_of(found):
            histories[dataset].append(seen)
            columns[seen.schema] = read_columns(text)
        ordered: dict[Name, Sequence[SeenSchema]] = {name: sorted(history) for name, history in histories.items()}
        return Known(known.naming, known.exact, ordered, columns)

    # Writing

    def _write(self, learnt: Learnt, latest: DataFrame, derived: DataFrame, told: Seen) -> None:
        votes = self._votes(derived, told)
        self._write_datasets(latest, votes)  # before the votes: what is read no more is told from those that stood
        together(
            partial(self._write_votes, votes),
            partial(self._write_runs, derived),
            partial(self._write_jobs, derived),
            self._write_facets,
            partial(self._write_bindings, learnt),
        )
        self.judged = votes.rows if votes else None
        self.derived = derived

    def _write_votes(self, votes: "_Votes | None") -> None:
        if votes is None:
            return
        closed = votes.rows.where((F.col("part") == CLOSED) & ~F.col("gone"))
        if votes.closed:
            self._correct(EDGE_SETS, closed, votes.closed, votes.rows.select(*_VOTE))
        elif votes.closes:
            self.folder.append(EDGE_SETS, self._stamped(closed))
        elsewhere = {"gone": F.col("gone") | (F.col("part") != OPEN)}
        self.state.put(EDGE_SETS, self._stamped(votes.rows.withColumns(elsewhere)), _VOTE)

    def _write_runs(self, derived: DataFrame) -> None:
        mentions = derived.select("run_key", F.explode("datasets").alias("of")).select("run_key", "of.*")
        for table, rows in ((RUNS, derived), (RUN_DATASETS, mentions)):
            if self.replaced:
                self._correct(table, rows, self.replaced, derived.select("run_key"))
            else:
                self.folder.append(table, self._stamped(rows))

    def _write_bindings(self, learnt: Learnt) -> None:
        rows = [(*row, False) for row in learnt.rows] + [(*row, True) for row in learnt.gone]
        if rows:
            frame = self._rows(Table("bindings", {**HAPPENED.columns, "gone": "boolean"}), rows)
            self.state.put(BINDINGS, self._stamped(frame), list(HAPPENED.columns))
            self.folder.overwrite(BINDINGS, self.state.read(BINDINGS))

    def _write_jobs(self, derived: DataFrame) -> None:
        rows = jobs(self.folder, self.state.read(JOBS), derived.where("kind = 'RUN'"))
        self.state.put(JOBS, self._stamped(rows), ["job_namespace", "job_name"])
        self.folder.overwrite(JOBS, self.state.read(JOBS))

    def _write_facets(self) -> None:
        fresh = newest_facets(self._bronze, self._events, self._parsed, self._shapes, self.rules.names, cut=self._cut)
        where = "entity <> 'run'"
        if self.replaced:
            where = f"({where} OR {ranges('name', self.replaced)})"
        stored = self.folder.read(FACETS).where(where)
        every = self.folder.few(stored.unionByName(self._stamped(fresh).select(*stored.columns)))
        self.folder.replace(FACETS, newest_of(every), where)

    def _votes(self, derived: DataFrame, told: Seen) -> "_Votes | None":
        """Hold what runs say against what is stored; None if they say nothing new."""
        if not told["changes"] and not (told["below"] and self.asks):
            return None
        changes = derived.select(F.explode("changes").alias("vote")).select("vote.*")
        outputs = changes.select("output_key").distinct()
        closed = self.folder.read(EDGE_SETS)
        executions = changes.select("execution").distinct()
        begins = {text for texts_of_run in json.loads(told["executions"]) for text in texts_of_run}
        same = closed.where(ranges("execution", begins)).join(executions, "execution", "left_semi")
        is_closed = {"part": F.lit(CLOSED)}
        before = self.state.read(EDGE_SETS).withColumn("part", F.lit(OPEN))
        found = before.unionByName(same.select(closed.columns).withColumns(is_closed))
        if told["replaced"]:  # what stood behind a vote that is gone may stand again
            losing = changes.where("replaced").select("output_key").distinct()
            losing = closed.join(losing, "output_key", "left_semi").select(closed.columns)
            found = found.unionByName(losing.withColumns(is_closed)).distinct()
        found = self.folder.few(found).join(outputs, "output_key", "left_semi")
        judged = judge(self.folder, found, changes)
        rows, seen = Kin(self.folder, before, derived, judged, asks=self.asks).answered()
        self.borrows = self.borrows or bool(seen["borrowed"])
        self.asks = self.asks or bool(seen["asks"])
        self.loud, self.quiet = bool(seen["loud"]), bool(seen["quiet"])
        read = reads(changes.where("NOT gone")).withColumn("ever_read", F.lit(True))
        if told["replaced"]:
            others = before.unionByName(closed.withColumns(is_closed)).join(changes.select(*_VOTE), _VOTE, "left_anti")
            lost = reads(found.join(changes.where("replaced").select(*_VOTE), _VOTE, "left_semi"))
            read = read.unionByName(still_read(lost.join(read, DATASET, "left_anti"), others))
        return _Votes(rows, json.loads(seen["closed"]), bool(seen["closes"]), read)

    def _write_datasets(self, latest: DataFrame, votes: "_Votes | None") -> None:
        self.state.put(LATEST_FACETS, self._stamped(latest), _OF_NAME, when=_newer())
        concerned = latest.select(*DATASET)
        concerned = concerned.unionByName(concerned.withColumn("generation", F.lit("")))
        concerned = concerned.withColumn("ever_read", F.lit(None).cast("boolean"))
        concerned = self.folder.few(concerned if votes is None else concerned.unionByName(votes.read))
        concerned = concerned.groupBy(*DATASET).agg(F.max("ever_read").alias("ever_read"))
        known = self.state.read(DATASETS)
        rows, seen = kept(datasets(self.state.read(LATEST_FACETS), known, concerned), count=F.count("*"))
        if seen["count"]:
            self.changed = True
            self.folder.overwrite(FIELDS, fields(self.folder, self._stamped(rows)))
            self.state.put(DATASETS, self._stamped(rows), DATASET)
            self.folder.overwrite(DATASETS, self.state.read(DATASETS))

    def _correct(self, table: Table, rows: DataFrame, begins: Sequence[str], instead_of: DataFrame) -> None:
        """Let rows replace those with these keys; begins: what the run keys of these begin with."""
        where = ranges("run_key", begins)
        others = self.folder.read(table).where(where).join(instead_of, instead_of.columns, "left_anti")
        fresh = self._stamped(rows).select(*table.columns)
        self.folder.replace(table, self.folder.few(others.select(*table.columns).unionByName(fresh)), where)

    def _stamped(self, frame: DataFrame) -> DataFrame:
        return frame.withColumns({"batch": F.lit(self.number), "rules_hash": F.lit(self.rules.rules_hash)})


class _Votes(NamedTuple):
    """Rows of `JUDGED`, and the datasets that have readers (`ever_read`) or have none any more.

    closed: what the run keys of those begin with that were closed before; closes: some are closed now.
    """

    rows: DataFrame
    closed: Sequence[str]
    closes: bool
    read: DataFrame


def _newest(frame: DataFrame) -> DataFrame:
    """Return of each name, facet and producer the newest row."""
    rest = [name for name in LATEST.columns if name not in _OF_NAME]
    newest = F.max_by(F.struct(*rest), F.struct(*NEWNESS)).alias("newest")
    return frame.groupBy(*_OF_NAME).agg(newest).select(*_OF_NAME, "newest.*")


def _newer() -> str:
    sides = (", ".join(f"{side}.{name}" for name in NEWNESS) for side in ("s", "t"))
    return "s.moved OR " + " > ".join(f"struct({side})" for side in sides)
