"""What shapes of events say in facets, as the index numbers it: texts and sets of them are stored once each."""

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
    """A dataset's facets beside the number of its name.

    changes: it has facets that differ from event to event.
    span, newest: first and last time, and greatest order, in this batch; at: sequence of that newest event, and place
    among its datasets.
    """

    use: DatasetUse
    name: int
    told: NumberedFacets
    changes: bool
    span: Span | None = None
    newest: Newness = ("", 0)
    at: tuple[int, int] = (0, 0)


class FacetShape(NamedTuple):
    """What a shape says beside lineage; names: number of the names of its facets; job: None without facets."""

    told: tuple[NumberedDataset, ...]
    places: tuple[int, ...]
    names: int
    job: NumberedFacets | None


class FacetShapes:
    """The shapes that were learnt."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers) -> None:
        """Use the index's connection."""
        self._sql = connection
        self._names = names
        self._texts: Memo[int] = Memo()
        self._names_told = FacetNamesTable(connection)
        self._shapes: dict[tuple[str, Forms], FacetShape] = {}
        self._datasets: dict[bytes, NumberedDataset] = {}
        self._in_events: dict[tuple[int, Name], NumberedDataset] = {}

    def in_event(self, shape: str, forms: Forms) -> FacetShape:
        """Return a shape that was learnt; forms: names that mean other datasets in the event."""
        found = self._shapes.get((shape, forms))
        if found is None:
            sent, named = self._shapes[shape, ()], dict(forms)
            told = tuple(self._named(each, named) for each in sent.told)
            found = self._shapes[shape, forms] = sent._replace(told=told)
        return found

    def _named(self, sent: NumberedDataset, forms: Mapping[Name, Name]) -> NumberedDataset:
        """Return what is told of a dataset by the name that it has in an event."""
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
        """Learn what an event of a new shape says."""
        datasets = (*event.inputs, *event.outputs)
        told = [self._dataset(datasets[place], of) for place, of in zip(said.places, said.uses, strict=True)]
        run_facets, job_facets = event.said.run_facets, [facet.name for facet in event.said.job_facets]
        names = self._names_told.number(run_facets, job_facets)
        job = self._set(event.job_contents) if job_facets else None
        self._shapes[event.shape, ()] = FacetShape(tuple(told), said.places, names, job)

    def is_full(self) -> bool:
        """Tell whether so many texts were learnt that it is time to begin anew, as `forget` does."""
        return len(self._shapes) + len(self._datasets) + len(self._in_events) > _KEEP

    def forget(self) -> None:
        """Forget what was learnt; whoever reads events must learn their shapes anew."""
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
        """Return what facets say; those of one run alone are no part of the set that the number is of."""
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
