"""How jobs and datasets describe themselves: facets by content, each text once, with the time in which it was sent.

Of each facet the newest is kept beside; what differs from run to run (what a run counted, which version it wrote) as
that alone.
"""

import sqlite3
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct, msgpack

from headwater.events.decode import decode
from headwater.events.event import Content, Event, Sent, SentDataset
from headwater.events.facet_digests import Memo
from headwater.events.facet_sets import CHANGING
from headwater.events.rule_facets import text_at
from headwater.events.times import parse_time
from headwater.events.wire import NULL
from headwater.index.stored.catalog_tables import COUNTED, DATASET, JOB
from headwater.index.stored.database import chunks
from headwater.index.stored.facet_names_table import FacetNamesTable
from headwater.index.stored.name_numbers import NameNumbers
from headwater.index.stored.run_numbers import RunNumbers
from headwater.index.stored.search_table import SearchTable
from headwater.index.stored.spans import ENTITY, WIDEN, Span, entity_rows, rows, widen
from headwater.index.writing.announced_changes import AnnouncedChange, read_change
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_reading import ReadShape
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.newest_first import Order, order_bytes, order_text, placed
from headwater.lineage.runs.run_facts import DatasetUse, RunFacts
from headwater.lineage.runs.sent_facets import Facets, members, read_stored, sent_datasets

_KEEP = 200_000
_NEWER = "WHERE excluded.event_order > event_order"

_Newness = tuple[str, int]
"""Text of the order of an event, place in it."""


Bodies = Callable[[Collection[int]], Mapping[int, str]]
"""Gives the bodies of events of a batch by their sequences."""


