"""The current index for questions: a graph of the edge sets that count, which is updated to each new generation."""

import gc
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from heapq import merge
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from msgspec import json

from headwater.common.garbage_collection import gc_paused
from headwater.common.resources import close_on_error
from headwater.index.stored.database import (
    DATASET,
    DELETED_JOB,
    DELETED_NAMESPACE,
    open_for_reading,
    question_marks,
)
from headwater.index.stored.datasets import SqliteNaming, TagTable
from headwater.index.stored.edge_sets import InputLists
from headwater.index.stored.integrity import check_pages
from headwater.index.stored.numbers import NEWEST_CANDIDATE, NameNumbers
from headwater.index.stored.packing import names_from
from headwater.index.stored.schemas import SqliteFacetContents, mention_from_row
from headwater.lineage.edges.candidates import INPUTS_ONLY, NO_SOURCES, JobOutput
from headwater.lineage.edges.edge_sets import EdgeSet
from headwater.lineage.edges.schema_columns import NO_COLUMNS, Columns, decode_spellings, preferred_spellings
from headwater.lineage.edges.schema_history import DatasetColumnLists, SchemaMention
from headwater.lineage.edges.write_kinds import WHOLE_REWRITE, WHOLE_UNLESS_PARTITIONED, is_whole_rewrite
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.display_names import DisplayNames
from headwater.lineage.rules.applied_rules import (
    ReportedWrite,
    RewriteEvidence,
    decide_write_kind,
    find_rewrite_evidence,
)
from headwater.lineage.rules.tags import newest_tags
from headwater.lineage.rules.user_rules import NO_RULES, UserRules
from headwater.lineage.runs.bounded_cache import MAX_EDGES, BoundedCache
from headwater.lineage.runs.commit_proofs import NO_PROOFS, CommitProof, CommitProofs
from headwater.lineage.runs.event_order import newest_first_sql
from headwater.lineage.runs.jobs import RetiredJobs, declared_retirements, is_uuid, job_key, newest_retirement_times
from headwater.lineage.runs.lost_runs import ENDED
from headwater.lineage.runs.run_facts import Tag
from headwater.lineage.snapshots.snapshot import EdgeSetStats, Remask, ReportTimes, Snapshot
from headwater.lineage.snapshots.whole_rewrites import WholeRewrite, rewrite_start_us

T = TypeVar("T")

_NEWEST_RUN = newest_first_sql(("v.time_us", "k.key"))
"""ORDER BY for runs or candidates `v` with run keys `k`, newest first."""

_WRITE = (
    "SELECT v.job_output, v.started_us, v.last_us, v.time_us, v.execution, g.layer, g.job, v.rewrites, r.producer, "
    "k.key FROM "
)
_WRITES = (
    f"{_WRITE}candidates v JOIN job_outputs g ON g.id = v.job_output JOIN runs r ON r.run = v.run "
    "JOIN run_keys k ON k.id = v.run"
)
_WRITES_OF_RUNS = (
    f"{_WRITE}json_each(?) p CROSS JOIN run_keys k ON k.key = p.value CROSS JOIN candidates v ON v.run = k.id "
    "CROSS JOIN job_outputs g ON g.id = v.job_output CROSS JOIN runs r ON r.run = v.run"
)
"""`_WRITES` selects the writes of all runs. `_WRITES_OF_RUNS` selects the writes of runs by a JSON list of run keys."""

_SEEN = f"SELECT {', '.join(SchemaMention._fields)} FROM schema_mentions WHERE name = ?"
"""Selects the column lists that were mentioned under a name."""

_ROW_WEIGHT = 5
"""The weight of a list row in the cache, in edges. With this weight, the cache holds 100,000 rows."""

_MAX_TIMES = 100_000
"""The maximum number of edge sets with cached times, which take about 25 MB."""

_NO_REWRITES = (None, None)
"""The value in `_rewrites` for a dataset without whole rewrites.

The elements are the last rewrite if the dataset is not written by parts, and the last rewrite if it is.
"""

_CHARACTERS_PER_EDGE = 100
"""The number of characters of a text that weigh as much as an edge in the cache."""


