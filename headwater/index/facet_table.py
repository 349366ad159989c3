"""How jobs and datasets describe themselves: facets by content, each text once, with the time in which it was sent.

What differs from run to run (what a run counted, which version it wrote) is kept as the newest value alone.
"""

import sqlite3
from hashlib import blake2b

from msgspec import UNSET, Raw, Struct, msgpack

from headwater.events.decode import decode
from headwater.events.facet_sets import text_at
from headwater.events.facets import Memo, content_digests
from headwater.events.times import parse_time
from headwater.events.wire import NULL, WireDataset, WireEvent
from headwater.index.catalog_tables import DATASET, JOB
from headwater.index.changes import Change, read_change
from headwater.index.names import NameNumbers
from headwater.index.spans import WIDEN, Span, rows, widen
from headwater.lineage.jobs import job_key
from headwater.lineage.part import Mention, Part
from headwater.lineage.run_facets import Facets, Parent, members

_CHANGING = ("version",)
_KEEP = 200_000
_NEWEST = "WHERE (excluded.time_us, excluded.{0}) > (time_us, {0})"


class _Told(Struct):
    """A dataset's facets: number of its name, of their set; its data source; those of one run alone.

    span: first and last time in this batch; kept beside what is told, so that an event costs no look-up of it.
    """

    mention: Mention
    name: int
    facet_set: int
    source: tuple[str, str] | None
    changing: tuple[tuple[str, str], ...]
    span: Span | None = None


class FacetTable:
    """Takes events one by one; `flush` writes."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Use the index's connection."""
        self._sql = connection
        self._names = names
        self._texts: Memo[int] = Memo()
        self._sets: Memo[tuple[int, tuple[str, str] | None, tuple[tuple[str, str], ...]]] = Memo()
        self._told: dict[int, _Told] = {}
        self._batch: list[_Told] = []
        self._tags: set[str] = set()
        self._described: dict[tuple[int, int, int], Span] = {}
        self._sources: dict[tuple[str, str], Span] = {}
        self._measured: dict[tuple[int, str], tuple[int, str]] = {}
        self._parents: dict[int, tuple[int, int]] = {}
        self._nominal: list[tuple[object, ...]] = []
        self._changes: list[Change] = []

    def read(self, mention: Mention, wire: WireDataset) -> None:
        """Learn what a dataset's text says beside lineage; `take` is given the same mention object."""
        facet_set, source, changing = self._set(bytes(wire.facets))
        counted = [(facet, bytes(text).decode()) for facet, text in members(wire.inputFacets).items() if text != NULL]
        told = _Told(mention, self._names.number(mention.name), facet_set, source, (*changing, *counted))
        self._told[id(mention)] = told

    def is_full(self) -> bool:
        """Tell whether so many texts were learnt that it is time to begin anew, as `forget` does."""
        return len(self._told) > _KEEP

    def forget(self) -> None:
        """Forget what was learnt of texts; whoever reads them must read them anew."""
        self._told.clear()

    def take(self, wire: WireEvent, part: Part, of_run: Facets, parent: Parent) -> None:
        """Take an event, whatever it is about, beside the facets of its run and what its `parent` facet says."""
        time_us = part.time_us
        for mention in (*part.inputs, *part.outputs):
            told = self._told[id(mention)]
            if told.span is None:
                told.span = (time_us, time_us)
                self._batch.append(told)
            elif not told.span[0] <= time_us <= told.span[1]:
                told.span = (min(told.span[0], time_us), max(told.span[1], time_us))
        if wire.job is not UNSET:
            shown = self._names.number(job_key(part.job, None))
            if wire.job.facets:
                widen(self._described, (JOB, shown, self._set(bytes(wire.job.facets))[0]), (time_us, time_us))
            if of_run:
                self._take_run(of_run, parent, part, shown)

    def _set(self, raw: bytes) -> tuple[int, tuple[str, str] | None, tuple[tuple[str, str], ...]]:
        """Return the number of a set of facets, the data source it names, and the facets of one run alone."""
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
        return self._sets.put(raw, (number, named, changing))

    def _text(self, raw: bytes) -> int:
        digest = blake2b(raw, digest_size=16).digest()
        return self._texts.get(raw) or self._texts.put(raw, self._numbered("facet_texts", digest, (raw.decode(),)))

    def _numbered(self, table: str, digest: bytes, rest: tuple[object, ...]) -> int:
        found = self._sql.execute(f"SELECT id FROM {table} WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            values = f"INSERT INTO {table} VALUES (NULL, ?, {', '.join('?' * len(rest))})"
            return int(self._sql.execute(values, (digest, *rest)).lastrowid or 0)
        return int(found[0])

    def _take_run(self, facets: Facets, parent: Parent, part: Part, shown: int) -> None:
        if parent.job:
            number = self._names.number(job_key(parent.job, None))
            self._parents[shown] = max(self._parents.get(shown, (-1, 0)), (part.time_us, number))
        if "nominalTime" in facets:
            nominal = decode(bytes(facets["nominalTime"]))
            times = (_time(text_at(nominal, key)) for key in ("nominalStartTime", "nominalEndTime"))
            self._nominal.append((part.run_key, part.time_us, *times))
        change = read_change(facets, part)
        if change:
            self._changes.append(change)

    def _settle(self, told: _Told) -> None:
        """Take what was told of a dataset in this batch, however often."""
        span, told.span = told.span or (0, 0), None
        widen(self._described, (DATASET, told.name, told.facet_set), span)
        if told.source:
            widen(self._sources, told.source, span)
        for facet, text in told.changing:
            newest = (span[1], text)
            self._measured[told.name, facet] = max(self._measured.get((told.name, facet), newest), newest)
        if told.mention.tags:
            self._tags.update(tag.key for tag in told.mention.tags)

    def flush(self) -> None:
        """Write what was taken."""
        for told in self._batch:
            self._settle(told)
        write = self._sql.executemany
        write(f"INSERT INTO described VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}", rows(self._described))
        write(
            f"INSERT INTO data_sources VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}, "
            "uri = max(uri, excluded.uri)",
            rows(self._sources),
        )
        write(
            "INSERT INTO measured VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET time_us = excluded.time_us, "
            f"value = excluded.value {_NEWEST.format('value')}",
            [(*key, *newest) for key, newest in self._measured.items()],
        )
        write(
            "INSERT INTO nominal_times VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET time_us = excluded.time_us, "
            f"start_us = excluded.start_us, end_us = excluded.end_us {_NEWEST.format('start_us')}",
            self._nominal,
        )
        write(
            "UPDATE jobs SET parent = ?1, parent_us = ?2 WHERE shown = ?3 AND coalesce(parent_us, 0) <= ?2",
            [(number, time_us, shown) for shown, (time_us, number) in self._parents.items()],
        )
        self._flush_changes()
        taken = (self._described, self._sources, self._measured, self._nominal, self._parents, self._changes)
        for each in (*taken, self._batch):
            each.clear()

    def _flush_changes(self) -> None:
        known = [(tag,) for tag in self._tags]
        self._sql.executemany("INSERT OR IGNORE INTO tag_names VALUES (?)", known)
        self._tags.clear()
        self._sql.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET time_us = excluded.time_us, "
            f"event = excluded.event, value = excluded.value {_NEWEST.format('event')}",
            [(self._names.number(each.about), *each[1:]) for each in self._changes],
        )


def _time(text: str | None) -> int | None:
    return parse_time(text)[0] if text else None
