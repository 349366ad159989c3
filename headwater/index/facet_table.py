"""How jobs and datasets describe themselves: facets by content, each text once, with the time in which it was sent.

Of each facet the newest is kept beside; what differs from run to run (what a run counted, which version it wrote) as
that alone.
"""

import sqlite3
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from msgspec import UNSET, Raw, Struct, msgpack

from headwater.events.decode import decode
from headwater.events.facet_sets import text_at
from headwater.events.facets import Memo, content_digests
from headwater.events.times import parse_time
from headwater.events.wire import NULL, WireDataset, WireEvent
from headwater.index.catalog_tables import COUNTED, DATASET, JOB
from headwater.index.changes import Change, read_change
from headwater.index.names import NameNumbers
from headwater.index.spans import WIDEN, Span, rows, widen
from headwater.index.told import ToldTable
from headwater.lineage.jobs import job_key
from headwater.lineage.newest import order_text, placed
from headwater.lineage.part import Mention, Part
from headwater.lineage.run_facets import Facets, Parent, members

_CHANGING = ("version",)
_KEEP = 200_000
_NEWER = "WHERE excluded.event_order > event_order"

_Newness = tuple[str, int]
"""Text of the order of an event, place in it."""


class _Set(NamedTuple):
    """What an object of facets says: its number, the data source it names, each facet's text or its number."""

    number: int
    source: tuple[str, str] | None
    facets: tuple[tuple[str, int | str], ...]


class _Told(Struct):
    """A dataset's facets, and what was counted at it, beside the number of its name.

    span, newest: first and last time, and greatest order, in this batch; kept beside what is told, so that an event
    costs no look-up of it.
    """

    mention: Mention
    name: int
    told: "_Set"
    counted: tuple[tuple[str, str], ...]
    span: Span | None = None
    newest: _Newness = ("", 0)


