"""Observed facts of a dataset at a moment, from which contracts are generated and checked."""

from collections.abc import Sequence

from headwater.events.times import iso_time
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.change_history import ChangeHistory
from headwater.index.reading.contract_history import ContractHistory
from headwater.index.reading.dataset_readers import columns_unlisted_by_readers
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_history import RunHistory
from headwater.index.stored.events import EventPlace
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import events_at
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.runs.event_order import Order
from headwater.lineage.runs.jobs import run_id_of
from headwater.lineage.snapshots.as_of import View
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.traversal.column_graph import Graph
from headwater.questions.about import about_from_facets, decode_facets
from headwater.questions.answer_types.common import Dataset, Job
from headwater.questions.answer_types.contracts import (
    ContractColumn,
    ContractFacts,
    ContractService,
    ContractTag,
    NotListedColumn,
    RunReference,
)
from headwater.questions.contract_columns import NO_RUN, ColumnHistory, TagHistory, run_lookup
from headwater.questions.contract_lineage import ContractLineage
from headwater.questions.health_reader import HealthReader
from headwater.questions.run_details import row_count_in
from headwater.questions.subjects import Subject, find_dataset

COLUMNS = 10_000
"""Maximum number of columns of a dataset in an answer."""

_EVENTS = 5
"""Number of newest events of a run that are read for its row count."""


