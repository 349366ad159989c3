"""Facets of jobs and datasets by content: each text is stored once, with the span of time in which it was sent.

The newest value of each facet is also stored separately. Facets that differ from run to run, such as counts and dataset
versions, are stored only there.
"""

import sqlite3
from collections.abc import Callable, Collection, Container, Hashable, Iterator, Mapping

from msgspec import Struct

from headwater.events.event import Event, Sent
from headwater.events.facet_sets import CHANGING
from headwater.events.wire import NULL
from headwater.index.stored.catalog_tables import COUNTED, DATASET, JOB
from headwater.index.stored.database import chunks
from headwater.index.stored.described_table import DescribedTable
from headwater.index.stored.facet_shapes import FacetShape, FacetShapes, NumberedDataset
from headwater.index.stored.name_numbers import NameNumbers
from headwater.index.stored.run_context_table import RunContextTable
from headwater.index.stored.spans import Span
from headwater.lineage.runs.event_reading import ReadShape
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.newest_first import Order, order_text
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.runs.sent_facets import Facets, members, read_stored, sent_datasets

Bodies = Callable[[Collection[int]], Mapping[int, str]]
"""A function that returns the bodies of a batch's events by their sequences."""


def few_at_a_time(bodies: Bodies, sequences: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield (sequence, body) by ascending sequence, with at most 500 bodies in memory."""
    for some in chunks(sorted(sequences)):
        yield from bodies(some).items()


class _Heard(Struct):
    """A shape of one job in a batch.

    shown: number of the job's display name, 0 without a job. sequence: of the newest event.
    """

    shape: FacetShape
    shown: int
    span: Span
    newest: Order
    sequence: int


class FacetTable:
    """Collects the facets of events and writes them in `flush`.

    `told`: event id → number of the names of its facets, until `flush`. `generation`: number of the current batch.
    """

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, context: RunContextTable):
        """context: receives the run facets of events."""
        self._names = names
        self.generation = 0
        self.told: dict[str, int] = {}
        self._shapes = FacetShapes(connection, names)
        self._described = DescribedTable(connection)
        self._context = context
        self._heard: dict[Hashable, _Heard] = {}
        self._batch: list[NumberedDataset] = []

    def learn(self, event: Event, said: ReadShape) -> None:
        """Add the shape of an event. Required before `take` gets events of that shape."""
        self._shapes.learn(event, said)

    def is_full(self) -> bool:
        """Return whether the cache of shapes has so many entries that `forget` should clear it."""
        return self._shapes.is_full()

    def forget(self) -> None:
        """Clear the cache of shapes. Readers of events must then learn all shapes again."""
        self._shapes.forget()

    def take(self, sequence: int, sent: Sent, fact: RunFacts, of_run: Facets) -> None:
        """Add an event of any kind, with the facets of its run."""
        order, said = fact.order, fact.content
        time_us, key = order.time_us, (sent.shape, said.kind, said.job, said.forms)
        heard = self._heard.get(key)
        if heard is None:
            shown = self._names.number(job_key(said.job, None)) if said.kind != "DATASET" else 0
            shape = self._shapes.in_event(sent.shape, said.forms)
            heard = _Heard(shape, shown, (time_us, time_us), order, sequence)
            self._heard[key] = heard
        else:
            first_us, last_us = heard.span
            if not first_us <= time_us <= last_us:
                heard.span = (min(first_us, time_us), max(last_us, time_us))
            if heard.newest < order:
                heard.newest, heard.sequence = order, sequence
        self.told[order.event_id] = heard.shape.names
        if of_run and heard.shown:
            self._context.take(of_run, sent, fact, heard.shown)

    def flush(self, bodies: Bodies) -> None:
        """Write everything that was added since the last call."""
        for heard in self._heard.values():
            self._take_heard(heard)
        self._settle_changing(bodies)
        for told in self._batch:
            self._settle(told)
        self._described.flush()
        self._context.flush(self.generation)
        for each in (self.told, self._heard, self._batch):
            each.clear()

    def _take_heard(self, heard: _Heard) -> None:
        """Add a shape of a job, once for all its events in this batch."""
        shape, order = heard.shape, order_text(heard.newest)
        for place, told in enumerate(shape.told):
            if told.span is None:
                told.span = heard.span
                self._batch.append(told)
            else:
                told.span = (min(told.span[0], heard.span[0]), max(told.span[1], heard.span[1]))
            if told.newest < (order, place):
                told.newest, told.at = (order, place), (heard.sequence, shape.places[place])
        if heard.shown and shape.job:
            self._described.describe(JOB, heard.shown, shape.job, heard.span, (order, 0))

    def _settle_changing(self, bodies: Bodies) -> None:
        """Read the facets that differ from event to event, from the body of each dataset's newest event."""
        changing = [told for told in self._batch if told.changes]
        by_event: dict[int, list[NumberedDataset]] = {}
        for told in changing:
            by_event.setdefault(told.at[0], []).append(told)
        for sequence, body in few_at_a_time(bodies, by_event):
            datasets = sent_datasets(read_stored(body))
            for told in by_event[sequence]:
                dataset = datasets[told.at[1]]
                own, counted = members(dataset.facets), members(dataset.inputFacets)
                self._described.renew(DATASET, told.name, told.newest, _texts(own, CHANGING))
                self._described.renew(COUNTED, told.name, told.newest, _texts(counted, counted))

    def _settle(self, told: NumberedDataset) -> None:
        """Add a dataset, once for all its events in this batch."""
        (span, newest), (told.span, told.newest) = (told.span or (0, 0), told.newest), (None, ("", 0))
        self._described.describe(DATASET, told.name, told.told, span, newest)
        if told.told.source:
            self._described.name_source(told.told.source, span)
        if told.use.tags:
            self._described.name_tags(tag.key for tag in told.use.tags)


def _texts(facets: Facets, names: Container[str]) -> Iterator[tuple[str, str]]:
    return ((name, bytes(text).decode()) for name, text in facets.items() if name in names and text != NULL)
