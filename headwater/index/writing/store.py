"""Implements `lineage.runs.derivation.DerivationStore` in an index file, which stores facts and derived lineage."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from headwater.index.stored.candidates import CandidateTable, RewriteTable
from headwater.index.stored.database import question_marks, split_for_parameters
from headwater.index.stored.edge_sets import EdgeSetTable
from headwater.index.stored.events import EventTable, FacetNames, Places, RunFactsTable
from headwater.index.stored.feed import RecentChangesTable
from headwater.index.stored.numbers import NameNumbers, RunNumbers
from headwater.index.stored.runs import NewestRunTable, NominalTimeTable, OpenRunTable
from headwater.index.stored.schemas import SchemaMentionTable
from headwater.index.stored.search import SearchTable
from headwater.index.stored.versions import VersionTable
from headwater.lineage.edges.candidates import JobOutput
from headwater.lineage.edges.schema_history import SchemaMention, schema_mentions
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import NameSpan
from headwater.lineage.runs.jobs import job_key as shown_job
from headwater.lineage.runs.lost_runs import ENDED
from headwater.lineage.runs.run_derivation import DerivedRun
from headwater.lineage.runs.run_facts import RunFacts, names_with_part_mentions


class _StoredRun(NamedTuple):
    """The stored state of a run before this batch."""

    state: str | None
    time_us: int
    job_key: int
    lineage: bytes
    ended_us: int | None


_NEW = _StoredRun(None, 0, 0, b"", None)


class SqliteStore:
    """The `derivation.DerivationStore` of an index file."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, runs: RunNumbers, labels: Mapping[str, str]):
        """Use the index's connection. The caller manages the transaction. labels: as for `SearchTable`."""
        self._sql = connection
        self._names = names
        self.places: Places = {}
        self.facet_names: FacetNames = {}
        self._numbers = runs
        self._seen = SchemaMentionTable(connection, names, self._earlier_mentions)
        self._runs: list[tuple[Any, ...]] = []
        self._used: set[tuple[int, int]] = set()
        self._in_use: dict[tuple[object, Name], tuple[DerivedRun, int]] = {}
        self._schema_sources = {number for (number,) in connection.execute("SELECT name FROM schema_sources")}
        self._new_parts: set[Name] = set()
        self._parted = {number for (number,) in connection.execute("SELECT name FROM partitioned_names")}
        self._facts = RunFactsTable(connection, self._numbers)
        self._nominal = NominalTimeTable(connection, runs, self._facts_of)
        self.feed = RecentChangesTable(connection)
        self._events = EventTable(connection)
        self.history = VersionTable(connection, names)
        self._newest = NewestRunTable(connection, runs)
        self._open = OpenRunTable(connection)
        self.search = SearchTable(connection, names, labels)
        self.edge_sets = EdgeSetTable(connection, names)
        self.candidates = CandidateTable(connection, names, self._numbers, self.edge_sets)
        self.rewrites = RewriteTable(connection, names, self.candidates)

    def add_facts(self, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        """Store the facts of events. Return the facts of events that were not stored before.

        `places` and `facet_names` must contain the places and the facet names of the events.
        """
        self._seen.begin_batch()
        fresh = self._facts.add(facts, self.places, self.facet_names)
        self._events.add_events(fresh, self.places)
        self._store_partial_mentions(fresh)
        self._nominal.add(fresh)
        return fresh

    def runs_with_changed_period(self) -> Iterable[str]:
        """Return the keys of the runs of earlier batches whose period the last `add_facts` may have changed."""
        return self._nominal.runs_with_new_time()

    def nominal_time_us(self, run_key: str) -> int | None:
        """Return the nominal time (us, UTC) of a run, or if it has none, of its nearest ancestor or its root run.

        Returns None if none of these runs has a nominal time.
        """
        return self._nominal.time_us_of_run(run_key)

    def _facts_of(self, run_key: str) -> Sequence[RunFacts]:
        return self._facts.deciding_facts([run_key]).get(run_key, ())

    def _store_partial_mentions(self, facts: Sequence[RunFacts]) -> None:
        """Store the names for which events mention parts of a dataset."""
        mentioned = names_with_part_mentions(facts)
        self._new_parts = {name for name in mentioned if self._names.number(name) not in self._parted}
        fresh = {self._names.number(name) for name in self._new_parts}
        self._sql.executemany("INSERT INTO partitioned_names VALUES (?)", [(number,) for number in fresh])
        self._parted |= fresh

    def names_with_new_parts(self) -> Set[Name]:
        """Return the names for which the last `add_facts` was the first to mention parts of the dataset."""
        return self._new_parts

    def has_part_mention(self, name: Name) -> bool:
        """Return whether an event mentions a part of the dataset with this name, as sent."""
        return self._names.find_number(name) in self._parted

    def all_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return all facts of each of these runs, by run key."""
        return self._facts.facts(run_keys)

    def deciding_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return the facts that decide the lineage of each run, by run key.

        These are all facts of the run, unless it has many events.
        """
        return self._facts.deciding_facts(run_keys)

    def new_runs(self) -> Set[str]:
        """Return the keys of the runs whose events all came with the last `add_facts`."""
        return self._facts.new_runs()

    def replace_lineage(self, derived: Sequence[DerivedRun]) -> set[JobOutput]:
        """Replace the derived lineage of runs. Return the job outputs for which other edge sets may count now."""
        new = self.new_runs()
        older = [one.run for one in derived if one.run.key not in new]
        self._numbers.assign_all(key for run in older for key in (run.key, run.execution, run.parent))
        before = self._stored_runs([run.key for run in older])
        for one in derived:
            self._store_run(one, before.get(one.run.key, _NEW))
            self._add_schema_sources(one.schema_sources)
        for one, time_us in self._in_use.values():
            self._store_dataset_uses(one, time_us)
        self._in_use.clear()
        changed = self.candidates.replace_runs(derived)
        self.flush()
        executions = {
            candidate.execution
            for one in derived
            for candidate in one.candidates.values()
            if candidate.has_column_lineage
        }
        return changed | self.candidates.job_outputs_explained_by(
            {one.run.parent for one in derived if one.run.parent}, executions
        )

    def _stored_runs(self, run_keys: Sequence[str]) -> dict[str, _StoredRun]:
        found: dict[str, _StoredRun] = {}
        for some in split_for_parameters(run_keys):
            query = (
                "SELECT k.key, r.state, r.time_us, r.job_key, r.datasets, r.ended_us "
                "FROM run_keys k JOIN runs r ON r.run = k.id "
                f"WHERE k.key IN ({question_marks(some)})"
            )
            found.update((run, _StoredRun(*row)) for run, *row in self._sql.execute(query, some))
        return found

    def runs_using(self, spans: Iterable[NameSpan]) -> Iterable[str]:
        """Return the keys of the runs that may use a name within its span of time.

        These are the runs in progress during the span, by jobs that use the name, and the declarations of these jobs.
        """
        self._flush_runs()
        query = (
            "SELECT k.key FROM uses u JOIN runs r ON r.job_key = u.job_key JOIN run_keys k ON k.id = r.run "
            "WHERE u.name = ? AND ((r.started_us <= ? AND r.last_us >= ?) OR r.kind <> 'RUN')"
        )
        found: set[str] = set()
        for span in spans:
            number = self._names.find_number(span.name)
            if number is not None and not self._names.is_new_in_batch(number):  # no earlier batch used a new name
                found.update(run for (run,) in self._sql.execute(query, (number, span.until_us, span.since_us)))
        return found

    def is_schema_source(self, dataset: Name) -> bool:
        """Return whether a run took columns of this dataset from the schemas of other runs."""
        return self._names.find_number(dataset) in self._schema_sources

    def add_mentions(self, name: Name, uses: Sequence[SchemaMention]) -> None:
        """Add mentions of schemas under a name."""
        self._seen.add_mentions(name, uses)

    def mentions_newest_first(self, span: NameSpan) -> Iterator[SchemaMention]:
        """Return the mentions of schemas under the span's name within its time, newest first."""
        return self._seen.mentions_newest_first(span)

    def keep_all_mentions(self, names: Iterable[Name]) -> None:
        """Store every mention under these names from now on, and restore the earlier ones."""
        self._seen.keep_all_mentions(names)

    def flush(self) -> None:
        """Write the collected mentions and runs."""
        self._seen.flush()
        self._flush_runs()

    def _flush_runs(self) -> None:
        self._sql.executemany(
            "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._runs
        )
        self._runs.clear()
        self.search.flush()
        self.history.flush()
        for run, job, state in self._open.flush(self.history.generation):
            self.feed.add_run_state(run, state)
            self._newest.update_state(job)
        for name in self.history.drop_unused_jobs(self._newest.flush()):
            self.search.remove_job(name)

    def _earlier_mentions(self, name: Name) -> Iterator[SchemaMention]:
        """Yield the schemas that runs of earlier batches mention under a name."""
        for facts in self.all_facts(self.runs_using([NameSpan(name)])).values():
            for fact in facts:
                yield from (seen for under, seen in schema_mentions(fact) if under == name)

    def _store_run(self, derived: DerivedRun, before: _StoredRun) -> None:
        run = derived.run
        job, job_key = self._names.number(run.job), self._names.number(run.job_key)
        number = self._numbers
        state = ENDED if run.state == "RUNNING" and before.state == ENDED else run.state  # `_open` corrects it later
        self._runs.append((
            number[run.key], run.kind, job, job_key, number[run.execution], run.parent and number[run.parent],
            state, run.processing, run.started_us, run.ended_us, run.last_us, run.time_us,
            self.history.add_run(derived, job_key, (before.job_key, before.lineage)),
            self._names.number(Name(run.producer, "")), run.is_completed,
            run.sent_job and self._names.number(run.sent_job),
        ))  # fmt: skip
        if run.kind == "RUN":
            self._newest.add_run(job_key, run.key, run.time_us, (before.job_key, before.time_us))
            is_part = run.parent is not None or run.execution != run.key
            self._open.add_run(number[run.key], state, has_parent=is_part, has_new_end=run.ended_us != before.ended_us)
        if state != before.state:
            self.feed.add_run_state(run.key, state)
        known = self._in_use.get((derived.shape, run.job))
        if known is None or known[1] < run.time_us:
            self._in_use[derived.shape, run.job] = derived, run.time_us

    def _add_schema_sources(self, datasets: Set[Name]) -> None:
        """Store the datasets whose schemas runs have used."""
        fresh = {self._names.number(dataset) for dataset in datasets} - self._schema_sources
        self._sql.executemany("INSERT INTO schema_sources VALUES (?)", [(number,) for number in fresh])
        self._schema_sources |= fresh

    def _store_dataset_uses(self, derived: DerivedRun, time_us: int) -> None:
        """Store the datasets that a run's job uses. Called once for all runs of a batch with the same shape and job."""
        run, partners = derived.run, 0
        job_key = self._names.number(run.job_key)
        for name in derived.used_names:
            pair, new = (self._names.number(name), job_key), 0
            if pair not in self._used:
                self._used.add(pair)
                new = self._sql.execute("INSERT OR IGNORE INTO uses VALUES (?, ?)", pair).rowcount
            partners += new
            self.search.add_use("dataset", name, time_us, partner_count=new)
        if run.kind != "DATASET":
            self.search.add_use("job", shown_job(run.job, None), time_us, partner_count=partners)
