"""The index as questions see it: the graph of what counts, kept up with its writer, one generation at a time."""

import gc
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from heapq import merge
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from msgspec import json

from headwater.garbage_collection import gc_paused
from headwater.index.stored.binding_table import SqliteNaming
from headwater.index.stored.catalog_tables import DATASET, DELETED_JOB, DELETED_NAMESPACE
from headwater.index.stored.content_table import SqliteContents
from headwater.index.stored.database import marks, open_for_reading
from headwater.index.stored.index_packing import names_from
from headwater.index.stored.input_lists import InputLists
from headwater.index.stored.name_numbers import NameNumbers
from headwater.index.stored.page_sums import check_pages
from headwater.index.stored.run_numbers import NEWEST_CANDIDATE
from headwater.index.stored.schema_use_table import seen_of
from headwater.index.stored.tag_table import TagTable
from headwater.lineage.edges.column_spellings import chosen_spellings, spellings_from
from headwater.lineage.edges.current_candidates import OPAQUE, SILENT, JobOutput
from headwater.lineage.edges.edge_sets import EdgeSet
from headwater.lineage.edges.schema_columns import NO_COLUMNS, Columns
from headwater.lineage.edges.schema_history import KnownLists, SeenSchema
from headwater.lineage.edges.write_kinds import UNLESS_PARTS, WHOLE, rewrites
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.display_names import DisplayNames
from headwater.lineage.rules.declared_writes import ReportedWrite, RewriteSource, decided_kind, rewrite_source
from headwater.lineage.rules.tags import newest_tags
from headwater.lineage.rules.user_rules import NO_RULES, UserRules
from headwater.lineage.runs.commit_proofs import NO_PROOFS, CommitProof, CommitProofs
from headwater.lineage.runs.job_identity import is_uuid, job_key
from headwater.lineage.runs.lost_runs import ENDED
from headwater.lineage.runs.newest_first import newest_first
from headwater.lineage.runs.retired_jobs import RetiredJobs, declared_until, newest_retirements
from headwater.lineage.runs.run_facts import Tag
from headwater.lineage.runs.weighed import MOST, Weighed
from headwater.lineage.time.snapshot import Remask, Seen, Snapshot, Stats
from headwater.lineage.time.whole_rewrites import WholeRewrite, start_of_rewrite
from headwater.resources import close_on_error

T = TypeVar("T")

_NEWEST_RUN = newest_first(("v.time_us", "k.key"))
"""ORDER BY of runs or candidates `v` and the keys `k` of runs, newest first."""

_WRITE = (
    "SELECT v.grp, v.started_us, v.last_us, v.time_us, v.execution, g.layer, g.job, v.rewrites, r.producer, k.key FROM "
)
_WRITES = f"{_WRITE}votes v JOIN groups g ON g.id = v.grp JOIN runs r ON r.run = v.run JOIN run_keys k ON k.id = v.run"
_WRITES_OF_RUNS = (
    f"{_WRITE}json_each(?) p CROSS JOIN run_keys k ON k.key = p.value CROSS JOIN votes v ON v.run = k.id "
    "CROSS JOIN groups g ON g.id = v.grp CROSS JOIN runs r ON r.run = v.run"
)
"""Writes, of all runs, and of those whose keys are in a JSON list."""

_SEEN = f"SELECT {', '.join(SeenSchema._fields)} FROM seen WHERE name = ?"
"""The mentions of lists of columns under a name."""

_ROW = 5
"""Edges that a row of a list weighs as much as: 100,000 rows are kept."""

_TIMES_KEPT = 100_000
"""Edge sets of which it is kept when runs said them, about 25 MB."""

_NO_REWRITES = (None, None)
"""Of a dataset: the last whole rewrite where it is not written by parts, and the last that is one in any case."""

_EDGE = 100
"""Characters of a text that weigh as much as an edge."""


