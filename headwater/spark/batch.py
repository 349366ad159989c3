"""One batch of silver: what its events change is worked out anew, whichever runs that concerns, and nothing else."""

from collections.abc import Iterable, Sequence
from functools import partial, reduce
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.generations import Span
from headwater.lineage.name import Name
from headwater.lineage.newest import NEWNESS
from headwater.lineage.schemas import SeenSchema
from headwater.lineage.user_rules import UserRules
from headwater.spark.arrow import map_groups, map_rows
from headwater.spark.datasets import DATASET, datasets, fields, jobs, reads, still_read
from headwater.spark.delta import Folder, keep, together
from headwater.spark.derive import DERIVED, GROUP, Derive
from headwater.spark.facets import KEY as FACET_KEY
from headwater.spark.facets import newest_facets
from headwater.spark.happened import HAPPENED
from headwater.spark.judge import CLOSED, OPEN, judge
from headwater.spark.kin import Kin
from headwater.spark.known import LATEST, History, Known, Latest, exact_keys, read_columns, seen_of
from headwater.spark.naming import Learnt, learn
from headwater.spark.parse import parse
from headwater.spark.positions import Position
from headwater.spark.ranges import prefixes, ranges
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
_OF_NAME = ["namespace", "name", *DATASET, "facet", "producer"]