class LiveGraph(Snapshot):
    """A graph of the edge sets that count, and the newest schemas. `refresh` updates both.

    generation: the newest generation of the index that is loaded. naming_generation: the generation at which names may
    last have changed their meaning. api_generation: the generation of the newest change through the API.
    """

    def __init__(self, path: Path, remask: Remask, rules: UserRules = NO_RULES):
        """Read all edge sets that count from the index file `path`. Raises LakeUnavailable if there is no index.

        remask: applies the user's masking rules to the lineage of an edge set.
        """
        self.path, self._rules = path, rules
        check_pages(path)
        with close_on_error(open_for_reading(path)) as self.sql:
            self._load_graph(remask)
        gc.freeze()  # the graph is long-lived: garbage collection must not scan it during a request

    def _load_graph(self, remask: Remask) -> None:
        self.names = NameNumbers(self.sql)
        self._names_in_time = SqliteNaming(self.sql, self.names)
        super().__init__(self._names_in_time, remask, self._rules)
        self._schemas: dict[Name, str | None] = {}
        self._columns: dict[str | None, Columns] = {None: NO_COLUMNS}
        self._spellings: dict[Name, str] = {}
        self._respelled: dict[Name, Columns] = {}
        self._tags: Mapping[Name, Sequence[Tag]] | None = None
        self._jobs: dict[Name, Name] = {}
        self._cached: dict[Hashable, Any] = {}
        self._across_generations: dict[Hashable, Any] = {}
        self._lists: BoundedCache[Hashable, Sequence[Any]] = BoundedCache()
        self._seen_times: dict[int, ReportTimes] = {}
        self.naming_generation = self.api_generation = 0
        self._texts: BoundedCache[int, str] = BoundedCache()
        self.contents = SqliteFacetContents(self.sql)
        self._nests: set[Name] = set()
        self._rewrites: dict[Name, tuple[WholeRewrite | None, WholeRewrite | None]] = {}
        self.generation = 0
        self._display_state = (0, 0, 0)
        self._unnamed: set[Name] = set()
        self._data_version = -1
        self.refresh()

    def refresh(self) -> None:
        """Load the generations that the writer has committed since the last call.

        Starts a read transaction: until `end_read`, all queries see the newest of these generations.
        """
        self.end_read()
        self.sql.execute("BEGIN")
        version = self.sql.execute("PRAGMA data_version").fetchone()[0]
        if version == self._data_version:
            return
        self.names.refresh()
        moved = self._names_in_time.refresh()
        with gc_paused():
            loaded = (self._load_edge_sets(), self._load_rewrites(), self._load_datasets())
            newest = max(*loaded, self._newest_entity_generation(), self.generation)
        self.naming_generation, self.api_generation = (
            newest if moved else self.naming_generation,
            self._newest_api_change_generation(),
        )
        self.removed_before_us = self._removed_before_us()
        self._tags = self._counted = None
        self._jobs.clear()
        self.clear_caches()
        self.generation, self._data_version = newest, version

    def end_read(self) -> None:
        """End the read transaction, so that the writer can reuse the pages of older generations."""
        if self.sql.in_transaction:
            self.sql.execute("COMMIT")

    def columns(self, dataset: Name) -> Columns:
        """Return the columns in the newest schema of a dataset generation."""
        schema = self._schemas.get(dataset)
        found = self._columns.get(schema)
        if found is None:
            found = self._columns[schema] = Columns(self.contents.schema(schema or ""))
        return self._with_sent_spellings(dataset, found) if dataset.without_generation in self._spellings else found

    def _with_sent_spellings(self, dataset: Name, columns: Columns) -> Columns:
        found = self._respelled.get(dataset)
        if found is None:
            sent = preferred_spellings(decode_spellings(self._spellings[dataset.without_generation]))
            found = self._respelled[dataset] = columns.with_unlisted_spellings(sent)
        return found

    def base_list_us(self, dataset: Name) -> int | None:
        """Return the time (us, UTC) of a dataset generation's base column list, or None if it has no base list."""
        return self.cached_in_generation(("base list", dataset), lambda: self._base_us(dataset))

    def _base_us(self, dataset: Name) -> int | None:
        base = self._known_lists(dataset).base_list
        return base.time_us if base else None

    def written_keys(self, dataset: Name) -> frozenset[str] | None:
        """Return the keys of a dataset's columns, except columns that only readers list."""
        return self.cached_in_generation(("written", dataset), lambda: self._written_keys(dataset))

    def _written_keys(self, dataset: Name) -> frozenset[str]:
        columns = self.columns(dataset)
        written = self._known_lists(dataset).written_schema_hashes
        paths = (path for schema in written for path in self.contents.schema(schema))
        return frozenset(columns.key(".".join(path)) for path in paths)

    def _known_lists(self, dataset: Name) -> DatasetColumnLists:
        lists = DatasetColumnLists(has_parts=self.is_written_by_parts(dataset.without_generation))
        for name in self.naming.names_of(dataset.without_generation):
            rows = self.sql.execute(_SEEN, (self.names.find_number(name) or 0,))
            for seen in map(mention_from_row, rows):
                if seen.described_dataset(name, self.naming) == dataset:
                    lists.add_mention(seen)
        return lists

    def datasets_with_schema(self) -> Iterable[Name]:
        """Return the dataset generations with a known schema."""
        return (dataset for dataset, schema in self._schemas.items() if schema)

    def datasets_with_nesting(self) -> Iterable[Name]:
        """Return the datasets whose newest schema has nested columns."""
        return self._nests

    def names_in_events(self) -> Iterable[Name]:
        """Return every dataset that an event names, even if no run that names the dataset completed."""
        return self.cached_in_generation("names in events", self._names_in_events)

    def _names_in_events(self) -> frozenset[Name]:
        rows = self.sql.execute("SELECT name FROM entities WHERE kind = ?", (DATASET,))
        return frozenset(self.resolve(self.names.name(number)) for (number,) in rows)

    def is_in_events(self, dataset: Name) -> bool:
        """Return whether an event names a dataset, even if no run that names the dataset completed."""
        query = "SELECT 1 FROM entities WHERE kind = ? AND name = ?"
        numbers = (self.names.find_number(name) or 0 for name in self.naming.names_of(dataset))
        return any(self.sql.execute(query, (DATASET, number)).fetchone() for number in numbers)

    def display_names(self, rules: NameRules) -> DisplayNames:
        """Return the display names of all datasets. They are cached; only names of new generations are added.

        rules: the rules for workspaces, items and aliases.
        """
        at = self.generation, self.naming_generation, len(self.graph.names)
        if self._display is None or self._display[0] is not rules or self._display_state[1] != self.naming_generation:
            self._display, self._display_state, self._unnamed = None, at, set()
            return super().display_names(rules)
        if at != self._display_state:
            display, (generation, _, nodes) = self._display[1], self._display_state
            query = "SELECT name FROM entities WHERE kind = ? AND generation > ?"
            sent = (self.names.name(number) for (number,) in self.sql.execute(query, (DATASET, generation)))
            self._add_names(display, (*sent, *self._unnamed, *self.graph.names[nodes:]))
            self._display_state, self._unnamed = at, set()
        return self._display[1]

    def schema(self, dataset: Name) -> str | None:
        """Return the content hash of the newest schema of a dataset generation, or None without a schema."""
        return self._schemas.get(dataset)

    def current_tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the current tags by dataset."""
        if self._tags is None:
            self._tags = newest_tags(TagTable(self.sql, self.names).all_facets(), self.naming)
        return self._tags

    def tags_of(self, datasets: Collection[Name]) -> Mapping[Name, Sequence[Tag]]:
        """Return the current tags of a few datasets, by dataset. Datasets without tags are left out.

        If a dataset has only one name, only the newest facet of each producer is read.
        """
        table, found = TagTable(self.sql, self.names), {}
        for dataset in datasets:
            names = sorted(self.naming.names_of(dataset))
            read = table.newest_facets if len(names) == 1 else table.all_facets
            tags = newest_tags((facet for name in names for facet in read(name)), self.naming).get(dataset)
            if tags:
                found[dataset] = tags
        return found

    def job_name(self, key: Name) -> Name:
        """Return the display name of a job, which is its current name if the key is an artifact id."""
        found = self._jobs.get(key)
        if found is None:
            query = (
                "SELECT v.job FROM runs v JOIN run_keys k ON k.id = v.run WHERE v.job_key = ? "
                f"ORDER BY {_NEWEST_RUN} LIMIT 1"
            )
            row = self.sql.execute(query, (self.names.find_number(key) or 0,)).fetchone()
            found = self._jobs[key] = job_key(self.names.name(row[0]), None) if row else key
        return found

    def cached_in_generation(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return a value that is cached until the next generation. compute: called if no value is cached."""
        if key not in self._cached:
            self._cached[key] = compute()
        found: T = self._cached[key]
        return found

    def cached_list(self, key: Hashable, load: Callable[[], Sequence[T]]) -> Sequence[T]:
        """Return a complete list, from which the caller takes a page. The list is cached until the next generation.

        A list that is too long for the cache is loaded again for each page.
        """
        found = self._lists.get(key)
        if found is None:
            found, weight = (rows := load()), len(rows) * _ROW_WEIGHT
            if weight <= MAX_EDGES:
                self._lists.put(key, found, weight)
        return found

    def cached_across_generations(self, key: Hashable, compute: Callable[[], T], *, reset: bool = False) -> T:
        """Return a value that stays cached across generations.

        The caller must update the value, for example with `entities_changed_since`. compute: called if no value is
        cached. reset: replace a cached value.
        """
        if reset or key not in self._across_generations:
            self._across_generations[key] = compute()
        found: T = self._across_generations[key]
        return found

    def clear_caches(self) -> None:
        """Clear the caches of this generation."""
        self._cached.clear()
        self._seen_times.clear()
        self._lists.clear()

    def facet_text(self, number: int) -> str:
        """Return the text of a facet by its number. Texts never change, so recent ones are cached."""
        found = self._texts.get(number)
        if found is None:
            text: str = self.sql.execute("SELECT value FROM facet_texts WHERE id = ?", (number,)).fetchone()[0]
            found = self._texts.put(number, text, len(text) // _CHARACTERS_PER_EDGE)
        return found

    def newest_run(self, number: int) -> str | None:
        """Return the key of the newest run that reports an edge set, or None. number: the number of the edge set."""
        query = (
            "SELECT k.key FROM candidates v JOIN run_keys k ON k.id = v.run WHERE v.edge_set = ? "
            f"ORDER BY {NEWEST_CANDIDATE} LIMIT 1"
        )
        row = self.sql.execute(query, (number,)).fetchone()
        return row[0] if row else None

    def ended_with_parent(self, run: str) -> bool:
        """Return whether a run that reports no end has ended with its parent or root run (rule 1.9)."""
        query = "SELECT r.state FROM run_keys k JOIN runs r ON r.run = k.id WHERE k.key = ?"
        row = self.sql.execute(query, (run,)).fetchone()
        return row is not None and row[0] == ENDED

    def applications_of_edge_set(self, number: int) -> Set[str]:
        """Return the keys of the parents of the runs that report an edge set in the newest execution of its job."""
        return self.cached_in_generation(("applications", number), lambda: self._applications(number))

    def _applications(self, number: int) -> Set[str]:
        weight = (
            INPUTS_ONLY if self.graph.edge_sets[number][1].output is None else NO_SOURCES
        )  # of all candidates that count
        newest = self.sql.execute(
            "SELECT v.execution, v.job_output FROM candidates v JOIN run_keys k ON k.id = v.run WHERE v.job_output = "
            f"(SELECT job_output FROM edge_sets WHERE number = ?) AND v.weight = ? ORDER BY {NEWEST_CANDIDATE} LIMIT 1",
            (number, weight),
        ).fetchone()
        query = (
            "SELECT DISTINCT k.key FROM candidates v JOIN runs r ON r.run = v.run "
            "JOIN run_keys k ON k.id = r.parent WHERE v.execution = ? AND v.job_output = ? AND v.edge_set = ?"
        )
        return {key for (key,) in self.sql.execute(query, (*newest, number))} if newest else frozenset()

    def edge_sets_of_application(self, application: str, among: Set[int]) -> Iterator[int]:
        """Yield the numbers of the edge sets that runs of an application report.

        application: the key of the parent run. among: the numbers of the edge sets that may be returned.
        """
        query = (
            "SELECT DISTINCT v.edge_set FROM run_keys k CROSS JOIN runs r ON r.parent = k.id "
            "CROSS JOIN candidates v ON v.run = r.run WHERE k.key = ?"
        )
        reported = {number for (number,) in self.sql.execute(query, (application,))}
        return super().edge_sets_of_application(application, reported.intersection(among))

    def edge_sets_older_than(self, time_us: int) -> Iterator[int]:
        """Yield the numbers of the edge sets for which the newest run is older than a time (us)."""
        rows = self.sql.execute("SELECT number FROM edge_sets WHERE last_us < ?", (time_us,))
        return (number for (number,) in rows if number in self.graph.edge_sets)

    def edge_set_stats(self, number: int) -> EdgeSetStats:
        """Return how many runs report an edge set, their first and last time, and whether one confirms written rows."""
        query = "SELECT runs, first_us, last_us FROM edge_sets WHERE number = ?"
        rows_confirmed = "SELECT 1 FROM candidates WHERE edge_set = ? AND rows_confirmed LIMIT 1"
        runs, first_us, last_us = self.sql.execute(query, (number,)).fetchone()
        return EdgeSetStats(runs, first_us, last_us, bool(self.sql.execute(rows_confirmed, (number,)).fetchone()))

    def report_times(self, number: int) -> ReportTimes:
        """Return when runs first and last reported an edge set."""
        found = self._seen_times.get(number)
        if found is None:
            row = self.sql.execute("SELECT first_us, last_us FROM edge_sets WHERE number = ?", (number,)).fetchone()
            if len(self._seen_times) >= _MAX_TIMES:
                self._seen_times.clear()
            found = self._seen_times[number] = ReportTimes(*row)
        return found

    def newest_rewrite(self, dataset: Name) -> WholeRewrite | None:
        """Return the whole rewrite of a dataset generation that began last, or None if there is none."""
        if self._rules.has_write_rules(dataset) or self._commit_proofs(dataset):
            return self.cached_in_generation(
                ("decided rewrite", dataset), lambda: self._declared_or_proven_rewrite(dataset)
            )
        every, whole = self._rewrites.get(dataset, _NO_REWRITES)
        if every == whole or not self.cached_in_generation(
            ("parts", dataset), lambda: self.is_written_by_parts(dataset.without_generation)
        ):
            return every
        return whole

    def rewrite_source(self, dataset: Name, run_key: str) -> RewriteEvidence | None:
        """Return how Headwater knows that a run replaced all rows of a dataset, or None if it did not."""
        by_parts, proofs = self.is_written_by_parts(dataset.without_generation), self._commit_proofs(dataset)
        names = self.naming.names_of(dataset.without_generation)
        rows = self.sql.execute(
            f"{_WRITES} WHERE g.output = ? AND k.key = ?", (self.names.find_number(dataset) or 0, run_key)
        ).fetchall()
        for *_, layer, job, kind, producer, key in rows:
            sender = self.names.name(producer).namespace if producer else ""
            write = ReportedWrite(sender, key, kind, proofs.is_whole_rewrite(key, names))
            job_output = JobOutput(layer, self.names.name(job), dataset)
            if found := find_rewrite_evidence(self._rules, job_output, write, has_parts=by_parts):
                return found
        return None

    def retired_jobs(self) -> RetiredJobs:
        """Return the jobs that were deleted through the API or declared as retired in the user's rules."""
        end_us = self.newest_event_us()
        rows = self.sql.execute(
            "SELECT name, time_us FROM changes WHERE mark = 'deleted' AND detail IN (?, ?) AND time_us <= ?",
            (DELETED_JOB, DELETED_NAMESPACE, end_us),
        )
        deleted = [(self.names.name(number), time_us) for number, time_us in rows]
        return newest_retirement_times([*deleted, *declared_retirements(self._rules.names.jobs.retired, end_us)])

    def job_seen_us(self, job: Name) -> int:
        """Return the time (us, UTC) of a job's newest event, or 0 if there is none. job: the job's key."""
        query = "SELECT max(last_us) FROM runs WHERE job_key = ?"
        return int(self.sql.execute(query, (self.names.find_number(job) or 0,)).fetchone()[0] or 0)

    def run_times_us(self, job: Name) -> Iterable[int]:
        """Return the time (us, UTC) of the newest event of each run of a job. job: the job's key."""
        query = "SELECT last_us FROM runs WHERE job_key = ? AND kind = 'RUN'"
        return [last_us for (last_us,) in self.sql.execute(query, (self.names.find_number(job) or 0,))]

    def newest_event_us(self) -> int | None:
        """Return the time (us, UTC) of the newest event that is not ahead of its receipt, or None without events."""
        row = self.sql.execute("SELECT time_us FROM newest_event").fetchone()
        return row[0] if row else None

    def _declared_or_proven_rewrite(self, dataset: Name) -> WholeRewrite | None:
        """Return the last rewrite of a dataset, considering write kinds that users declare or commits prove."""
        by_parts, proofs = self.is_written_by_parts(dataset.without_generation), self._commit_proofs(dataset)
        names, found = self.naming.names_of(dataset.without_generation), None
        declares = self._rules.has_write_rules(dataset)
        rewriting = set[int]()
        for (
            group,
            started_us,
            last_us,
            time_us,
            execution,
            layer,
            job,
            kind,
            producer,
            run_key,
        ) in self._writes_newest_first(dataset, None if declares else proofs.rewriting_run_ids):
            if found is not None and started_us < found.started_us:
                break
            sender = self.names.name(producer).namespace if producer else ""
            job_output = JobOutput(layer, self.names.name(job), dataset)
            write = ReportedWrite(sender, run_key, kind, proofs.is_whole_rewrite(run_key, names))
            decided = decide_write_kind(self._rules, job_output, write)
            if group not in rewriting and is_whole_rewrite(decided, has_parts=by_parts):
                rewriting.add(group)
                halves = self._writes_by_execution(dataset, execution, time_us) if started_us == last_us else []
                began_us = rewrite_start_us(job_output.job, started_us, last_us, halves)
                found = max(found or WholeRewrite(began_us, time_us), WholeRewrite(began_us, time_us))
        return found

    def _writes_newest_first(self, dataset: Name, whole_runs: Collection[str] | None) -> Iterator[tuple[Any, ...]]:
        """Yield the writes of a dataset, sorted by their start, the last one first.

        whole_runs: None yields all writes. Otherwise, only writes that events report as rewrites are yielded, and the
        writes of the runs with these ids.
        """
        output = self.names.find_number(dataset) or 0
        newest = "ORDER BY v.started_us DESC, v.time_us DESC"
        if whole_runs is None or not all(map(is_uuid, whole_runs)):
            return iter(self.sql.execute(f"{_WRITES} WHERE g.output = ? {newest}", (output,)))
        groups = self.sql.execute("SELECT id FROM job_outputs WHERE output = ?", (output,)).fetchall()
        reported = [  # indexed queries, because mostly only the last of thousands of rewrites is needed
            self.sql.execute(f"{_WRITES} WHERE v.job_output = ? AND v.rewrites = ? {newest}", (group, kind))
            for (group,) in groups
            for kind in (WHOLE_UNLESS_PARTITIONED, WHOLE_REWRITE)
        ]
        query = f"{_WRITES_OF_RUNS} WHERE g.output = ? AND NOT v.rewrites {newest}"
        promoted = self.sql.execute(query, (json.encode(sorted(whole_runs)).decode(), output))
        return merge(*reported, promoted, key=itemgetter(1, 3), reverse=True)

    def _writes_by_execution(self, dataset: Name, execution: int, until_us: int) -> list[tuple[Name, int]]:
        """Return (job, time (us)) of each write of an execution to a dataset, up to a time (us)."""
        query = (
            "SELECT g.job, v.time_us FROM job_outputs g JOIN candidates v ON v.job_output = g.id "
            "WHERE g.output = ? AND v.execution = ? AND v.time_us <= ?"
        )
        rows = self.sql.execute(query, (self.names.find_number(dataset) or 0, execution, until_us))
        return [(self.names.name(job), time_us) for job, time_us in rows]

    def _commit_proofs(self, dataset: Name) -> CommitProofs:
        """Return the commit proofs for the writes of a dataset, under all its names."""
        if not self.cached_in_generation(("any proofs",), self._has_commit_proofs):
            return NO_PROOFS
        return self.cached_in_generation(
            ("proofs", dataset.without_generation), lambda: self._read_commit_proofs(dataset.without_generation)
        )

    def _has_commit_proofs(self) -> bool:
        return self.sql.execute("SELECT 1 FROM commit_proofs LIMIT 1").fetchone() is not None

    def _read_commit_proofs(self, dataset: Name) -> CommitProofs:
        known = {number: name for name in self.naming.names_of(dataset) if (number := self.names.find_number(name))}
        query = f"SELECT name, run_id, is_whole FROM commit_proofs WHERE name IN ({question_marks([*known])})"
        rows = self.sql.execute(query, [*known])
        return CommitProofs(CommitProof(run_id, known[number], bool(is_whole)) for number, run_id, is_whole in rows)

    def is_written_by_parts(self, dataset: Name) -> bool:
        """Return whether an event mentions a part of a dataset or writes its partitions, at any location of a name."""
        names = self.naming.names_of(dataset)
        moved = self.cached_in_generation(
            ("moved parts",), lambda: self.naming.names_of_parts(lambda name: self._is_parted([name]))
        )
        return not moved.isdisjoint(names) or self._is_parted(names)

    def _is_parted(self, names: Iterable[Name]) -> bool:
        known = [number for name in names if (number := self.names.find_number(name)) is not None]
        query = f"SELECT 1 FROM partitioned_names WHERE name IN ({question_marks(known)}) LIMIT 1"
        return bool(known and self.sql.execute(query, known).fetchone())

    def was_read_to_write(self, dataset: Name) -> bool:
        """Return whether any run, however old, read a dataset to write another one."""
        query = (
            "SELECT 1 FROM reads r JOIN edges v ON v.read_set = r.read_set JOIN edge_sets e ON e.number = v.edge_set "
            "WHERE r.name = ? AND e.runs > 0 LIMIT 1"
        )
        return bool(self.sql.execute(query, (self.names.find_number(dataset) or 0,)).fetchone())

    def close(self) -> None:
        """Close the index file."""
        self.sql.close()

    def _removed_before_us(self) -> int | None:
        row = self.sql.execute("SELECT max(before_us) FROM removed_events").fetchone()
        return row[0] if row else None

    def _newest_entity_generation(self) -> int:
        return int(self.sql.execute("SELECT max(generation) FROM entities").fetchone()[0] or 0)

    def _newest_api_change_generation(self) -> int:
        return int(self.sql.execute("SELECT max(generation) FROM changes").fetchone()[0] or 0)

    def _load_edge_sets(self) -> int:
        newest = 0
        rows = self.sql.execute(
            "SELECT e.number, e.generation, e.runs, e.last_us, e.live, e.latest, e.reading, e.explained, e.accounted, "
            "g.layer, g.job, g.output, v.value, v.inputs FROM edge_sets e JOIN job_outputs g ON g.id = e.job_output "
            "LEFT JOIN edges v ON v.edge_set = e.number WHERE e.generation > ?",
            (self.generation,),
        )
        lists = InputLists(self.sql)
        for number, generation, runs, last_us, *counts, explained, accounted, layer, job, output, value, inputs in rows:
            newest = max(newest, generation)
            self.graph.remove(number)
            self._set_masks(number, False, False, False)
            if runs > 0 and (any(counts) or layer == "observed"):
                job_output = JobOutput(layer, self.names.name(job), self.names.name(output) if output else None)
                sources = (frozenset(names_from(each)) if each else frozenset() for each in (explained, accounted))
                edge_set = EdgeSet(lists.unpack_edges_and_inputs(value, inputs), *counts, *sources)
                self._put_edge_set(number, job_output, edge_set, last_us, later=True)
        self.graph.connect()
        return newest

    def _load_rewrites(self) -> int:
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

    def _load_datasets(self) -> int:
        newest = 0
        self._respelled.clear()
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