class LiveGraph(Snapshot):
    """A graph of the edge sets that count, and the newest schemas; `refresh` brings both up to date."""

    def __init__(self, path: Path, remask: Remask, rules: UserRules = NO_RULES):
        """Read all that counts; raises LakeUnavailable while there is no index."""
        self.path, self._rules = path, rules
        check_pages(path)
        with close_on_error(open_for_reading(path)) as self.sql:
            self._begin(remask)
        gc.freeze()  # the graph stays: no request waits until the collector has looked at all of it

    def _begin(self, remask: Remask) -> None:
        self.names = NameNumbers(self.sql)
        self._names_in_time = SqliteNaming(self.sql, self.names)
        super().__init__(self._names_in_time, remask, self._rules)
        self._schemas: dict[Name, str | None] = {}
        self._columns: dict[str | None, Columns] = {None: NO_COLUMNS}
        self._spellings: dict[Name, str] = {}
        self._spelt: dict[Name, Columns] = {}
        self._tags: Mapping[Name, Sequence[Tag]] | None = None
        self._jobs: dict[Name, Name] = {}
        self._remembered: dict[Hashable, Any] = {}
        self._brought_up: dict[Hashable, Any] = {}
        self._lists: Weighed[Hashable, Sequence[Any]] = Weighed()
        self._seen_times: dict[int, Seen] = {}
        self.moved = self.acted = 0
        self._texts: Weighed[int, str] = Weighed()
        self.contents = SqliteContents(self.sql)
        self._nests: set[Name] = set()
        self._rewrites: dict[Name, tuple[WholeRewrite | None, WholeRewrite | None]] = {}
        self.generation = 0
        self._named = (0, 0, 0)
        self._unnamed: set[Name] = set()
        self._seen = -1
        self.refresh()

    def refresh(self) -> None:
        """Take what the writer has committed since; until `rest` all that is read belongs to that one generation."""
        self.rest()
        self.sql.execute("BEGIN")
        version = self.sql.execute("PRAGMA data_version").fetchone()[0]
        if version == self._seen:
            return
        self.names.refresh()
        moved = self._names_in_time.refresh()
        with gc_paused():
            taken = (self._take_sets(), self._take_rewrites(), self._take_datasets())
            newest = max(*taken, self._newest_entity(), self.generation)
        self.moved, self.acted = newest if moved else self.moved, self._newest_act()
        self.removed_before_us = self._removed_before_us()
        self._tags = self._counted = None
        self._jobs.clear()
        self.forget()
        self.generation, self._seen = newest, version

    def rest(self) -> None:
        """Let go of the generation that was read, so that the writer can tidy up behind it."""
        if self.sql.in_transaction:
            self.sql.execute("COMMIT")

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""
        schema = self._schemas.get(dataset)
        found = self._columns.get(schema)
        if found is None:
            found = self._columns[schema] = Columns(self.contents.schema(schema or ""))
        return self._spelt_like_lineage(dataset, found) if dataset.plain in self._spellings else found

    def _spelt_like_lineage(self, dataset: Name, columns: Columns) -> Columns:
        found = self._spelt.get(dataset)
        if found is None:
            sent = chosen_spellings(spellings_from(self._spellings[dataset.plain]))
            found = self._spelt[dataset] = columns.with_unlisted(sent)
        return found

    def base_us(self, dataset: Name) -> int | None:
        """Return the time of the base list of a dataset in its generation, None without one."""
        return self.remembered(("base list", dataset), lambda: self._base_us(dataset))

    def _base_us(self, dataset: Name) -> int | None:
        base = self._known_lists(dataset).base
        return base.time_us if base else None

    def written_keys(self, dataset: Name) -> frozenset[str] | None:
        """Return the keys of the columns of a dataset that others than readers list."""
        return self.remembered(("written", dataset), lambda: self._written_keys(dataset))

    def _written_keys(self, dataset: Name) -> frozenset[str]:
        columns = self.columns(dataset)
        written = self._known_lists(dataset).written
        paths = (path for schema in written for path in self.contents.schema(schema))
        return frozenset(columns.key(".".join(path)) for path in paths)

    def _known_lists(self, dataset: Name) -> KnownLists:
        lists = KnownLists(by_parts=self.is_written_by_parts(dataset.plain))
        for name in self.naming.names_of(dataset.plain):
            rows = self.sql.execute(_SEEN, (self.names.known(name) or 0,))
            for seen in map(seen_of, rows):
                if seen.dataset(name, self.naming) == dataset:
                    lists.take(seen)
        return lists

    def described(self) -> Iterable[Name]:
        """Return the datasets, each in its generation, of which a schema is known."""
        return (dataset for dataset, schema in self._schemas.items() if schema)

    def nesting(self) -> Iterable[Name]:
        """Return the datasets with columns that are nested in others by their newest schema."""
        return self._nests

    def names_in_events(self) -> Iterable[Name]:
        """Return every dataset that some event names, also if no run that names it completed."""
        return self.remembered("names in events", self._names_in_events)

    def _names_in_events(self) -> frozenset[Name]:
        rows = self.sql.execute("SELECT name FROM entities WHERE kind = ?", (DATASET,))
        return frozenset(self.resolve(self.names.name(number)) for (number,) in rows)

    def is_in_events(self, dataset: Name) -> bool:
        """Tell whether some event names a dataset, also if no run that names it completed."""
        query = "SELECT 1 FROM entities WHERE kind = ? AND name = ?"
        numbers = (self.names.known(name) or 0 for name in self.naming.names_of(dataset))
        return any(self.sql.execute(query, (DATASET, number)).fetchone() for number in numbers)

    def display_names(self, rules: NameRules) -> DisplayNames:
        """Return the display names of all datasets; new names are added to those of the generation before."""
        at = self.generation, self.moved, len(self.graph.names)
        if self._display is None or self._display[0] is not rules or self._named[1] != self.moved:
            self._display, self._named, self._unnamed = None, at, set()
            return super().display_names(rules)
        if at != self._named:
            display, (generation, _, nodes) = self._display[1], self._named
            query = "SELECT name FROM entities WHERE kind = ? AND generation > ?"
            sent = (self.names.name(number) for (number,) in self.sql.execute(query, (DATASET, generation)))
            self._name(display, (*sent, *self._unnamed, *self.graph.names[nodes:]))
            self._named, self._unnamed = at, set()
        return self._display[1]

    def schema(self, dataset: Name) -> str | None:
        """Return the content hash of a dataset's newest schema."""
        return self._schemas.get(dataset)

    def tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags that hold now, by dataset."""
        if self._tags is None:
            self._tags = newest_tags(TagTable(self.sql, self.names).facets(), self.naming)
        return self._tags

    def tags_of(self, datasets: Collection[Name]) -> Mapping[Name, Sequence[Tag]]:
        """Return the same of a few datasets: of each name that alone means one, only the newest facets are read."""
        table, found = TagTable(self.sql, self.names), {}
        for dataset in datasets:
            names = sorted(self.naming.names_of(dataset))
            read = table.newest_of if len(names) == 1 else table.facets
            tags = newest_tags((facet for name in names for facet in read(name)), self.naming).get(dataset)
            if tags:
                found[dataset] = tags
        return found

    def job(self, key: Name) -> Name:
        """Return what people call a job: where it is known by an artifact's id, the name it has now."""
        found = self._jobs.get(key)
        if found is None:
            query = (
                "SELECT v.job FROM runs v JOIN run_keys k ON k.id = v.run WHERE v.job_key = ? "
                f"ORDER BY {_NEWEST_RUN} LIMIT 1"
            )
            row = self.sql.execute(query, (self.names.known(key) or 0,)).fetchone()
            found = self._jobs[key] = job_key(self.names.name(row[0]), None) if row else key
        return found

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made of this generation; it is made once."""
        if key not in self._remembered:
            self._remembered[key] = make()
        found: T = self._remembered[key]
        return found

    def listed(self, key: Hashable, make: Callable[[], Sequence[T]]) -> Sequence[T]:
        """Return a list that is worked out whole for a page of it; kept for the next pages of this generation.

        One that is too long for memory is worked out for each page.
        """
        found = self._lists.get(key)
        if found is None:
            found, weight = (rows := make()), len(rows) * _ROW
            if weight <= MOST:
                self._lists.keep(key, found, weight)
        return found

    def brought_up(self, key: Hashable, make: Callable[[], T], *, anew: bool = False) -> T:
        """Return what is kept from generation to generation; who made it brings it up to date (`touched_since`)."""
        if anew or key not in self._brought_up:
            self._brought_up[key] = make()
        found: T = self._brought_up[key]
        return found

    def forget(self) -> None:
        """Forget what was made of this generation."""
        self._remembered.clear()
        self._seen_times.clear()
        self._lists.clear()

    def facet_text(self, number: int) -> str:
        """Return the text of a facet, which never changes; what was read lately is kept."""
        found = self._texts.get(number)
        if found is None:
            text: str = self.sql.execute("SELECT value FROM facet_texts WHERE id = ?", (number,)).fetchone()[0]
            found = self._texts.keep(number, text, len(text) // _EDGE)
        return found

    def newest_run(self, number: int) -> str | None:
        """Return the newest run behind an edge set."""
        query = (
            "SELECT k.key FROM votes v JOIN run_keys k ON k.id = v.run WHERE v.edge_set = ? "
            f"ORDER BY {NEWEST_CANDIDATE} LIMIT 1"
        )
        row = self.sql.execute(query, (number,)).fetchone()
        return row[0] if row else None

    def has_ended(self, run: str) -> bool:
        """Tell whether a run that reports no end ended with its parent or its root run."""
        query = "SELECT r.state FROM run_keys k JOIN runs r ON r.run = k.id WHERE k.key = ?"
        row = self.sql.execute(query, (run,)).fetchone()
        return row is not None and row[0] == ENDED

    def applications(self, number: int) -> Set[str]:
        """Return the parent runs of the runs behind an edge set that are of its job's newest execution."""
        return self.remembered(("applications", number), lambda: self._applications(number))

    def _applications(self, number: int) -> Set[str]:
        weight = OPAQUE if self.graph.sets[number][1].output is None else SILENT  # all candidates that count have it
        newest = self.sql.execute(
            "SELECT v.execution, v.grp FROM votes v JOIN run_keys k ON k.id = v.run WHERE v.grp = "
            f"(SELECT grp FROM edge_sets WHERE number = ?) AND v.weight = ? ORDER BY {NEWEST_CANDIDATE} LIMIT 1",
            (number, weight),
        ).fetchone()
        query = (
            "SELECT DISTINCT k.key FROM votes v JOIN runs r ON r.run = v.run "
            "JOIN run_keys k ON k.id = r.parent WHERE v.execution = ? AND v.grp = ? AND v.edge_set = ?"
        )
        return {key for (key,) in self.sql.execute(query, (*newest, number))} if newest else frozenset()

    def in_application(self, application: str, among: Set[int]) -> Iterator[int]:
        """Yield those of some edge sets that an application says."""
        query = (
            "SELECT DISTINCT v.edge_set FROM run_keys k CROSS JOIN runs r ON r.parent = k.id "
            "CROSS JOIN votes v ON v.run = r.run WHERE k.key = ?"
        )
        said = {number for (number,) in self.sql.execute(query, (application,))}
        return super().in_application(application, said.intersection(among))

    def older_than(self, time_us: int) -> Iterator[int]:
        """Yield the edge sets whose newest run is older than a time."""
        rows = self.sql.execute("SELECT number FROM edge_sets WHERE last_us < ?", (time_us,))
        return (number for (number,) in rows if number in self.graph.sets)

    def stats(self, number: int) -> Stats:
        """Return what is known of the runs behind an edge set."""
        query = "SELECT runs, first_us, last_us FROM edge_sets WHERE number = ?"
        rows_confirmed = "SELECT 1 FROM votes WHERE edge_set = ? AND landed LIMIT 1"
        runs, first_us, last_us = self.sql.execute(query, (number,)).fetchone()
        return Stats(runs, first_us, last_us, bool(self.sql.execute(rows_confirmed, (number,)).fetchone()))

    def seen(self, number: int) -> Seen:
        """Return when runs said an edge set."""
        found = self._seen_times.get(number)
        if found is None:
            row = self.sql.execute("SELECT first_us, last_us FROM edge_sets WHERE number = ?", (number,)).fetchone()
            if len(self._seen_times) >= _TIMES_KEPT:
                self._seen_times.clear()
            found = self._seen_times[number] = Seen(*row)
        return found

    def rewritten(self, dataset: Name) -> WholeRewrite | None:
        """Return the whole rewrite of a generation of a dataset that began last."""
        if self._rules.declares_writes(dataset) or self._proofs(dataset):
            return self.remembered(("decided rewrite", dataset), lambda: self._decided_rewrite(dataset))
        every, whole = self._rewrites.get(dataset, _NO_REWRITES)
        if every == whole or not self.remembered(("parts", dataset), lambda: self.is_written_by_parts(dataset.plain)):
            return every
        return whole

    def rewrite_source(self, dataset: Name, run_key: str) -> RewriteSource | None:
        """Return how it is known that a run replaced all rows of a dataset; None if it did not."""
        by_parts, proofs = self.is_written_by_parts(dataset.plain), self._proofs(dataset)
        names = self.naming.names_of(dataset.plain)
        rows = self.sql.execute(
            f"{_WRITES} WHERE g.output = ? AND k.key = ?", (self.names.known(dataset) or 0, run_key)
        ).fetchall()
        for *_, layer, job, kind, producer, key in rows:
            sender = self.names.name(producer).namespace if producer else ""
            write = ReportedWrite(sender, key, kind, proofs.is_whole(key, names))
            job_output = JobOutput(layer, self.names.name(job), dataset)
            if found := rewrite_source(self._rules, job_output, write, by_parts=by_parts):
                return found
        return None

    def retired_jobs(self) -> RetiredJobs:
        """Return the jobs that were deleted or declared as retired."""
        end_us = self.newest_event_us()
        rows = self.sql.execute(
            "SELECT name, time_us FROM changes WHERE mark = 'deleted' AND detail IN (?, ?) AND time_us <= ?",
            (DELETED_JOB, DELETED_NAMESPACE, end_us),
        )
        deleted = [(self.names.name(number), time_us) for number, time_us in rows]
        return newest_retirements([*deleted, *declared_until(self._rules.names.jobs.retired, end_us)])

    def job_seen_us(self, job: Name) -> int:
        """Return the time of the newest event of a job."""
        query = "SELECT max(last_us) FROM runs WHERE job_key = ?"
        return int(self.sql.execute(query, (self.names.known(job) or 0,)).fetchone()[0] or 0)

    def run_times_us(self, job: Name) -> Iterable[int]:
        """Return the time of the newest event of each run of a job."""
        query = "SELECT last_us FROM runs WHERE job_key = ? AND kind = 'RUN'"
        return [last_us for (last_us,) in self.sql.execute(query, (self.names.known(job) or 0,))]

    def newest_event_us(self) -> int | None:
        """Return the time of the newest event that is not ahead of its receipt."""
        row = self.sql.execute("SELECT time_us FROM newest_event").fetchone()
        return row[0] if row else None

    def _decided_rewrite(self, dataset: Name) -> WholeRewrite | None:
        """Return the same where users declare how jobs write the dataset, or commits prove it."""
        by_parts, proofs = self.is_written_by_parts(dataset.plain), self._proofs(dataset)
        names, found = self.naming.names_of(dataset.plain), None
        declares = self._rules.declares_writes(dataset)
        told = set[int]()
        for group, started_us, last_us, time_us, execution, layer, job, kind, producer, run_key in self._writes(
            dataset, None if declares else proofs.whole_runs
        ):
            if found is not None and started_us < found.started_us:
                break
            sender = self.names.name(producer).namespace if producer else ""
            job_output = JobOutput(layer, self.names.name(job), dataset)
            write = ReportedWrite(sender, run_key, kind, proofs.is_whole(run_key, names))
            decided = decided_kind(self._rules, job_output, write)
            if group not in told and rewrites(decided, by_parts=by_parts):
                told.add(group)
                halves = self._halves(dataset, execution, time_us) if started_us == last_us else []
                began_us = start_of_rewrite(job_output.job, started_us, last_us, halves)
                found = max(found or WholeRewrite(began_us, time_us), WholeRewrite(began_us, time_us))
        return found

    def _writes(self, dataset: Name, whole_runs: Collection[str] | None) -> Iterator[tuple[Any, ...]]:
        """Yield the writes of a dataset, those first that began last.

        whole_runs: ids of runs that count beside those whose events report a rewrite; None: all writes.
        """
        output = self.names.known(dataset) or 0
        newest = "ORDER BY v.started_us DESC, v.time_us DESC"
        if whole_runs is None or not all(map(is_uuid, whole_runs)):
            return iter(self.sql.execute(f"{_WRITES} WHERE g.output = ? {newest}", (output,)))
        groups = self.sql.execute("SELECT id FROM groups WHERE output = ?", (output,)).fetchall()
        reported = [  # each by an index: of thousands of rewrites mostly the last is looked at
            self.sql.execute(f"{_WRITES} WHERE v.grp = ? AND v.rewrites = ? {newest}", (group, kind))
            for (group,) in groups
            for kind in (UNLESS_PARTS, WHOLE)
        ]
        query = f"{_WRITES_OF_RUNS} WHERE g.output = ? AND NOT v.rewrites {newest}"
        promoted = self.sql.execute(query, (json.encode(sorted(whole_runs)).decode(), output))
        return merge(*reported, promoted, key=itemgetter(1, 3), reverse=True)

    def _halves(self, dataset: Name, execution: int, until_us: int) -> list[tuple[Name, int]]:
        """Return the jobs and times of what an execution wrote into a dataset up to a moment."""
        query = (
            "SELECT g.job, v.time_us FROM groups g JOIN votes v ON v.grp = g.id "
            "WHERE g.output = ? AND v.execution = ? AND v.time_us <= ?"
        )
        rows = self.sql.execute(query, (self.names.known(dataset) or 0, execution, until_us))
        return [(self.names.name(job), time_us) for job, time_us in rows]

    def _proofs(self, dataset: Name) -> CommitProofs:
        """Return what commits prove about the writes of a dataset."""
        if not self.remembered(("any proofs",), self._has_proofs):
            return NO_PROOFS
        return self.remembered(("proofs", dataset.plain), lambda: self._read_proofs(dataset.plain))

    def _has_proofs(self) -> bool:
        return self.sql.execute("SELECT 1 FROM commit_proofs LIMIT 1").fetchone() is not None

    def _read_proofs(self, dataset: Name) -> CommitProofs:
        known = {number: name for name in self.naming.names_of(dataset) if (number := self.names.known(name))}
        query = f"SELECT name, run_id, is_whole FROM commit_proofs WHERE name IN ({marks([*known])})"
        rows = self.sql.execute(query, [*known])
        return CommitProofs(CommitProof(run_id, known[number], bool(is_whole)) for number, run_id, is_whole in rows)

    def is_written_by_parts(self, dataset: Name) -> bool:
        """Tell whether some event mentions a part of a dataset, or writes its partitions."""
        known = [number for name in self.naming.names_of(dataset) if (number := self.names.known(name)) is not None]
        query = f"SELECT 1 FROM parted WHERE name IN ({marks(known)}) LIMIT 1"
        return bool(known and self.sql.execute(query, known).fetchone())

    def was_read(self, dataset: Name) -> bool:
        """Tell whether some run, be it long ago, read a dataset to write another."""
        query = (
            "SELECT 1 FROM reads r JOIN edges v ON v.read_set = r.read_set JOIN edge_sets e ON e.number = v.edge_set "
            "WHERE r.name = ? AND e.runs > 0 LIMIT 1"
        )
        return bool(self.sql.execute(query, (self.names.known(dataset) or 0,)).fetchone())

    def close(self) -> None:
        """Close the file."""
        self.sql.close()

    def _removed_before_us(self) -> int | None:
        row = self.sql.execute("SELECT max(before_us) FROM removed_events").fetchone()
        return row[0] if row else None

    def _newest_entity(self) -> int:
        return int(self.sql.execute("SELECT max(generation) FROM entities").fetchone()[0] or 0)

    def _newest_act(self) -> int:
        return int(self.sql.execute("SELECT max(generation) FROM changes").fetchone()[0] or 0)

    def _take_sets(self) -> int:
        newest = 0
        rows = self.sql.execute(
            "SELECT e.number, e.generation, e.runs, e.last_us, e.live, e.latest, e.reading, e.explained, e.accounted, "
            "g.layer, g.job, g.output, v.value, v.inputs FROM edge_sets e JOIN groups g ON g.id = e.grp "
            "LEFT JOIN edges v ON v.edge_set = e.number WHERE e.generation > ?",
            (self.generation,),
        )
        lists = InputLists(self.sql)
        for number, generation, runs, last_us, *counts, explained, accounted, layer, job, output, value, inputs in rows:
            newest = max(newest, generation)
            self.graph.remove(number)
            self._count(number, False, False, False)
            if runs > 0 and (any(counts) or layer == "observed"):
                job_output = JobOutput(layer, self.names.name(job), self.names.name(output) if output else None)
                told = (frozenset(names_from(each)) if each else frozenset() for each in (explained, accounted))
                edge_set = EdgeSet(lists.unpack(value, inputs), *counts, *told)
                self._put(number, job_output, edge_set, last_us, later=True)
        self.graph.connect()
        return newest

    def _take_rewrites(self) -> int:
        newest = 0
        for output, *times, generation in self.sql.execute(
            "SELECT output, started_us, ended_us, whole_started_us, whole_ended_us, generation FROM rewrites "
            "WHERE generation > ?",
            (self.generation,),
        ):
            newest = max(newest, generation)
            every, whole = (WholeRewrite(*each) if each[0] is not None else None for each in (times[:2], times[2:]))
            self._rewrites[self.names.name(output)] = every, whole
        return newest

    def _take_datasets(self) -> int:
        newest = 0
        self._spelt.clear()
        query = "SELECT name, schema, nests, spellings, generation FROM datasets WHERE generation > ?"
        for number, schema, nests, spellings, generation in self.sql.execute(query, (self.generation,)):
            newest = max(newest, generation)
            name = self.names.name(number)
            self._schemas[name] = schema
            self._unnamed.add(name)
            if spellings:
                self._spellings[name] = spellings
            (self._nests.add if nests else self._nests.discard)(name)
        return newest
