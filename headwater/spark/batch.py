"""One batch of silver: what its events change is worked out anew, whichever runs that concerns, and nothing else."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.name import Name
from headwater.lineage.schemas import SeenSchema
from headwater.lineage.user_rules import UserRules
from headwater.spark.arrow import map_groups, map_rows
from headwater.spark.delta import Folder, spark_schema
from headwater.spark.derive import DERIVED, GROUP, Derive
from headwater.spark.judge import CLOSED, OPEN, judge
from headwater.spark.known import LATEST, History, Known, Latest, exact_keys, read_columns, seen_of
from headwater.spark.naming import KEYS, Learnt, learn
from headwater.spark.parse import parse
from headwater.spark.positions import Position
from headwater.spark.ranges import ranges
from headwater.spark.texts import read_names
from headwater.tables import BINDINGS, EDGE_SETS, LATEST_FACETS, RUN_DATASETS, RUNS, Table

NAMES = Table("names", {"namespace": "string", "name": "string"})
_OF_NAME = ["namespace", "name", "dataset_namespace", "dataset_name", "facet", "producer"]
_NEWNESS = ("credible", "time_us", "rank", "event_id", "place")


class Batch:
    """The state of one batch; its frames are kept until `close`."""

    def __init__(self, folder: Folder, rules: UserRules, position: Position):
        """`position`: of the last batch, but with the number of this one."""
        self.folder = folder
        self.rules = rules
        self.number = position.batch
        self._exact = position.exact
        self._kept: list[DataFrame] = []
        self._parsed: DataFrame
        self._touched: DataFrame
        self._ranges = "true"

    def take(self, events: DataFrame) -> tuple[int, Mapping[Name, frozenset[str]]]:
        """Write all tables but `positions`; returns the number of events and what columns are told apart now.

        Every write may be repeated, and what says that names or columns changed is written last: a batch that was
        cut off is taken again as a whole, with the events that have come since.
        """
        self._parsed = self._keep(parse(events, self.rules.names))
        count = self._parsed.count()
        self._touched = self._keep(self._parsed.select("run_key").distinct())
        self._ranges = ranges(self._touched, "run_key")
        learnt = learn(self.folder.read(BINDINGS), self._parsed, self)
        moved = self._keep(self.users(learnt.moved)) if learnt.moved else None
        latest, exact = self._latest(learnt, moved)
        derived = self._derived(learnt, exact, self._concerned(learnt, moved, latest, exact))
        self._write(learnt, latest, derived)
        return count, exact

    def close(self) -> None:
        """Let go of what is kept."""
        for frame in self._kept:
            frame.unpersist()

    # What is stored, for `learn`

    def named(self, names: Iterable[Name]) -> DataFrame:
        """Return names as rows."""
        return self.folder.spark.createDataFrame(sorted(set(names)), spark_schema(NAMES))

    def users(self, names: Iterable[Name]) -> DataFrame:
        """Return `run_key` of the stored runs that use one of these names, as sent."""
        wanted = F.broadcast(self.named(names))
        stored = self.folder.read(RUN_DATASETS)
        return stored.join(wanted, ["namespace", "name"], "left_semi").select("run_key").distinct()

    def parts_of(self, run_keys: DataFrame) -> DataFrame:
        """Return rows in the columns `GROUP` of these runs, stored and in this batch."""
        stored = self.folder.read(RUNS).select(*GROUP).join(run_keys, "run_key", "left_semi")
        return stored.unionByName(self._parsed.select(*GROUP).join(run_keys, "run_key", "left_semi"))

    # What changes

    def _rows_of(self, late: DataFrame | None) -> DataFrame:
        """Return rows in the columns `GROUP` of the runs of the batch and of other runs that it concerns."""
        own = self.folder.read(RUNS).where(self._ranges).select(*GROUP)
        rows = self._parsed.select(*GROUP).unionByName(own.join(self._touched, "run_key", "left_semi"))
        if late is None:
            return rows
        others = late.join(self._touched, "run_key", "left_anti")
        return rows.unionByName(self.folder.read(RUNS).select(*GROUP).join(others, "run_key", "left_semi"))

    def _latest(self, learnt: Learnt, moved: DataFrame | None) -> tuple[DataFrame, Mapping[Name, frozenset[str]]]:
        """Return rows of `LATEST` that are new (or `gone`), and the columns that are told apart by case."""
        rows = self._parsed.select(*GROUP) if moved is None else self._rows_of(moved)
        found = _newest(map_rows(rows.select("parts", "contents"), Latest(learnt.naming), LATEST))
        stored = self.folder.read(LATEST_FACETS).select(*LATEST.columns)
        stays = {"gone": F.lit(False), "moved": F.lit(False)}
        fresh = found.withColumns(stays)
        if moved is not None:
            names = F.broadcast(self.named(learnt.moved))
            others = found.join(names, ["namespace", "name"], "left_anti").withColumns(stays)
            moves = {**stays, "moved": F.lit(True)}
            again = found.join(names, ["namespace", "name"], "left_semi").withColumns(moves)
            meant = stored.join(names, ["namespace", "name"], "left_semi")
            gone = meant.join(found, _OF_NAME, "left_anti").withColumns({**moves, "gone": F.lit(True)})
            fresh = others.unionByName(again).unionByName(gone)
            stored = stored.join(names, ["namespace", "name"], "left_anti")
        fresh = self._keep(fresh)
        now = stored.unionByName(fresh.where("NOT gone").drop("gone", "moved")).where("facet = 'schema'")
        newest = F.max_by(F.struct("twins", "value"), F.struct(*_NEWNESS)).alias("newest")
        schemas = now.groupBy("dataset_namespace", "dataset_name").agg(newest).where("newest.twins")
        return fresh, {Name(row[0], row[1]): exact_keys(row["newest"]["value"]) for row in schemas.collect()}

    def _concerned(
        self, learnt: Learnt, moved: DataFrame | None, latest: DataFrame, exact: Mapping[Name, frozenset[str]]
    ) -> DataFrame | None:
        """Return stored runs outside the batch that say something else now."""
        found = [] if moved is None else [moved]
        changed = [name for name in {*exact, *self._exact} if exact.get(name) != self._exact.get(name)]
        if changed:
            found.append(self.users(name for dataset in changed for name in learnt.naming.names_of(dataset)))
        borrowed = self.folder.read(EDGE_SETS).where("part = 'open' AND borrowed AND NOT retracted")
        if moved is None:
            datasets = latest.where("facet = 'schema'").select("dataset_namespace", "dataset_name").distinct()
            borrowed = borrowed.join(F.broadcast(datasets), ["dataset_namespace", "dataset_name"], "left_semi")
        found.append(borrowed.select("run_key"))
        late = self._keep(reduce(DataFrame.unionByName, found).distinct())
        return None if late.isEmpty() else late

    def _derived(self, learnt: Learnt, exact: Mapping[Name, frozenset[str]], late: DataFrame | None) -> DataFrame:
        rows = self._rows_of(late)
        known = Known(learnt.naming, exact)
        derived = self._keep(map_groups(rows, "run_key", Derive(known), DERIVED))
        missing = derived.where("missing IS NOT NULL")
        wanted = {Name(*name) for row in missing.select("missing").distinct().collect() for name in read_names(row[0])}
        if not wanted:
            return derived
        known = self._with_histories(known, wanted)
        again = rows.join(missing.select("run_key"), "run_key", "left_semi")
        again = map_groups(again, "run_key", Derive(known), DERIVED)
        return self._keep(derived.where("missing IS NULL").unionByName(again))

    def _with_histories(self, known: Known, datasets: set[Name]) -> Known:
        names = {name for dataset in datasets for name in known.naming.names_of(dataset)}
        users = self.users(names).unionByName(self._touched).distinct()
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
        self._write_votes(derived)
        self._merge(RUNS, derived, ["run_key"], derived)
        mentions = derived.select("run_key", F.explode("datasets").alias("of")).select("run_key", "of.*")
        self._merge(RUN_DATASETS, mentions, ["run_key", "role", "namespace", "name"], derived)
        self.folder.merge(LATEST_FACETS, self._stamped(latest), _OF_NAME, when=_newer())
        rows = [(*row, False) for row in learnt.rows] + [(*row, True) for row in learnt.gone]
        if rows:
            flagged = Table("bindings", {**{name: BINDINGS.columns[name] for name in KEYS}, "gone": "boolean"})
            frame = self.folder.spark.createDataFrame(rows, spark_schema(flagged))
            self.folder.merge(BINDINGS, self._stamped(frame), KEYS)

    def _write_votes(self, derived: DataFrame) -> None:
        changes = self._keep(derived.select(F.explode("changes").alias("vote")).select("vote.*"))
        if changes.isEmpty():
            return
        stored = self.folder.read(EDGE_SETS).where("NOT retracted")
        outputs = changes.select("output_key").distinct()
        opened = stored.where(F.col("part") == OPEN).join(outputs, "output_key", "left_semi")
        closed = stored.where(F.col("part") == CLOSED)
        executions = changes.select("execution").distinct()
        same = closed.where(ranges(executions, "execution")).join(executions, "execution", "left_semi")
        same = same.join(outputs, "output_key", "left_semi")
        replaced = changes.where("replaced").select("output_key").distinct()
        if not replaced.isEmpty():
            others = closed.join(F.broadcast(replaced), "output_key", "left_semi")
            same = same.join(F.broadcast(replaced), "output_key", "left_anti").unionByName(others)
        judged = self._keep(judge(opened.unionByName(same), changes, self.number))
        only = "" if not judged.where(F.col("was") == CLOSED).isEmpty() else "t.part = 'open'"
        self.folder.merge(EDGE_SETS, self._stamped(judged), ["group_key", "run_key"], only=only)

    def _merge(self, table: Table, frame: DataFrame, keys: Sequence[str], derived: DataFrame) -> None:
        """Write what runs say, reading only files that may hold one of them."""
        among = ranges(derived, "run_key").replace("run_key", "t.run_key")
        self.folder.merge(table, self._stamped(frame), keys, only=among)

    def _stamped(self, frame: DataFrame) -> DataFrame:
        return frame.withColumns({"batch": F.lit(self.number), "rules_hash": F.lit(self.rules.rules_hash)})

    def _keep(self, frame: DataFrame) -> DataFrame:
        self._kept.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame


def _newest(frame: DataFrame) -> DataFrame:
    """Return of each name, facet and producer the newest row."""
    rest = [name for name in LATEST.columns if name not in _OF_NAME]
    newest = F.max_by(F.struct(*rest), F.struct(*_NEWNESS)).alias("newest")
    return frame.groupBy(*_OF_NAME).agg(newest).select(*_OF_NAME, "newest.*")


def _newer() -> str:
    sides = (", ".join(f"{side}.{name}" for name in _NEWNESS) for side in ("s", "t"))
    return "s.moved OR " + " > ".join(f"struct({side})" for side in sides)
