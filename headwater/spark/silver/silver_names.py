"""Learn the meaning of names from a batch: symlinks, drops, renames, and writes to names with a drop or rename.

There are few of them in comparison with events. Therefore, the driver has all of them in memory, and Spark sends them
to every task.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from pyspark.sql import Row as SqlRow
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import DatasetChange, NameSpan
from headwater.lineage.names.name_resolution import NameResolver, TimedLocation, event_bindings
from headwater.spark.delta.arrow_rows import map_groups
from headwater.spark.silver.dataset_changes import BINDING, CHANGES, DROP, KEYS, NAME_CHANGES, WRITE, name_changes
from headwater.spark.silver.stored_runs import StoredRuns
from headwater.spark.silver.texts import read_facts

Row = tuple[Any, ...]
ByRun = dict[str, list[Row]]

_SIDES = ["namespace", "name", "to_namespace", "to_name"]


class BatchNaming:
    """The meaning of names (`naming`), first before a batch and then with the changes of the batch.

    `SilverBatch` uses this class to implement `lineage.runs.derivation.ChangedBatch`.
    """

    def __init__(self, known: Iterable[SqlRow]):
        """known: the rows of `bindings` before the batch."""
        rows = [tuple(row[name] for name in KEYS) for row in known]
        self._known = _group_by_alias(row for row in rows if row[0] == BINDING)
        self._before = _group_by_run(row for row in rows if row[0] != BINDING)
        self._after = dict(self._before)
        self._links: Sequence[tuple[Name, TimedLocation]] = ()
        self.naming = NameResolver()
        self.naming.add_bindings((alias, at_us) for alias, locations in self._known.items() for at_us in locations)
        for run_key, changes in _changes_by_run(self._before):
            self.naming.set_changes(run_key, changes)
        for run_key, writes in _writes_by_run(self._before):
            self.naming.set_writes(run_key, writes)

    def new_symlinks(self, stored: StoredRuns) -> Sequence[tuple[Name, TimedLocation]]:
        """Return the symlinks that `naming` must learn from the batch, as (name, (time in us, location)).

        If all symlinks of a name have the same location, the earliest time is enough. If a name has several locations,
        all times are returned, because a late event may have a time between two of them.
        """
        link_rows = stored.parsed.select(F.explode("bindings").alias("link")).select("link.*")
        found = _group_by_alias((BINDING, *row) for row in link_rows.groupBy(*_SIDES).agg(F.min("time_us")).collect())
        known = self._known
        ambiguous = {name for name, at in found.items() if len({to for _, to in (*at, *known.get(name, ()))}) > 1}
        fresh = new_symlinks(found, ambiguous, known)
        if ambiguous:
            ambiguous_links = link_rows.join(F.broadcast(stored.name_rows(ambiguous)), ["namespace", "name"])
            every = _group_by_alias(
                (BINDING, *row) for row in ambiguous_links.select(*_SIDES, "time_us").distinct().collect()
            )
            fresh |= {(name, at) for name, locations in every.items() for at in locations}
        newly_ambiguous = {name for name in ambiguous & known.keys() if len({to for _, to in known[name]}) == 1}
        if newly_ambiguous:
            rows = stored.facts_of(stored.runs_using_spans(map(NameSpan, newly_ambiguous))).select("parts").collect()
            facts = (fact for row in rows for fact in read_facts(row.parts))
            fresh |= {link for fact in facts for link in event_bindings(fact) if link[0] in newly_ambiguous}
        self._links = sorted(fresh)
        return self._links

    def name_changes(self, stored: StoredRuns, *, has_changes: bool) -> Iterator[tuple[str, Sequence[DatasetChange]]]:
        """Yield (run key, drops and renames) for all known runs. has_changes: the batch reports DROP or RENAME."""
        if has_changes or self._before:
            keys = stored.parsed.where("changes").select("run_key")
            if self._before:
                known_runs = stored.parsed.select("run_key").join(
                    F.broadcast(stored.run_key_rows(self._before)), "run_key"
                )
                keys = keys.unionByName(known_runs)
            self._after |= _name_changes(stored, {row.run_key for row in keys.distinct().collect()})
        return _changes_by_run(self._after)

    def name_writes(self, stored: StoredRuns, moved: Set[NameSpan]) -> Iterator[tuple[str, Iterable[tuple[int, Name]]]]:
        """Yield (run key, writes) for all known runs that write to names with a drop or rename.

        A write is a pair of time (us) and name. This method first adds the runs of the batch, and the stored runs that
        use a name in `moved`.
        """
        generations, found = self.naming.generations, set[str]()
        names = {*self.naming.bindings, *generations.changed_locations(), *generations.renamed}
        if names := {name for name in names if self._has_changes(name)}:
            outputs = F.explode(F.from_json("written", "ARRAY<ARRAY<STRING>>")).alias("of")
            written = stored.parsed.select("run_key", outputs)
            written = written.selectExpr("run_key", "of[0] AS namespace", "of[1] AS name")
            written = written.join(F.broadcast(stored.name_rows(names)), ["namespace", "name"], "left_semi")
            found.update(row.run_key for row in written.select("run_key").distinct().collect())
        if moved:
            found.update(row.run_key for row in stored.runs_using_spans(moved).collect())
        self._after |= _name_changes(stored, found - self._after.keys())
        return _writes_by_run(self._after)

    def changed_rows(self) -> list[Row]:
        """Return the new and the deleted rows of `bindings`, in the columns `KEYS` and `gone`."""
        links = [(BINDING, *name.parts, *to.parts, at, None, None, False) for name, (at, to) in self._links]
        before = {row for rows in self._before.values() for row in rows}
        after = {row for rows in self._after.values() for row in rows if self._is_stored(row)}
        return [*links, *((*row, False) for row in after - before), *((*row, True) for row in before - after)]

    def _is_stored(self, row: Row) -> bool:
        """Return whether to store a row of `NAME_CHANGES`. Writes matter only for names with a drop or rename."""
        name = Name(row[1], row[2])
        if row[0] == WRITE:
            return self.naming.generations.has_changes(self.naming.location_at(name, row[5]))
        return row[0] in CHANGES or row[7] is not None or self._has_changes(name)

    def _has_changes(self, name: Name) -> bool:
        """Return whether a run dropped or renamed a dataset under this name or at one of its locations."""
        locations = (location for _, location in self.naming.bindings.get(name, ()))
        return any(map(self.naming.generations.has_changes, (name, *locations)))


def new_symlinks(
    found: Mapping[Name, Sequence[TimedLocation]], ambiguous: Set[Name], known: Mapping[Name, Sequence[TimedLocation]]
) -> set[tuple[Name, TimedLocation]]:
    """Return the symlinks of names that are not yet known and have only one location, as (name, (time, location)).

    found: the symlinks of the batch by name. ambiguous: names with several locations. known: the known symlinks by
    name. The function compares sets of names, because an event may contain thousands of known symlinks.
    """
    new = found.keys() - ambiguous - known.keys()
    return {(name, at) for name in new for at in found[name]}


def _changes_by_run(by_run: ByRun) -> Iterator[tuple[str, Sequence[DatasetChange]]]:
    for run_key, rows in by_run.items():
        ordered = sorted((row for row in rows if row[0] in CHANGES), key=lambda row: int(row[7]))
        yield run_key, [_to_dataset_change(row) for row in ordered]


def _to_dataset_change(row: Row) -> DatasetChange:
    return DatasetChange(row[5], Name(row[1], row[2]), None if row[0] == DROP else Name(row[3], row[4]))


def _writes_by_run(by_run: ByRun) -> Iterator[tuple[str, Iterable[tuple[int, Name]]]]:
    for run_key, rows in by_run.items():
        yield run_key, [(row[5], Name(row[1], row[2])) for row in rows if row[0] == WRITE]


def _group_by_alias(rows: Iterable[Row]) -> dict[Name, list[TimedLocation]]:
    found: dict[Name, list[TimedLocation]] = {}
    for row in rows:
        found.setdefault(Name(row[1], row[2]), []).append((row[5], Name(row[3], row[4])))
    return found


def _group_by_run(rows: Iterable[Row]) -> ByRun:
    found: ByRun = {}
    for row in rows:
        found.setdefault(row[6], []).append(row)
    return found


def _name_changes(stored: StoredRuns, run_keys: Set[str]) -> ByRun:
    """Return the rows of `NAME_CHANGES` by run key, derived from the stored facts and the batch's facts of these runs.

    A run without changes has an empty list.
    """
    if not run_keys:  # do not scan table `runs` without need
        return {}
    rows = map_groups(stored.facts_of(stored.run_key_rows(run_keys)), "run_key", name_changes, NAME_CHANGES)
    return {**{run_key: [] for run_key in run_keys}, **_group_by_run(tuple(row) for row in rows.collect())}
