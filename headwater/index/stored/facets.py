"""Tables of the facets of jobs and datasets. Each text is stored once, with its first and last event time.

The newest value of each facet is also stored in table `newest_facets`. Facets that differ from run to run, such as
counts and dataset versions, are stored only there.
"""

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct, msgpack, structs

from headwater.events.decode import decode
from headwater.events.error_facets import ASSERTIONS
from headwater.events.event import Content, Event, Sent, SentDataset
from headwater.events.facet_digests import Memo
from headwater.events.facet_sets import CHANGING
from headwater.events.rule_facets import text_at
from headwater.events.wire import NULL
from headwater.index.stored.assertions import AssertionTable
from headwater.index.stored.database import COUNTED, DATASET, JOB, split_for_parameters
from headwater.index.stored.events import FacetNamesTable
from headwater.index.stored.measures import MeasureTable, SentName
from headwater.index.stored.numbers import NameNumbers
from headwater.index.stored.run_facets import RunContextTable
from headwater.index.stored.upserts import NEWER, WIDEN, Span, span_rows, widen_span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import Order, order_text, order_text_at_index
from headwater.lineage.runs.event_reading import ShapeFacts
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.run_facts import DatasetUse, NameForms, RunFacts
from headwater.lineage.runs.sent_facets import Facets, decode_members, parse_stored_event, sent_datasets

EventOrder = tuple[str, int]
"""(a text that sorts like the event, the position of a dataset in the event)."""


class NumberedFacets(NamedTuple):
    """The number of a facet set, its data source as (name, URI) or None, and its facets as (name, text number)."""

    number: int
    source: tuple[str, str] | None
    facets: tuple[tuple[str, int], ...]