def few_at_a_time(bodies: Bodies, sequences: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield (sequence, body), in order of their sequences; 500 of them are in memory."""
    for some in chunks(sorted(sequences)):
        yield from bodies(some).items()


class _Set(NamedTuple):
    """What facets that recur say: the number of their set, the data source they name, the number of each text."""

    number: int
    source: tuple[str, str] | None
    facets: tuple[tuple[str, int], ...]


class _DatasetFacets(Struct):
    """A dataset's facets beside the number of its name.

    changes: it has facets that differ from event to event.
    span, newest: first and last time, and greatest order, in this batch; at: sequence of that newest event, and place
    among its datasets.
    """

    use: DatasetUse
    name: int
    told: _Set
    changes: bool
    span: Span | None = None
    newest: _Newness = ("", 0)
    at: tuple[int, int] = (0, 0)


class _Heard(Struct):
    """What a batch tells of a shape of one job.

    shown: number of the name of the job, 0 without one; sequence: of the newest event.
    """

    shape: "_FacetShape"
    shown: int
    span: Span
    newest: Order
    sequence: int


class _FacetShape(NamedTuple):
    """What a shape says beside lineage; names: number of the names of its facets; job: None without facets."""

    told: tuple[_DatasetFacets, ...]
    places: tuple[int, ...]
    names: int
    job: _Set | None


class FacetTable:
    """Takes events one by one; `flush` writes.

    told: event id → number of the names of its facets, until then; generation: of the batch that they come with.
    """

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, runs: RunNumbers, search: SearchTable):
        """Use the index's connection; search: is told of the jobs that others name as their parents."""
        self._sql = connection
        self._names = names
        self._runs = runs
        self._search = search
        self.generation = 0
        self._texts: Memo[int] = Memo()
        self._names_told = FacetNamesTable(connection)
        self.told: dict[str, int] = {}
        self._shapes: dict[str, _FacetShape] = {}
        self._datasets: dict[bytes, _DatasetFacets] = {}
        self._heard: dict[Hashable, _Heard] = {}
        self._batch: list[_DatasetFacets] = []
        self._tags: set[str] = set()
        self._described: dict[tuple[int, int, int], Span] = {}
        self._last: dict[tuple[int, int, int], str] = {}
        self._sources: dict[tuple[str, str], Span] = {}
        self._newest: dict[tuple[int, int, str], tuple[_Newness, int | str]] = {}
        self._parents: dict[int, tuple[Order, Name]] = {}
        self._above: dict[tuple[Name], Span] = {}
        self._nominal: list[tuple[str, bytes, int | None, int | None]] = []
        self._changes: list[AnnouncedChange] = []

    def learn(self, event: Event, said: ReadShape) -> None:
        """Learn what an event of a new shape says; `take` is given events of that shape afterwards."""
        datasets = (*event.inputs, *event.outputs)
        told = [self._dataset(datasets[place], of) for place, of in zip(said.places, said.uses, strict=True)]
        run_facets, job_facets = event.said.run_facets, [facet.name for facet in event.said.job_facets]
        names = self._names_told.number(run_facets, job_facets)
        job = self._set(event.job_contents) if job_facets else None
        self._shapes[event.shape] = _FacetShape(tuple(told), said.places, names, job)

    def is_full(self) -> bool:
        """Tell whether so many texts were learnt that it is time to begin anew, as `forget` does."""
        return len(self._shapes) + len(self._datasets) > _KEEP

    def forget(self) -> None:
        """Forget what was learnt; whoever reads events must learn their shapes anew."""
        self._shapes.clear()
        self._datasets.clear()

    def take(self, sequence: int, sent: Sent, fact: RunFacts, of_run: Facets) -> None:
        """Take an event, whatever it is about, beside the facets of its run."""
        order, said = fact.order, fact.content
        time_us, key = order.time_us, (sent.shape, said.kind, said.job)
        heard = self._heard.get(key)
        if heard is None:
            shown = self._names.number(job_key(said.job, None)) if said.kind != "DATASET" else 0
            heard = _Heard(self._shapes[sent.shape], shown, (time_us, time_us), order, sequence)
            self._heard[key] = heard
        else:
            first_us, last_us = heard.span
            if not first_us <= time_us <= last_us:
                heard.span = (min(first_us, time_us), max(last_us, time_us))
            if heard.newest < order:
                heard.newest, heard.sequence = order, sequence
        self.told[order.event_id] = heard.shape.names
        if of_run and heard.shown:
            self._take_run(of_run, sent, fact, heard.shown)

    def _dataset(self, dataset: SentDataset, use: DatasetUse) -> _DatasetFacets:
        found = self._datasets.get(dataset.shape)
        if found is None:
            changes = bool(dataset.mentioned.counted) or any(name in CHANGING for name in dataset.facets)
            told = _DatasetFacets(use, self._names.number(use.name), self._set(dataset.contents), changes)
            found = self._datasets[dataset.shape] = told
        return found

    def _set(self, contents: Sequence[Content]) -> _Set:
        """Return what facets say; those of one run alone are no part of the set that the number is of."""
        facets = {content.key: content for content in contents}
        numbers = {key: self._text(content.raw) for key, content in facets.items()}
        schema = facets["schema"].content_hash if "schema" in facets else None
        value = msgpack.encode(sorted(numbers.items()))
        number = self._numbered("facet_sets", blake2b(value, digest_size=16).digest(), (schema, value))
        source = decode(facets["dataSource"].raw) if "dataSource" in facets else None
        name = text_at(source, "name")
        named = (name, text_at(source, "uri") or name) if name else None
        return _Set(number, named, tuple(numbers.items()))

    def _text(self, raw: bytes) -> int:
        digest = blake2b(raw, digest_size=16).digest()
        return self._texts.get(raw) or self._texts.put(raw, self._numbered("facet_texts", digest, (raw.decode(),)))

    def _numbered(self, table: str, digest: bytes, rest: tuple[object, ...]) -> int:
        found = self._sql.execute(f"SELECT id FROM {table} WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            values = f"INSERT INTO {table} VALUES (NULL, ?, {', '.join('?' * len(rest))})"
            return int(self._sql.execute(values, (digest, *rest)).lastrowid or 0)
        return int(found[0])

    def _take_heard(self, heard: _Heard) -> None:
        """Take what was told of a shape of a job in this batch, however often."""
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
            self._describe((JOB, heard.shown, shape.job.number), heard.span, (order, 0))
            self._renew(JOB, heard.shown, (order, 0), shape.job.facets)

    def _take_run(self, facets: Facets, sent: Sent, fact: RunFacts, shown: int) -> None:
        if sent.parent_job_namespace is not None and sent.parent_job_name:
            known, name = self._parents.get(shown), Name(sent.parent_job_namespace, sent.parent_job_name)
            widen(self._above, (job_key(name, None),), (fact.order.time_us, fact.order.time_us))
            if known is None or known[0] < fact.order:
                self._parents[shown] = fact.order, name
        if facets.get("nominalTime", NULL) != NULL:
            self._nominal.append((fact.run_key, order_bytes(fact.order), *_nominal(bytes(facets["nominalTime"]))))
        change = read_change(facets, fact)
        if change:
            self._changes.append(change)

    def _settle(self, told: _DatasetFacets) -> None:
        """Take what was told of a dataset in this batch, however often."""
        (span, newest), (told.span, told.newest) = (told.span or (0, 0), told.newest), (None, ("", 0))
        self._describe((DATASET, told.name, told.told.number), span, newest)
        if told.told.source:
            widen(self._sources, told.told.source, span)
        self._renew(DATASET, told.name, newest, told.told.facets)
        if told.use.tags:
            self._tags.update(tag.key for tag in told.use.tags)

    def _describe(self, key: tuple[int, int, int], span: Span, newness: _Newness) -> None:
        widen(self._described, key, span)
        self._last[key] = max(self._last.get(key, ""), placed(*newness))

    def _renew(self, kind: int, name: int, newness: _Newness, facets: Iterable[tuple[str, int | str]]) -> None:
        for facet, value in facets:
            known = self._newest.get((kind, name, facet))
            if known is None or known[0] < newness:
                self._newest[kind, name, facet] = newness, value

    def _settle_changing(self, bodies: Bodies) -> None:
        """Take what differs from event to event: of each dataset in this batch the newest, from its body."""
        changing = [told for told in self._batch if told.changes]
        by_event: dict[int, list[_DatasetFacets]] = {}
        for told in changing:
            by_event.setdefault(told.at[0], []).append(told)
        for sequence, body in few_at_a_time(bodies, by_event):
            datasets = sent_datasets(read_stored(body))
            for told in by_event[sequence]:
                dataset = datasets[told.at[1]]
                own, counted = members(dataset.facets), members(dataset.inputFacets)
                self._renew(DATASET, told.name, told.newest, _texts(own, CHANGING))
                self._renew(COUNTED, told.name, told.newest, _texts(counted, counted))

    def flush(self, bodies: Bodies) -> None:
        """Write what was taken."""
        for heard in self._heard.values():
            self._take_heard(heard)
        self._settle_changing(bodies)
        for told in self._batch:
            self._settle(told)
        write = self._sql.executemany
        write(
            f"INSERT INTO described VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}, "
            "event_order = max(event_order, excluded.event_order)",
            [(*key, *span, self._last[key]) for key, span in self._described.items()],
        )
        write(
            f"INSERT INTO data_sources VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}, "
            "uri = max(uri, excluded.uri)",
            rows(self._sources),
        )
        write(
            "INSERT INTO newest_facets VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            f"event_order = excluded.event_order, value = excluded.value {_NEWER}",
            [(*key, placed(order, place), value) for key, ((order, place), value) in self._newest.items()],
        )
        write(
            "INSERT INTO nominal_times VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            f"event_order = excluded.event_order, start_us = excluded.start_us, end_us = excluded.end_us {_NEWER}",
            [(self._runs[run_key], *rest) for run_key, *rest in self._nominal],
        )
        write(
            "UPDATE jobs SET parent = ?1, parent_order = ?2 WHERE shown = ?3 AND coalesce(parent_order, '') <= ?2",
            [
                (self._names.number(job_key(name, None)), order_text(order), shown)
                for shown, (order, name) in self._parents.items()
            ],
        )
        self._flush_above()
        known = [(tag,) for tag in self._tags]
        write("INSERT OR IGNORE INTO tag_names VALUES (?)", known)
        self._flush_changes()
        taken = (self._described, self._last, self._sources, self._newest, self._parents, self._above, self.told)
        for each in (*taken, self._heard, self._tags, self._nominal, self._changes, self._batch):
            each.clear()

    def _flush_above(self) -> None:
        """Let jobs be known of which nothing is heard but that others are below them."""
        found = {(JOB, self._names.number(name)): span for (name,), span in self._above.items()}
        write = self._sql.executemany
        write("INSERT OR IGNORE INTO jobs(key, shown) VALUES (?1, ?1)", [(number,) for _, number in found])
        write(ENTITY, entity_rows(found, self.generation))
        for (name,), (_, last_us) in self._above.items():
            self._search.use("job", name, last_us, partners=0)
        spaces: dict[tuple[str], Span] = {}
        for (name,), span in self._above.items():
            widen(spaces, (name.namespace,), span)
        write(f"INSERT INTO namespaces VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}", rows(spaces))

    def _flush_changes(self) -> None:
        self._sql.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "event_order = excluded.event_order, time_us = excluded.time_us, value = excluded.value, "
            f"generation = excluded.generation {_NEWER}",
            [(self._names.number(each.about), *each[1:], self.generation) for each in self._changes],
        )


def _texts(facets: Facets, names: Container[str]) -> Iterator[tuple[str, str]]:
    return ((name, bytes(text).decode()) for name, text in facets.items() if name in names and text != NULL)


@lru_cache(maxsize=1_000)
def _nominal(facet: bytes) -> tuple[int | None, int | None]:
    """Return the start and the end (us) that a facet names: one hour has many runs."""
    nominal = decode(facet)
    return _time(text_at(nominal, "nominalStartTime")), _time(text_at(nominal, "nominalEndTime"))


def _time(text: str | None) -> int | None:
    return parse_time(text)[0] if text else None