class Batch:
    """The state of one batch.

    exact, borrows: as in `Position`, after the batch.
    """

    def __init__(self, folder: Folder, rules: UserRules, before: Position):
        """`before`: of the last batch."""
        self.folder = folder
        self.rules = rules
        self.number = before.batch + 1
        self.exact = self._exact_before = before.exact
        self.borrows = before.borrows
        self._events: DataFrame
        self._parsed: DataFrame
        self._touched: DataFrame
        self._begins: list[str] = []

    def take(self, events: DataFrame) -> int:
        """Write all tables but `positions`; returns the number of events.

        Every write may be repeated, and what says that names or columns changed is written last: a batch that was
        cut off is taken again as a whole, with the events that have come since.
        """
        self._events = events
        self._parsed = keep(parse(events, self.rules.names))
        self._touched = keep(self._parsed.select("run_key").distinct())
        seen = self._parsed.agg(F.count("*"), prefixes("run_key"), F.max("changes"), F.max(F.size("bindings")))
        count, self._begins, changes, bindings = seen.collect()[0]
        learnt = learn(self.folder.read(BINDINGS), self._parsed, self, changes=changes, bindings=bindings > 0)
        moved = keep(self.users(learnt.moved)) if learnt.moved else None
        latest = self._latest(learnt, moved)
        derived = self._derived(learnt, self._concerned(learnt, moved, latest))
        self._write(learnt, latest, derived)
        return int(count)

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
        run_keys = keep(run_keys)
        own = self._parsed.select(*GROUP).join(run_keys, "run_key", "left_semi")
        return self._stored_rows(run_keys).unionByName(own)

    def _stored_rows(self, run_keys: DataFrame) -> DataFrame:
        """Return rows in the columns `GROUP` of these runs as they are stored; `run_keys` is worked out twice."""
        begins = run_keys.agg(prefixes("run_key")).collect()[0][0]
        near = self.folder.read(RUNS).where(ranges("run_key", begins))
        return near.select(*GROUP).join(run_keys, "run_key", "left_semi")

    # What changes

    def _rows_of(self, late: DataFrame | None) -> DataFrame:
        """Return rows in the columns `GROUP` of the runs of the batch and of other runs that it concerns."""
        own = self.folder.read(RUNS).where(ranges("run_key", self._begins)).select(*GROUP)
        rows = self._parsed.select(*GROUP).unionByName(own.join(self._touched, "run_key", "left_semi"))
        if late is None:
            return rows
        return rows.unionByName(self._stored_rows(late.join(self._touched, "run_key", "left_anti")))

    def _latest(self, learnt: Learnt, moved: DataFrame | None) -> DataFrame:
        """Return rows of `LATEST` that are new, those of names that mean something else as `moved` or `gone`."""
        rows = self._parsed.select(*GROUP) if moved is None else self._rows_of(moved)
        found = keep(_newest(map_rows(rows.select("parts", "contents"), Latest(learnt.naming), LATEST)))
        stays = {"gone": F.lit(False), "moved": F.lit(False)}
        stored = self.folder.read(LATEST_FACETS).select(*LATEST.columns)
        fresh = found.withColumns(stays)
        if moved is not None:
            stale = self._stale(stored, learnt.moved)
            again = fresh.join(stale, _OF_NAME, "left_semi").withColumn("moved", F.lit(True))
            others = fresh.join(stale, _OF_NAME, "left_anti")
            gone = stale.join(found, _OF_NAME, "left_anti").withColumns({"gone": F.lit(True), "moved": F.lit(True)})
            fresh = keep(others.unionByName(again).unionByName(gone))
            stored = stored.join(stale, _OF_NAME, "left_anti")
        self._tell_apart(
            found, stored.unionByName(fresh.where("NOT gone").drop("gone", "moved")), moved=moved is not None
        )
        return fresh

    def _stale(self, stored: DataFrame, moved: Iterable[Span]) -> DataFrame:
        """Return the rows that were mentioned when their name meant something else: all of them are in these spans."""
        inside = stored.join(F.broadcast(self._spans(moved)), ["namespace", "name"])
        inside = inside.where("time_us BETWEEN since_us AND until_us")
        return keep(inside.select(*LATEST.columns).dropDuplicates(_OF_NAME))

    def _tell_apart(self, found: DataFrame, now: DataFrame, *, moved: bool) -> None:
        """Find the columns that newest schemas tell apart by case: most lakes have none, then nothing is read."""
        several = {Name(*row) for row in found.where("twins").select(*DATASET).collect()}
        several |= self._exact_before.keys()
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
            borrowed = self.folder.read(EDGE_SETS).where("part = 'open' AND borrowed AND NOT retracted")
            if moved is None:
                datasets = latest.where("facet = 'schema'").select(*DATASET).distinct()
                borrowed = borrowed.join(F.broadcast(datasets), DATASET, "left_semi")
            found.append(borrowed.select("run_key"))
        return keep(reduce(DataFrame.unionByName, found).distinct()) if found else None

    def _derived(self, learnt: Learnt, late: DataFrame | None) -> DataFrame:
        rows = self._rows_of(late)
        known = Known(learnt.naming, self.exact)
        derived = keep(map_groups(rows, "run_key", Derive(known), DERIVED))
        found = derived.agg(F.collect_set("missing"), prefixes("run_key")).collect()[0]
        wanted = {Name(*name) for text in found[0] for name in read_names(text)}
        self._begins = found[1]
        missing = derived.where("missing IS NOT NULL")
        if not wanted:
            return derived
        known = self._with_histories(known, wanted)
        again = rows.join(missing.select("run_key"), "run_key", "left_semi")
        again = map_groups(again, "run_key", Derive(known), DERIVED)
        return keep(derived.where("missing IS NULL").unionByName(again))

    def _with_histories(self, known: Known, datasets: set[Name]) -> Known:
        names = {name for dataset in datasets for name in known.naming.names_of(dataset)}
        users = self.users(Span(name) for name in names).unionByName(self._touched).distinct()
        rows = self.parts_of(users).select("parts", "contents")
        found = map_rows(rows, History(known.naming, frozenset(datasets)), LATEST).distinct().collect()
        histories: dict[Name, list[SeenSchema]] = {dataset: [] for dataset in datasets}
        columns = {}
        for dataset, seen, text in seen_of(found):
            histories[dataset].append(seen)
            columns[seen.schema] = read_columns(text)
        ordered: dict[Name, Sequence[SeenSchema]] = {name: sorted(history) for name, history in histories.items()}
        return Known(known.naming, known.exact, ordered, columns)

    # Writing

    def _write(self, learnt: Learnt, latest: DataFrame, derived: DataFrame) -> None:
        votes = self._votes(derived)
        self._write_datasets(latest, votes)  # before the votes: what is read no more is told from those that stood
        together(partial(self._write_runs, votes, derived), partial(self._write_jobs, derived), self._write_facets)
        rows = [(*row, False) for row in learnt.rows] + [(*row, True) for row in learnt.gone]
        if rows:
            flagged = Table("bindings", {**HAPPENED.columns, "gone": "boolean"})
            frame = self._rows(flagged, rows)
            self.folder.merge(BINDINGS, self._stamped(frame), list(HAPPENED.columns))

    def _write_runs(self, votes: "_Votes | None", derived: DataFrame) -> None:
        """Write votes before the runs that say them: a run that is stored is not compared again."""
        if votes is not None:
            only = "" if votes.was_closed else "t.part = 'open'"
            self.folder.merge(EDGE_SETS, self._stamped(votes.rows), ["group_key", "run_key"], only=only)
        among = ranges("t.run_key", self._begins)
        self.folder.merge(RUNS, self._stamped(derived), ["run_key"], only=among)
        mentions = derived.select("run_key", F.explode("datasets").alias("of")).select("run_key", "of.*")
        self.folder.merge(RUN_DATASETS, self._stamped(mentions), ["run_key", "role", "namespace", "name"], only=among)

    def _write_jobs(self, derived: DataFrame) -> None:
        rows = jobs(self.folder, derived.where("kind = 'RUN'"))
        self.folder.merge(JOBS, self._stamped(rows), ["job_namespace", "job_name"])

    def _write_facets(self) -> None:
        facets = newest_facets(self._events, self.rules.names)
        where = f"t.entity <> 'run' OR {ranges('t.name', self._begins)}"
        self.folder.merge(FACETS, self._stamped(facets), FACET_KEY, only=where, when="s.event_order > t.event_order")

    def _votes(self, derived: DataFrame) -> "_Votes | None":
        """Hold what runs say against what is stored; None if they say nothing new."""
        changes = keep(derived.select(F.explode("changes").alias("vote")).select("vote.*"))
        count, replaced, begins = changes.agg(F.count("*"), F.max("replaced"), prefixes("execution")).collect()[0]
        if not count and derived.where("parent_run IS NOT NULL").isEmpty():
            return None
        stored = self.folder.read(EDGE_SETS).where("NOT retracted")
        outputs = changes.select("output_key").distinct()
        closed = stored.where(F.col("part") == CLOSED)
        executions = changes.select("execution").distinct()
        same = closed.where(ranges("execution", begins)).join(executions, "execution", "left_semi")
        found = stored.where(F.col("part") == OPEN).unionByName(same.select(stored.columns))
        if replaced:  # what stood behind a vote that is gone may stand again
            losing = changes.where("replaced").select("output_key").distinct()
            found = found.unionByName(closed.join(losing, "output_key", "left_semi").select(stored.columns)).distinct()
        found = found.join(outputs, "output_key", "left_semi")
        judged = Kin(self.folder, derived, keep(judge(found, changes, self.number))).answered()
        was_closed, borrows = judged.agg(F.max(F.expr("was <=> 'closed'")), F.max("borrowed")).collect()[0]
        self.borrows = self.borrows or bool(borrows)
        read = reads(changes.where("NOT retracted")).withColumn("ever_read", F.lit(True))
        if replaced:
            key = ["group_key", "run_key"]
            others = stored.join(changes.select(*key), key, "left_anti")
            lost = reads(found.join(changes.where("replaced").select(*key), key, "left_semi"))
            read = read.unionByName(still_read(lost.join(read, DATASET, "left_anti"), others))
        return _Votes(judged, bool(was_closed), keep(read))

    def _write_datasets(self, latest: DataFrame, votes: "_Votes | None") -> None:
        self.folder.merge(LATEST_FACETS, self._stamped(latest), _OF_NAME, when=_newer())
        concerned = latest.select(*DATASET)
        concerned = concerned.unionByName(concerned.withColumn("generation", F.lit("")))
        concerned = concerned.withColumn("ever_read", F.lit(None).cast("boolean"))
        concerned = concerned if votes is None else concerned.unionByName(votes.read)
        rows = keep(datasets(self.folder, concerned.groupBy(*DATASET).agg(F.max("ever_read").alias("ever_read"))))
        self.folder.merge(FIELDS, self._stamped(fields(self.folder, rows)), [*DATASET, "field"])
        self.folder.merge(DATASETS, self._stamped(rows), DATASET)

    def _stamped(self, frame: DataFrame) -> DataFrame:
        return frame.withColumns({"batch": F.lit(self.number), "rules_hash": F.lit(self.rules.rules_hash)})


class _Votes(NamedTuple):
    """Rows of `edge_sets`, and the datasets that have readers (`ever_read`) or have none any more."""

    rows: DataFrame
    was_closed: bool
    read: DataFrame


def _newest(frame: DataFrame) -> DataFrame:
    """Return of each name, facet and producer the newest row."""
    rest = [name for name in LATEST.columns if name not in _OF_NAME]
    newest = F.max_by(F.struct(*rest), F.struct(*NEWNESS)).alias("newest")
    return frame.groupBy(*_OF_NAME).agg(newest).select(*_OF_NAME, "newest.*")


def _newer() -> str:
    sides = (", ".join(f"{side}.{name}" for name in NEWNESS) for side in ("s", "t"))
    return "s.moved OR " + " > ".join(f"struct({side})" for side in sides)