class DescriptiveFacetTables:
    """Collects the descriptive facets of a batch and writes them in `flush`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        self._tags: set[str] = set()
        self._spans: dict[tuple[int, int, int], Span] = {}
        self._last: dict[tuple[int, int, int], str] = {}
        self._sources: dict[tuple[str, str], Span] = {}
        self._newest: dict[tuple[int, int, str], tuple[EventOrder, int | str]] = {}

    def add_set(self, kind: int, name: int, facets: NumberedFacets, span: Span, newest: EventOrder) -> None:
        """Add a set of facets of a job or dataset.

        kind: JOB or DATASET. name: the number of the name. span: the event times (us) at which the set was first and
        last sent. newest: the order of the newest event with the set.
        """
        key = (kind, name, facets.number)
        widen_span(self._spans, key, span)
        self._last[key] = max(self._last.get(key, ""), order_text_at_index(*newest))
        self.add_newest(kind, name, newest, facets.facets)

    def add_newest(self, kind: int, name: int, order: EventOrder, facets: Iterable[tuple[str, int | str]]) -> None:
        """Add facets as (name, text or text number). Only the newest value of each facet is stored.

        kind: JOB, DATASET or COUNTED. name: the number of the job's or dataset's name. order: the order of the event.
        """
        for facet, value in facets:
            known = self._newest.get((kind, name, facet))
            if known is None or known[0] < order:
                self._newest[kind, name, facet] = order, value

    def add_source(self, source: tuple[str, str], span: Span) -> None:
        """Add a data source as (name, URI). span: the event times (us) at which it was first and last sent."""
        widen_span(self._sources, source, span)

    def add_tags(self, keys: Iterable[str]) -> None:
        """Add the keys of tags that are in use."""
        self._tags.update(keys)

    def flush(self) -> None:
        """Write everything that was added since the last call."""
        write = self._sql.executemany
        write(
            f"INSERT INTO facet_set_uses VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}, "
            "event_order = max(event_order, excluded.event_order)",
            [(*key, *span, self._last[key]) for key, span in self._spans.items()],
        )
        write(
            f"INSERT INTO data_sources VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}, "
            "uri = max(uri, excluded.uri)",
            span_rows(self._sources),
        )
        write(
            "INSERT INTO newest_facets VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            f"event_order = excluded.event_order, value = excluded.value {NEWER}",
            [(*key, order_text_at_index(order, place), value) for key, ((order, place), value) in self._newest.items()],
        )
        write("INSERT OR IGNORE INTO tag_names VALUES (?)", [(tag,) for tag in self._tags])
        for each in (self._spans, self._last, self._sources, self._newest, self._tags):
            each.clear()


_KEEP = 200_000


class NumberedDataset(Struct):
    """A dataset in an event shape.

    name: the number of its name. sent: its name as sent. has_changing_facets: it has facets that differ from event to
    event. has_assertions: it has results of tests. span: its first and last event time (us) in this batch, or None
    without an event. newest: the order of its newest event in this batch. position_in_event: (sequence of this newest
    event, position of the dataset in the event).
    """

    use: DatasetUse
    name: int
    sent: Name
    facets: NumberedFacets
    has_changing_facets: bool
    has_assertions: bool
    span: Span | None = None
    newest: EventOrder = ("", 0)
    position_in_event: tuple[int, int] = (0, 0)


class FacetShape(NamedTuple):
    """The descriptive facets of an event shape.

    places: the position in the event of each of the `datasets`. facet_names_number: the number of the combination of
    facet names. job: the job facets, or None if the event has none. input_count: the first so many `datasets` are
    inputs. tested: the position in the event and the number of the name of each dataset with results of tests.
    """

    datasets: tuple[NumberedDataset, ...]
    places: tuple[int, ...]
    facet_names_number: int
    job: NumberedFacets | None
    input_count: int
    tested: tuple[tuple[int, int], ...]

    def name_at(self, place: int) -> SentName | None:
        """Return the name of the dataset at a position in the event; None for an internal file."""
        at = bisect_left(self.places, place)
        if at == len(self.places) or self.places[at] != place:
            return None
        dataset = self.datasets[at]
        return SentName(dataset.name, dataset.sent if dataset.use.is_part else None)

    @property
    def last_input(self) -> int | None:
        """The number of the name of the last input, or None without inputs."""
        return self.datasets[self.input_count - 1].name if self.input_count else None


def _tested_datasets(datasets: Sequence[NumberedDataset], places: Sequence[int]) -> tuple[tuple[int, int], ...]:
    pairs = zip(places, datasets, strict=True)
    return tuple((place, dataset.name) for place, dataset in pairs if dataset.has_assertions)


class FacetShapes:
    """A cache of event shapes and their descriptive facets."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers) -> None:
        self._sql = connection
        self._names = names
        self._texts: Memo[int] = Memo()
        self._facet_names = FacetNamesTable(connection)
        self._shapes: dict[tuple[str, NameForms], FacetShape] = {}
        self._datasets: dict[bytes, NumberedDataset] = {}
        self._in_events: dict[tuple[int, Name], NumberedDataset] = {}

    def shape_in_event(self, shape: str, forms: NameForms) -> FacetShape:
        """Return a cached shape, with the dataset names of an event.

        forms: (name, other name) for the names that mean another dataset in the event (rule 2.1).
        """
        found = self._shapes.get((shape, forms))
        if found is None:
            sent, named = self._shapes[shape, ()], dict(forms)
            datasets = tuple(self._resolve_name(each, named) for each in sent.datasets)
            tested = _tested_datasets(datasets, sent.places)
            found = self._shapes[shape, forms] = sent._replace(datasets=datasets, tested=tested)
        return found

    def _resolve_name(self, sent: NumberedDataset, forms: Mapping[Name, Name]) -> NumberedDataset:
        """Return a dataset of a shape, with the name that it has in an event."""
        form = forms.get(sent.use.name)
        if form is None:
            return sent
        key = id(sent), form
        found = self._in_events.get(key)
        if found is None:
            use = structs.replace(sent.use, name=form)
            found = NumberedDataset(
                use, self._names.number(form), sent.sent, sent.facets, sent.has_changing_facets, sent.has_assertions
            )
            self._in_events[key] = found
        return found

    def add_shape(self, event: Event, shape: ShapeFacts) -> None:
        """Add the shape of an event to the cache, and store the facets of its datasets and its job."""
        datasets = (*event.inputs, *event.outputs)
        numbered = [
            self._number_dataset(datasets[place], of)
            for place, of in zip(shape.dataset_indexes, shape.uses, strict=True)
        ]
        run_facets, job_facets = event.event_shape.run_facets, [facet.name for facet in event.event_shape.job_facets]
        names = self._facet_names.combination_number(run_facets, job_facets)
        job = self._number_facets(event.job_contents) if job_facets else None
        self._shapes[event.shape, ()] = FacetShape(
            tuple(numbered), shape.dataset_indexes, names, job, shape.input_count,
            _tested_datasets(numbered, shape.dataset_indexes),
        )  # fmt: skip

    def is_full(self) -> bool:
        """Return whether the cache has so many entries that `clear_cache` should clear it."""
        return len(self._shapes) + len(self._datasets) + len(self._in_events) > _KEEP

    def clear_cache(self) -> None:
        """Clear the cache. Afterwards, `add_shape` must add each shape again."""
        self._shapes.clear()
        self._datasets.clear()
        self._in_events.clear()

    def _number_dataset(self, dataset: SentDataset, use: DatasetUse) -> NumberedDataset:
        found = self._datasets.get(dataset.shape)
        if found is None:
            changes = bool(dataset.mentioned.counted) or any(name in CHANGING for name in dataset.facets)
            tested = ASSERTIONS in dataset.facets
            facets = self._number_facets(dataset.contents)
            name = Name(dataset.namespace, dataset.name)
            found = NumberedDataset(use, self._names.number(use.name), name, facets, changes, tested)
            self._datasets[dataset.shape] = found
        return found

    def _number_facets(self, contents: Sequence[Content]) -> NumberedFacets:
        """Store a set of facets and return the numbers of the set and its texts.

        contents: the descriptive facets, without facets that describe a single run.
        """
        facets = {content.key: content for content in contents}
        numbers = {key: self._text_number(content.raw) for key, content in facets.items()}
        schema = facets["schema"].content_hash if "schema" in facets else None
        value = msgpack.encode(sorted(numbers.items()))
        number = self._store_numbered("facet_sets", blake2b(value, digest_size=16).digest(), (schema, value))
        source = decode(facets["dataSource"].raw) if "dataSource" in facets else None
        name = text_at(source, "name")
        named = (name, text_at(source, "uri") or name) if name else None
        return NumberedFacets(number, named, tuple(numbers.items()))

    def _text_number(self, raw: bytes) -> int:
        digest = blake2b(raw, digest_size=16).digest()
        return self._texts.get(raw) or self._texts.put(
            raw, self._store_numbered("facet_texts", digest, (raw.decode(),))
        )

    def _store_numbered(self, table: str, digest: bytes, rest: tuple[object, ...]) -> int:
        found = self._sql.execute(f"SELECT id FROM {table} WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            values = f"INSERT INTO {table} VALUES (NULL, ?, {', '.join('?' * len(rest))})"
            return int(self._sql.execute(values, (digest, *rest)).lastrowid or 0)
        return int(found[0])


Bodies = Callable[[Collection[int]], Mapping[int, str]]
"""A function that takes sequences of a batch's events and returns their bodies by sequence."""


def bodies_in_chunks(bodies: Bodies, sequences: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield (sequence, body) by ascending sequence, with at most 500 bodies in memory."""
    for some in split_for_parameters(sorted(sequences)):
        yield from bodies(some).items()


class _JobShape(Struct):
    """The events of one job and one shape in a batch.

    display_name: the number of the job's display name, 0 without a job. span: their first and last event time (us).
    newest, sequence: the order and the sequence of the newest event.
    """

    shape: FacetShape
    display_name: int
    span: Span
    newest: Order
    sequence: int


class FacetTable:
    """Collects the facets of events and writes them in `flush`.

    facet_names: event id → the number of the event's combination of facet names; `flush` clears it. generation: the
    number of the current batch.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        names: NameNumbers,
        context: RunContextTable,
        assertions: AssertionTable,
        measures: MeasureTable,
    ):
        """context: the table that receives the run facets of events.

        assertions: receives the results of tests. measures: receives the numbers of datasets.
        """
        self._names = names
        self.generation = 0
        self.facet_names: dict[str, int] = {}
        self._shapes = FacetShapes(connection, names)
        self._facet_sets = DescriptiveFacetTables(connection)
        self._context = context
        self._assertions = assertions
        self._measures = measures
        self._job_shapes: dict[Hashable, _JobShape] = {}
        self._batch: list[NumberedDataset] = []

    def add_shape(self, event: Event, shape: ShapeFacts) -> None:
        """Add the shape of an event. Required before `add_event` is called with events of this shape."""
        self._shapes.add_shape(event, shape)

    def is_full(self) -> bool:
        """Return whether the cache of shapes has so many entries that `clear_cache` should clear it."""
        return self._shapes.is_full()

    def clear_cache(self) -> None:
        """Clear the cache of shapes. Afterwards, `add_shape` must add each shape again."""
        self._shapes.clear_cache()

    def add_event(self, sequence: int, sent: Sent, fact: RunFacts, run_facets: Facets) -> None:
        """Add an event of any kind, with the facets of its run. sequence: its sequence number in the partition."""
        order, content = fact.order, fact.content
        time_us, key = order.time_us, (sent.shape, content.kind, content.job, content.name_forms)
        known = self._job_shapes.get(key)
        if known is None:
            shown = self._names.number(job_key(content.job, None)) if content.kind != "DATASET" else 0
            shape = self._shapes.shape_in_event(sent.shape, content.name_forms)
            known = _JobShape(shape, shown, (time_us, time_us), order, sequence)
            self._job_shapes[key] = known
        else:
            first_us, last_us = known.span
            if not first_us <= time_us <= last_us:
                known.span = (min(first_us, time_us), max(last_us, time_us))
            if known.newest < order:
                known.newest, known.sequence = order, sequence
        self.facet_names[order.event_id] = known.shape.facet_names_number
        if run_facets and known.display_name:
            self._context.add_event(run_facets, sent, fact, known.display_name)
        if fact.kind == "RUN":
            self._add_test_results(sequence, fact, known.shape, run_facets)
            if sent.statistics:
                self._measures.add_event(fact, sent.statistics, known.shape.name_at)

    def _add_test_results(self, sequence: int, fact: RunFacts, shape: FacetShape, run_facets: Facets) -> None:
        """Add the results of tests. The run facet `test` counts only if no dataset of the event has results."""
        if shape.tested:
            self._assertions.add_event(sequence, fact, shape.tested)
        elif "test" in run_facets and run_facets["test"] != NULL and (name := shape.last_input) is not None:
            self._assertions.add_run_facet(fact, run_facets["test"], name)

    def flush(self, bodies: Bodies) -> None:
        """Write everything that was added since the last call. bodies: called for facets that differ between events."""
        for job_shape in self._job_shapes.values():
            self._add_job_shape(job_shape)
        self._read_changing_facets(bodies)
        for dataset in self._batch:
            self._add_dataset(dataset)
        self._facet_sets.flush()
        self._context.flush(self.generation)
        self._assertions.flush()
        self._measures.flush()
        for each in (self.facet_names, self._job_shapes, self._batch):
            each.clear()

    def _add_job_shape(self, job_shape: _JobShape) -> None:
        """Add the facets of a job's events that have the same shape, once for all these events."""
        shape, order = job_shape.shape, order_text(job_shape.newest)
        for place, dataset in enumerate(shape.datasets):
            if dataset.span is None:
                dataset.span = job_shape.span
                self._batch.append(dataset)
            else:
                dataset.span = (min(dataset.span[0], job_shape.span[0]), max(dataset.span[1], job_shape.span[1]))
            if dataset.newest < (order, place):
                dataset.newest, dataset.position_in_event = (order, place), (job_shape.sequence, shape.places[place])
        if job_shape.display_name and shape.job:
            self._facet_sets.add_set(JOB, job_shape.display_name, shape.job, job_shape.span, (order, 0))

    def _read_changing_facets(self, bodies: Bodies) -> None:
        """Read the facets that differ from event to event, from the body of each dataset's newest event.

        Results of tests are read from every event.
        """
        changing = [dataset for dataset in self._batch if dataset.has_changing_facets]
        by_event: dict[int, list[NumberedDataset]] = {}
        for numbered in changing:
            by_event.setdefault(numbered.position_in_event[0], []).append(numbered)
        for sequence, body in bodies_in_chunks(bodies, by_event.keys() | self._assertions.sequences()):
            datasets = sent_datasets(parse_stored_event(body))
            self._assertions.read_body(sequence, datasets)
            for numbered in by_event.get(sequence, ()):
                dataset = datasets[numbered.position_in_event[1]]
                own, counted = decode_members(dataset.facets), decode_members(dataset.inputFacets)
                self._facet_sets.add_newest(DATASET, numbered.name, numbered.newest, _facet_texts(own, CHANGING))
                self._facet_sets.add_newest(COUNTED, numbered.name, numbered.newest, _facet_texts(counted, counted))

    def _add_dataset(self, dataset: NumberedDataset) -> None:
        """Add the facets of a dataset, once for all its events with the same shape in this batch."""
        (span, newest), (dataset.span, dataset.newest) = (dataset.span or (0, 0), dataset.newest), (None, ("", 0))
        self._facet_sets.add_set(DATASET, dataset.name, dataset.facets, span, newest)
        if dataset.facets.source:
            self._facet_sets.add_source(dataset.facets.source, span)
        if dataset.use.tags:
            self._facet_sets.add_tags(tag.key for tag in dataset.use.tags)


def _facet_texts(facets: Facets, names: Container[str]) -> Iterator[tuple[str, str]]:
    return ((name, bytes(text).decode()) for name, text in facets.items() if name in names and text != NULL)
