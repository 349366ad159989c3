"""Facets of event shapes as numbers: the index stores each facet text and each set of facets once."""

import sqlite3
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct, msgpack, structs

from headwater.events.decode import decode
from headwater.events.event import Content, Event, SentDataset
from headwater.events.facet_digests import Memo
from headwater.events.facet_sets import CHANGING
from headwater.events.rule_facets import text_at
from headwater.index.stored.described_table import Newness, NumberedFacets
from headwater.index.stored.facet_names_table import FacetNamesTable
from headwater.index.stored.name_numbers import NameNumbers
from headwater.index.stored.spans import Span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_reading import ReadShape
from headwater.lineage.runs.run_facts import DatasetUse, Forms

_KEEP = 200_000


class NumberedDataset(Struct):
    """A dataset in an event shape: the number of its name and its facets.

    changes: it has facets that differ from event to event. span: first and last event time in this batch. newest: the
    greatest order in this batch. at: the sequence of that newest event and the position among its datasets.
    """

    use: DatasetUse
    name: int
    told: NumberedFacets
    changes: bool
    span: Span | None = None
    newest: Newness = ("", 0)
    at: tuple[int, int] = (0, 0)


class FacetShape(NamedTuple):
    """The descriptive facets of an event shape.

    names: number of its combination of facet names. job: None if the event has no job facets.
    """

    told: tuple[NumberedDataset, ...]
    places: tuple[int, ...]
    names: int
    job: NumberedFacets | None


class FacetShapes:
    """The cache of event shapes."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers) -> None:
        self._sql = connection
        self._names = names
        self._texts: Memo[int] = Memo()
        self._names_told = FacetNamesTable(connection)
        self._shapes: dict[tuple[str, Forms], FacetShape] = {}
        self._datasets: dict[bytes, NumberedDataset] = {}
        self._in_events: dict[tuple[int, Name], NumberedDataset] = {}

    def in_event(self, shape: str, forms: Forms) -> FacetShape:
        """Return a cached shape. forms: names that mean other datasets in the event (rule 2.1)."""
        found = self._shapes.get((shape, forms))
        if found is None:
            sent, named = self._shapes[shape, ()], dict(forms)
            told = tuple(self._named(each, named) for each in sent.told)
            found = self._shapes[shape, forms] = sent._replace(told=told)
        return found

    def _named(self, sent: NumberedDataset, forms: Mapping[Name, Name]) -> NumberedDataset:
        """Return a dataset of a shape under the name that it has in an event."""
        form = forms.get(sent.use.name)
        if form is None:
            return sent
        key = id(sent), form
        found = self._in_events.get(key)
        if found is None:
            use = structs.replace(sent.use, name=form)
            found = NumberedDataset(use, self._names.number(form), sent.told, sent.changes)
            self._in_events[key] = found
        return found

    def learn(self, event: Event, said: ReadShape) -> None:
        """Add the shape of an event."""
        datasets = (*event.inputs, *event.outputs)
        told = [self._dataset(datasets[place], of) for place, of in zip(said.places, said.uses, strict=True)]
        run_facets, job_facets = event.said.run_facets, [facet.name for facet in event.said.job_facets]
        names = self._names_told.number(run_facets, job_facets)
        job = self._set(event.job_contents) if job_facets else None
        self._shapes[event.shape, ()] = FacetShape(tuple(told), said.places, names, job)

    def is_full(self) -> bool:
        """Return whether the cache has so many entries that `forget` should clear it."""
        return len(self._shapes) + len(self._datasets) + len(self._in_events) > _KEEP

    def forget(self) -> None:
        """Clear the cache. Readers of events must then learn all shapes again."""
        self._shapes.clear()
        self._datasets.clear()
        self._in_events.clear()

    def _dataset(self, dataset: SentDataset, use: DatasetUse) -> NumberedDataset:
        found = self._datasets.get(dataset.shape)
        if found is None:
            changes = bool(dataset.mentioned.counted) or any(name in CHANGING for name in dataset.facets)
            told = NumberedDataset(use, self._names.number(use.name), self._set(dataset.contents), changes)
            found = self._datasets[dataset.shape] = told
        return found

    def _set(self, contents: Sequence[Content]) -> NumberedFacets:
        """Store a set of facets and return its numbers. Facets that belong to a single run are not part of the set."""
        facets = {content.key: content for content in contents}
        numbers = {key: self._text(content.raw) for key, content in facets.items()}
        schema = facets["schema"].content_hash if "schema" in facets else None
        value = msgpack.encode(sorted(numbers.items()))
        number = self._numbered("facet_sets", blake2b(value, digest_size=16).digest(), (schema, value))
        source = decode(facets["dataSource"].raw) if "dataSource" in facets else None
        name = text_at(source, "name")
        named = (name, text_at(source, "uri") or name) if name else None
        return NumberedFacets(number, named, tuple(numbers.items()))

    def _text(self, raw: bytes) -> int:
        digest = blake2b(raw, digest_size=16).digest()
        return self._texts.get(raw) or self._texts.put(raw, self._numbered("facet_texts", digest, (raw.decode(),)))

    def _numbered(self, table: str, digest: bytes, rest: tuple[object, ...]) -> int:
        found = self._sql.execute(f"SELECT id FROM {table} WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            values = f"INSERT INTO {table} VALUES (NULL, ?, {', '.join('?' * len(rest))})"
            return int(self._sql.execute(values, (digest, *rest)).lastrowid or 0)
        return int(found[0])
