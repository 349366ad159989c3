"""Table `edge_sets`: the distinct edge sets of each job output, by number. Equal edge sets share a number.

A long list of inputs is stored once for all outputs of a run. Otherwise, a run with 1,000 inputs and 1,000 outputs
would store a million names.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from headwater.index.stored.database import question_marks, split_for_parameters
from headwater.index.stored.numbers import NameNumbers
from headwater.index.stored.packing import Inputs, encode, pack_edges, pack_inputs, unpack_edges, unpack_inputs
from headwater.lineage.edges.candidates import INFERRED_LINEAGE
from headwater.lineage.edges.edge_sets import ReportedDatasets, reported_datasets
from headwater.lineage.edges.output_lineage import OutputLineage, inputs_other_than_output
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.bounded_cache import BoundedCache

_MIN_INPUTS = 16
"""Fewer inputs are stored in the edge set itself, because this takes less space than a separate list."""

_IN_PLACE = (None, b"")


class InputLists:
    """The input lists of one index file."""

    def __init__(self, connection: sqlite3.Connection):
        self._sql = connection
        self._read: BoundedCache[int, Inputs] = BoundedCache()
        self._last: tuple[Inputs, int, bytes] | None = None

    def store_inputs(self, lineage: OutputLineage) -> tuple[int | None, bytes]:
        """Store the inputs of an edge set as a separate list. Return the number and the digest of the list.

        If there are fewer than 16 inputs, stores nothing and returns (None, b""). The inputs then stay in the edge set.
        """
        inputs = Inputs.from_lineage(lineage)
        if len(inputs.tables) + len(inputs.also_read) < _MIN_INPUTS:
            return _IN_PLACE
        if self._last is None or inputs != self._last[0]:
            value = pack_inputs(inputs)
            digest = hashlib.sha256(value).digest()[:16]
            self._sql.execute("INSERT OR IGNORE INTO input_lists(digest, value) VALUES (?, ?)", (digest, value))
            query = "SELECT id FROM input_lists WHERE digest = ?"
            self._last = (inputs, int(self._sql.execute(query, (digest,)).fetchone()[0]), digest)
        return self._last[1:]

    def unpack_edges_and_inputs(self, value: bytes, inputs: int | None) -> OutputLineage:
        """Unpack an edge set of table `edges`. inputs: the number of its separate input list, or None without one."""
        return unpack_edges(value, None if inputs is None else self._inputs_by_number(inputs))

    def _inputs_by_number(self, number: int) -> Inputs:
        """Return an input list by its number. Lists are cached, so that the outputs of a run share one object."""
        found = self._read.get(number)
        if found is None:
            value = self._sql.execute("SELECT value FROM input_lists WHERE id = ?", (number,)).fetchone()[0]
            found = unpack_inputs(value)
            self._read.put(number, found, sum(map(len, found)))
        return found

    def delete_unused(self, numbers: Iterable[int]) -> None:
        """Delete the input lists with these numbers, except those that an edge set still uses."""
        self._last = None
        query = "DELETE FROM input_lists WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM edges WHERE inputs = ?1)"
        self._sql.executemany(query, [(number,) for number in numbers])


_ADD = (
    "UPDATE edge_sets SET runs = max(runs, 0) + ?1, first_us = min(coalesce(first_us, ?2), ?2), "
    "last_us = max(coalesce(last_us, ?3), ?3) WHERE number = ?4"
)
_RECOUNT = (
    "UPDATE edge_sets SET (runs, first_us, last_us) = "
    "(SELECT count(*), min(time_us), max(time_us) FROM candidates WHERE edge_set = ?1) WHERE number = ?1"
)

_AT_ONCE = 1_000
_RETAINED = 1_000
"""The edges of a set are deleted this many generations after its last run, because readers may still use them."""

_DELETED = -1
"""The value of `runs` after the edges were deleted. The row stays for readers with the edge set in their graph."""


class CountedEdgeSet(NamedTuple):
    """Whether and how an edge set counts (see `lineage.edges.edge_sets.EdgeSet`).

    live, latest, reading: 1 or 0 for `is_live`, `is_latest` and `is_live_across_generations`. explained, accounted: the
    names in `explained_inputs` and `accounted_inputs`, encoded by `packing.encode`.
    """

    live: int = 0
    latest: int = 0
    reading: int = 0
    explained: bytes = encode([])
    accounted: bytes = encode([])


class _Packed(NamedTuple):
    """A packed edge set. inputs, inputs_digest: the number and digest of its separate input list, or None and b""."""

    value: bytes
    inputs: int | None
    inputs_digest: bytes


class EdgeSetTable:
    """Stores edge sets and how they count."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        self._sql = connection
        self._names = names
        self._numbers: dict[tuple[int, bytes], int] = {}
        self._contents: BoundedCache[int, OutputLineage] = BoundedCache()
        self._digests: BoundedCache[int, tuple[OutputLineage, bytes]] = BoundedCache()
        self._counts: list[tuple[Any, ...]] = []
        self._changed: set[int] = set()
        self._read_sets: BoundedCache[tuple[int, ...], int] = BoundedCache()
        self._last_read: tuple[tuple[Name, ...], tuple[Name, ...], int] = ((), (), 0)
        self._last_names: set[Name] = set()
        self._lists = InputLists(connection)
        self._packed: tuple[OutputLineage | None, _Packed] = (None, _Packed(b"", None, b""))

    def edge_set_number(self, job_output: int, lineage: OutputLineage) -> int:
        """Return the number of a job output's edge set. A new edge set is stored and gets a number.

        job_output: the number of the job output.
        """
        digest = self._lineage_digest(lineage)
        found = self._numbers.get((job_output, digest))
        if found is None:
            key = (job_output, digest)
            row = (*key, lineage.has_hidden_inputs or lineage.output is None)
            made = self._sql.execute("INSERT OR IGNORE INTO edge_sets(job_output, digest, asks) VALUES (?, ?, ?)", row)
            query = "SELECT number FROM edge_sets WHERE job_output = ? AND digest = ?"
            found = int(made.lastrowid or 0) if made.rowcount else int(self._sql.execute(query, key).fetchone()[0])
            self._numbers[key] = found
            packed = self._pack_edge_set(lineage)
            edges = (found, packed.value, packed.inputs, self._read_set_number(lineage))
            self._sql.execute(
                "INSERT OR IGNORE INTO edges(edge_set, value, inputs, read_set) VALUES (?, ?, ?, ?)", edges
            )
            self._contents.put(found, lineage, len(lineage.edges))
        return found

    def lineage_of_edge_set(self, number: int) -> OutputLineage:
        """Return an edge set by its number."""
        found = self._contents.get(number)
        if found is None:
            query = "SELECT value, inputs FROM edges WHERE edge_set = ?"
            lineage = self._lists.unpack_edges_and_inputs(*self._sql.execute(query, (number,)).fetchone())
            found = self._contents.put(number, lineage, len(lineage.edges))
        return found

    def counted_edge_sets(self, job_outputs: Sequence[int]) -> dict[int, dict[int, CountedEdgeSet]]:
        """Return how edge sets counted at the last `flush`, by the number of the job output and of the edge set.

        Edge sets are left out if they did not count and other runs cannot explain them.
        """
        query = (
            "SELECT job_output, number, live, latest, reading, explained, accounted FROM edge_sets "
            "WHERE job_output IN ({}) AND (live OR latest OR reading OR asks)"
        )
        found: dict[int, dict[int, CountedEdgeSet]] = {}
        for some in split_for_parameters(job_outputs):
            for job_output, number, *counted in self._sql.execute(query.format(question_marks(some)), some):
                found.setdefault(job_output, {})[number] = CountedEdgeSet(*counted)
        return found

    def set_counted(self, number: int, counted: CountedEdgeSet) -> None:
        """Record how an edge set counts from now on. `flush` writes it."""
        self._counts.append((*counted, number))

    def flush(self, generation: int) -> None:
        """Write what `set_counted` recorded, with the number of the index's new generation.

        If the runs of an edge set changed, it gets the new generation as well, so that readers reload it.
        """
        self._sql.executemany(
            "UPDATE edge_sets SET live = ?, latest = ?, reading = ?, explained = ?, accounted = ?, "
            f"generation = {generation:d} WHERE number = ?",
            self._counts,
        )
        self._counts.clear()
        again = f"UPDATE edge_sets SET generation = {generation:d} WHERE number = ? AND NOT reading"
        self._sql.executemany(again, [(number,) for number in self._changed])
        self._changed.clear()

    def add_run_times(self, times: Mapping[int, Sequence[int]]) -> None:
        """Add runs that report these edge sets, given the times of the runs (us) by edge set number."""
        self._changed.update(times)
        self._sql.executemany(_ADD, [(len(at), min(at), max(at), number) for number, at in times.items()])

    def recount_runs(self, numbers: Iterable[int]) -> None:
        """Recount the runs of edge sets from table `candidates`, because some runs now report another edge set."""
        numbers = list(numbers)
        self._changed.update(numbers)
        self._sql.executemany(_RECOUNT, [(number,) for number in numbers])

    def delete_unreported(self, generation: int) -> None:
        """Delete the edges of sets that no run has reported for the last 1,000 generations."""
        query = (
            "SELECT number FROM edge_sets WHERE runs = 0 AND generation < ? AND NOT (live OR latest OR reading) LIMIT ?"
        )
        unreported = [row[0] for row in self._sql.execute(query, (generation - _RETAINED, _AT_ONCE)).fetchall()]
        lists = set[int]()
        for number in unreported:
            lineage = self.lineage_of_edge_set(number)
            query = "SELECT read_set, inputs FROM edges WHERE edge_set = ?"
            read, inputs = self._sql.execute(query, (number,)).fetchone()
            lists.update(() if inputs is None else (inputs,))
            self._sql.execute("DELETE FROM edges WHERE edge_set = ?", (number,))
            if not self._sql.execute("SELECT 1 FROM edges WHERE read_set = ?", (read,)).fetchone():
                deleted = [(name, read) for name in self._read_dataset_names(lineage)]
                self._sql.executemany("DELETE FROM reads WHERE name = ? AND read_set = ?", deleted)
                self._sql.execute("DELETE FROM read_sets WHERE id = ?", (read,))
            self._sql.execute(f"UPDATE edge_sets SET runs = {_DELETED} WHERE number = ?", (number,))
        if unreported:
            self._lists.delete_unused(lists)
            self._packed = (None, self._packed[1])
            self._numbers.clear()
            self._read_sets.clear()
            self._last_read = ((), (), 0)

    def _read_set_number(self, lineage: OutputLineage) -> int:
        """Return the number of the set of datasets that an edge set reads.

        The outputs of one run, and the runs of many jobs, usually share one set.
        """
        inputs = (lineage.source_datasets, lineage.other_inputs)
        own = lineage.output.without_generation if lineage.output is not None and not lineage.attempt_state else None
        if own is not None and own not in self._last_names and inputs == self._last_read[:2]:
            return self._last_read[2]
        number = self._store_read_set(self._read_dataset_names(lineage))
        every = {name.without_generation for name in chain(*inputs)}
        if own is not None and own not in every:
            self._last_read, self._last_names = (*inputs, number), every
        return number

    def _store_read_set(self, names: Sequence[int]) -> int:
        key = tuple(names)
        found = self._read_sets.get(key)
        if found is None:
            digest = hashlib.sha256(encode(names)).digest()[:16]
            self._sql.execute("INSERT OR IGNORE INTO read_sets(digest) VALUES (?)", (digest,))
            found = int(self._sql.execute("SELECT id FROM read_sets WHERE digest = ?", (digest,)).fetchone()[0])
            self._sql.executemany("INSERT OR IGNORE INTO reads VALUES (?, ?)", [(name, found) for name in names])
            self._read_sets.put(key, found, len(names))
        return found

    def _read_dataset_names(self, lineage: OutputLineage) -> list[int]:
        return sorted(
            self._names.number(name) for name in {name.without_generation for name in inputs_other_than_output(lineage)}
        )

    def _lineage_digest(self, lineage: OutputLineage) -> bytes:
        """Return the digest of an edge set. It is cached by object, because callers pass the same object repeatedly."""
        known = self._digests.get(id(lineage))
        if known is None or known[0] is not lineage:
            packed = self._pack_edge_set(lineage)
            digest = hashlib.sha256(packed.value + packed.inputs_digest).digest()[:16]
            known = self._digests.put(id(lineage), (lineage, digest), len(lineage.edges))
        return known[1]

    def _pack_edge_set(self, lineage: OutputLineage) -> _Packed:
        """Pack an edge set. The last result is cached, because the digest and the insert both need it."""
        if self._packed[0] is not lineage:
            number, digest = self._lists.store_inputs(lineage)
            value = pack_edges(lineage, Inputs.from_lineage(lineage) if number is None else Inputs())
            self._packed = (lineage, _Packed(value, number, digest))
        return self._packed[1]