class ContractReader:
    """Reads contract facts at one moment. Create one for each answer."""

    def __init__(self, view: View, live: LiveGraph, as_of_us: int | None, now_us: int):
        """live: the caller locks it to one generation while the reader is in use.

        as_of_us: the moment (us); None means now.
        """
        self._view, self._live, self._as_of = view, live, as_of_us
        self._until = MAX_TIME_US if as_of_us is None else as_of_us
        self._runs, self._catalog = RunHistory(live), Catalog(live, as_of_us)
        self._health = HealthReader(live, view.counted_edges, now_us if as_of_us is None else min(now_us, as_of_us))
        self._now_us, self._run_of = min(now_us, self._until), run_lookup(live)
        self._lineage = ContractLineage(view, live, self._until)
        self._places: dict[tuple[str, str], set[EventPlace]] = {}

    def read_facts(self, subject: Subject) -> ContractFacts:
        """Return the observed facts of a dataset. Raises NotKnown, or WrongQuestion if several datasets match."""
        name = find_dataset(self._view.snapshot, self._view.rules.names, subject)
        history = ContractHistory(self._live, name, self._until)
        facets = decode_facets(self._catalog.dataset_facets(name, excluded={"schema"}))
        about, tags = about_from_facets(facets), TagHistory(history.tags_facets(), self._run_of)
        ages = ColumnHistory(self._live, history, self._run_of)
        columns, cut = self._read_columns(name, ages, tags)
        renamed = history.last_rename()
        owned_us = history.facet_since_us("ownership")
        return ContractFacts(
            Dataset(*name.parts), self._dropping_run(name),
            self._run_reference(renamed.run_key, renamed.time_us) if renamed else None,
            Dataset(*renamed.new_name.parts) if renamed else None, about.description,
            sorted(about.owners, key=lambda owner: (owner.name, owner.type or "")),
            self._active_run(name, owned_us), self._read_tags(name, None, tags), columns, ages.removed_columns(),
            self._lineage.ended_steps(name), tags.removed_tags(),
            self._lineage.influencing_columns(name), self._lineage.current_writers(name),
            self._service_levels(name), iso_time(self._as_of), cut, self._columns_not_listed_by_readers(name),
        )  # fmt: skip

    def add_row_counts(self, bronze: Bronze, names: NameRules, facts: Sequence[ContractFacts]) -> None:
        """Add to each fact the row count of the newest write.

        This method reads only bronze, so other questions can use the index meanwhile.
        """
        events = events_at(bronze, {place for own in self._places.values() for place in own}) if facts else {}
        for each in facts:
            name = Name(each.dataset.namespace, each.dataset.dataset)
            bodies = [events[place].body for place in self._places[name.parts] if place in events]
            counts = (row_count_in(body, name, names) for body in bodies)
            each.service.rows = max((rows for rows in counts if rows is not None), default=None)

    def _read_columns(
        self, name: Name, column_history: ColumnHistory, tag_history: TagHistory
    ) -> tuple[list[ContractColumn], bool]:
        columns = self._view.snapshot.shown_columns(name)
        every = [*columns.by_key] or self._written_columns(name)
        exposures = self._lineage.exposures_by_column(name, self._lineage.tags_of_sources(name))
        found, cut = [], len(every) > COLUMNS
        for key in every[:COLUMNS]:
            sources, more = self._lineage.source_columns(name, key)
            called = columns.displayed_spelling(key)
            described = column_history.current_columns.get(called)
            kind, text = (described.type, described.description) if described else (None, None)
            found.append(
                ContractColumn(
                    called, kind, text, self._read_tags(name, called, tag_history), exposures.get(key, []), sources,
                    column_history.run_that_changed_type(called), column_history.is_named_only_by_readers(called),
                )
            )  # fmt: skip
            cut = cut or more
        return found, cut

    def _columns_not_listed_by_readers(self, name: Name) -> list[NotListedColumn]:
        columns = self._view.snapshot.shown_columns(name)
        return [
            NotListedColumn(
                columns.displayed_spelling(each.column),
                iso_time(each.last_mention.time_us) or "",
                self._run_of(Order(*each.unlisted_since[:4])),
            )
            for each in columns_unlisted_by_readers(self._live, name, self._until)
        ]

    def _written_columns(self, name: Name) -> list[str]:
        """Return the columns that runs write, for a dataset without a reported schema."""
        graph, counted = self._view.snapshot.graph, self._view.counted_edges
        number = counted.lifetimes.newest_with_lineage(name)
        nodes = graph.nodes_of(number) if number is not None else ()
        return sorted(key for node in nodes if (key := graph.columns[node].key) and _is_written(graph, counted, node))

    def _read_tags(self, name: Name, column: str | None, tag_history: TagHistory) -> list[ContractTag]:
        columns = self._view.snapshot.shown_columns(name)
        key = None if column is None else columns.key(column)
        values = {
            (tag.key, tag.value): tag.column
            for tag in self._view.snapshot.current_tags().get(name, ())
            if (None if tag.column is None else columns.key(tag.column)) == key
        }
        values |= dict.fromkeys(self._view.rules.tags_of(*name.parts, column))
        return [
            ContractTag(tag, value, tag_history.run_that_added(sent, tag))
            for (tag, value), sent in sorted(values.items())
            if value.casefold() != "false"
        ]

    def _dropping_run(self, name: Name) -> RunReference | None:
        snapshot = self._view.snapshot
        if snapshot.exists(name):
            return None
        ends = snapshot.naming.generations.generation_ends(name)
        return self._run_reference(ends[-1][1], ends[-1][0]) if ends else NO_RUN

    def _service_levels(self, name: Name) -> ContractService:
        """Return the service levels without the row count, which `add_row_counts` adds."""
        own = self._health.dataset_health(name)
        rhythm, success = own.punctuality.rhythm, own.success
        key = self._health.times.run_key(success.run) if success else None
        failed = own.run if own.status == "failed" else None
        self._places[name.parts] = self._runs.event_places(key, _EVENTS) if key else set()
        return ContractService(
            own.status, own.reason,
            round(rhythm.usual_us / 1e6) if rhythm else None,
            round((rhythm.usual_us + rhythm.grace_us) / 1e6) if rhythm else None,
            max(0.0, (self._now_us - success.time_us) / 1e6) if success else None,
            None,
            self._run_reference(key, success.time_us) if key and success else NO_RUN,
            self._run_reference(self._health.times.run_key(failed.run), failed.time_us) if failed else None,
        )  # fmt: skip

    def _active_run(self, name: Name, at_us: int | None) -> RunReference:
        """Return the run that was active at a dataset at a time, because the index stores facets without their runs."""
        if at_us is None:
            return NO_RUN
        found = self._key_of_run_in_progress(name, at_us)
        return self._run_reference(found, at_us) if found else RunReference(None, iso_time(at_us), None)

    def _key_of_run_in_progress(self, name: Name, at_us: int) -> str | None:
        found = ChangeHistory(self._live, 0, 0).run_using_at(self._live.naming.names_of(name), at_us)
        return found[0] if found else None

    def _run_reference(self, run_key: str, time_us: int) -> RunReference:
        job = self._runs.job_key_of_run(run_key)
        job_answer = Job(*self._view.snapshot.job_name(job).parts) if job else None
        return RunReference(run_id_of(run_key), iso_time(time_us), job_answer)


def _is_written(graph: Graph, counted: CountedEdges, node: int) -> bool:
    return any(counted.live_mask[number] for _, _, number in graph.incoming.edges(node))