class FacetTable:
    """Takes events one by one; `flush` writes.

    told: event id → number of the names of its facets, until then.
    """

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Use the index's connection."""
        self._sql = connection
        self._names = names
        self._texts: Memo[int] = Memo()
        self._sets: Memo[_Set] = Memo()
        self._names_told = ToldTable(connection)
        self.told: dict[str, int] = {}
        self._told: dict[int, _Told] = {}
        self._batch: list[_Told] = []
        self._tags: set[str] = set()
        self._described: dict[tuple[int, int, int], Span] = {}
        self._last: dict[tuple[int, int, int], str] = {}
        self._sources: dict[tuple[str, str], Span] = {}
        self._newest: dict[tuple[int, int, str], tuple[_Newness, int | str]] = {}
        self._of_jobs: dict[tuple[int, bytes], tuple[_Newness, _Set]] = {}
        self._parents: dict[int, tuple[str, int]] = {}
        self._nominal: list[tuple[object, ...]] = []
        self._changes: list[Change] = []

    def read(self, mention: Mention, wire: WireDataset) -> None:
        """Learn what a dataset's text says beside lineage; `take` is given the same mention object."""
        counted = [(facet, bytes(text).decode()) for facet, text in members(wire.inputFacets).items() if text != NULL]
        told = _Told(mention, self._names.number(mention.name), self._set(bytes(wire.facets)), tuple(counted))
        self._told[id(mention)] = told

    def is_full(self) -> bool:
        """Tell whether so many texts were learnt that it is time to begin anew, as `forget` does."""
        return len(self._told) > _KEEP

    def forget(self) -> None:
        """Forget what was learnt of texts; whoever reads them must read them anew."""
        self._told.clear()

    def take(self, wire: WireEvent, part: Part, of_run: Facets, parent: Parent) -> None:
        """Take an event, whatever it is about, beside the facets of its run and what its `parent` facet says."""
        time_us, order = part.time_us, order_text(part.order)
        for place, mention in enumerate((*part.inputs, *part.outputs)):
            told = self._told[id(mention)]
            if told.span is None:
                told.span = (time_us, time_us)
                self._batch.append(told)
            elif not told.span[0] <= time_us <= told.span[1]:
                told.span = (min(told.span[0], time_us), max(told.span[1], time_us))
            told.newest = max(told.newest, (order, place))
        self._count_names(wire, part, of_run)
        if wire.job is not UNSET:
            shown = self._names.number(job_key(part.job, None))
            if wire.job.facets:
                self._take_job(bytes(wire.job.facets), shown, time_us, (order, 0))
            if of_run:
                self._take_run(of_run, parent, part, shown)

    def _count_names(self, wire: WireEvent, part: Part, of_run: Facets) -> None:
        of_job = self._set(bytes(wire.job.facets)).facets if wire.job is not UNSET else ()
        names = (facet for facet, text in of_run.items() if text != NULL)
        self.told[part.event_id] = self._names_told.number(names, (facet for facet, _ in of_job))

    def _set(self, raw: bytes) -> _Set:
        """Return what a text says; facets of one run alone are no part of the set that the number is of."""
        found = self._sets.get(raw)
        if found is not None:
            return found
        facets = {key: bytes(text) for key, text in members(Raw(raw)).items() if text != NULL}
        changing = tuple((key, facets.pop(key).decode()) for key in _CHANGING if key in facets)
        numbers = {key: self._text(text) for key, text in facets.items()}
        schema = content_digests("schema", facets["schema"])[1] if "schema" in facets else None
        value = msgpack.encode(sorted(numbers.items()))
        number = self._numbered("facet_sets", blake2b(value, digest_size=16).digest(), (schema, value))
        source = decode(facets["dataSource"]) if "dataSource" in facets else None
        name = text_at(source, "name")
        named = (name, text_at(source, "uri") or name) if name else None
        return self._sets.put(raw, _Set(number, named, (*numbers.items(), *changing)))

    def _text(self, raw: bytes) -> int:
        digest = blake2b(raw, digest_size=16).digest()
        return self._texts.get(raw) or self._texts.put(raw, self._numbered("facet_texts", digest, (raw.decode(),)))

    def _numbered(self, table: str, digest: bytes, rest: tuple[object, ...]) -> int:
        found = self._sql.execute(f"SELECT id FROM {table} WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            values = f"INSERT INTO {table} VALUES (NULL, ?, {', '.join('?' * len(rest))})"
            return int(self._sql.execute(values, (digest, *rest)).lastrowid or 0)
        return int(found[0])

    def _take_job(self, raw: bytes, shown: int, time_us: int, newness: _Newness) -> None:
        told = self._set(raw)
        self._describe((JOB, shown, told.number), (time_us, time_us), newness)
        known = self._of_jobs.get((shown, raw))
        if known is None or known[0] < newness:
            self._of_jobs[shown, raw] = newness, told

    def _take_run(self, facets: Facets, parent: Parent, part: Part, shown: int) -> None:
        order = order_text(part.order)
        if parent.job:
            number = self._names.number(job_key(parent.job, None))
            self._parents[shown] = max(self._parents.get(shown, ("", 0)), (order, number))
        if facets.get("nominalTime", NULL) != NULL:
            nominal = decode(bytes(facets["nominalTime"]))
            times = (_time(text_at(nominal, key)) for key in ("nominalStartTime", "nominalEndTime"))
            self._nominal.append((part.run_key, order, *times))
        change = read_change(facets, part)
        if change:
            self._changes.append(change)

    def _settle(self, told: _Told) -> None:
        """Take what was told of a dataset in this batch, however often."""
        (span, newest), (told.span, told.newest) = (told.span or (0, 0), told.newest), (None, ("", 0))
        self._describe((DATASET, told.name, told.told.number), span, newest)
        if told.told.source:
            widen(self._sources, told.told.source, span)
        self._renew(DATASET, told.name, newest, told.told.facets)
        self._renew(COUNTED, told.name, newest, told.counted)
        if told.mention.tags:
            self._tags.update(tag.key for tag in told.mention.tags)

    def _describe(self, key: tuple[int, int, int], span: Span, newness: _Newness) -> None:
        widen(self._described, key, span)
        self._last[key] = max(self._last.get(key, ""), placed(*newness))

    def _renew(self, kind: int, name: int, newness: _Newness, facets: Iterable[tuple[str, int | str]]) -> None:
        for facet, value in facets:
            known = self._newest.get((kind, name, facet))
            if known is None or known[0] < newness:
                self._newest[kind, name, facet] = newness, value

    def flush(self) -> None:
        """Write what was taken."""
        for told in self._batch:
            self._settle(told)
        for (shown, _), (newness, of_job) in self._of_jobs.items():
            self._renew(JOB, shown, newness, of_job.facets)
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
            self._nominal,
        )
        write(
            "UPDATE jobs SET parent = ?1, parent_order = ?2 WHERE shown = ?3 AND coalesce(parent_order, '') <= ?2",
            [(number, order, shown) for shown, (order, number) in self._parents.items()],
        )
        self._flush_changes()
        taken = (self._described, self._last, self._sources, self._newest, self._of_jobs, self._parents, self.told)
        for each in (*taken, self._nominal, self._changes, self._batch):
            each.clear()

    def _flush_changes(self) -> None:
        known = [(tag,) for tag in self._tags]
        self._sql.executemany("INSERT OR IGNORE INTO tag_names VALUES (?)", known)
        self._tags.clear()
        self._sql.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            f"event_order = excluded.event_order, time_us = excluded.time_us, value = excluded.value {_NEWER}",
            [(self._names.number(each.about), *each[1:]) for each in self._changes],
        )


def _time(text: str | None) -> int | None:
    return parse_time(text)[0] if text else None