_BELOW = (
    "WITH RECURSIVE below(run) AS (SELECT run FROM runs WHERE parent = ?1 "
    "UNION SELECT r.run FROM below b JOIN runs r ON r.parent = b.run) "
    "SELECT DISTINCT v.edge_set FROM below b CROSS JOIN candidates v ON v.run = b.run WHERE v.weight >= ?2 "
    "AND b.run <> ?1"
)
_BESIDE = "SELECT DISTINCT edge_set FROM candidates WHERE execution = ? AND weight >= ?"


class SqliteRelatedRuns:
    """The `RelatedRuns` of an index file. What an edge set reports is cached, because edge sets never change."""

    def __init__(self, connection: sqlite3.Connection, edge_sets: EdgeSetTable):
        self._sql = connection
        self._edge_sets = edge_sets
        self._reports: BoundedCache[int, ReportedDatasets] = BoundedCache()

    def reports_of_descendants(self, run_key: str) -> ReportedDatasets:
        """Return what the runs below a run report. run_key: the number of the run."""
        return self._merge_reports(number for (number,) in self._sql.execute(_BELOW, (run_key, INFERRED_LINEAGE)))

    def reports_of_execution(self, execution: str) -> ReportedDatasets:
        """Return what the runs of an execution report. execution: the number of the execution."""
        return self._merge_reports(number for (number,) in self._sql.execute(_BESIDE, (execution, INFERRED_LINEAGE)))

    def _merge_reports(self, numbers: Iterable[int]) -> ReportedDatasets:
        found = [self._report_of_edge_set(number) for number in list(numbers)]
        empty: frozenset[Name] = frozenset()
        return ReportedDatasets(
            empty.union(*(each.covered_sources for each in found)),
            empty.union(*(each.outputs_with_lineage for each in found)),
        )

    def _report_of_edge_set(self, number: int) -> ReportedDatasets:
        found = self._reports.get(number)
        if found is None:
            report = reported_datasets([self._edge_sets.lineage_of_edge_set(number)])
            found = self._reports.put(number, report, len(report.covered_sources))
        return found
