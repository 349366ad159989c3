"""How jobs and datasets describe themselves: facets by content, each text once, with the time in which it was sent.

What differs from run to run (what a run counted, which version it wrote) is kept as the newest value alone.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from msgspec import UNSET, Raw, msgpack

from headwater.events.decode import decode
from headwater.events.facet_sets import text_at
from headwater.events.facets import Memo, content_digests
from headwater.events.times import parse_time
from headwater.events.wire import NULL, WireDataset, WireEvent, WireRun
from headwater.index.catalog_tables import DATASET, JOB
from headwater.index.changes import CHANGE_FACET, Change, read_change
from headwater.index.names import NameNumbers
from headwater.lineage.jobs import job_key
from headwater.lineage.name import Name
from headwater.lineage.part import Mention, Part
from headwater.lineage.reading import members

_CHANGING = ("version",)
_KEEP = 200_000
_SPAN = "first_us = min(first_us, excluded.first_us), last_us = max(last_us, excluded.last_us)"
_NEWEST = "WHERE (excluded.time_us, excluded.{0}) > (time_us, {0})"


class _Told(NamedTuple):
    """A dataset's facets: number of its name, of their set; its data source; those of one run alone."""

    name: int
    facet_set: int
    source: tuple[str, str] | None
    changing: tuple[tuple[str, str], ...]


class FacetTable:
    """Takes events one by one; `flush` writes."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Use the index's connection."""
        self._sql = connection
        self._names = names
        self._texts: Memo[int] = Memo()
        self._sets: Memo[tuple[int, tuple[str, str] | None, tuple[tuple[str, str], ...]]] = Memo()
        self._told: dict[int, tuple[Mention, _Told]] = {}
        self._tags: set[str] = set()
        self._described: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._sources: dict[tuple[str, str], tuple[int, int]] = {}
        self._measured: dict[tuple[int, str], tuple[int, str]] = {}
        self._parents: dict[int, tuple[int, int]] = {}
        self._nominal: list[tuple[object, ...]] = []
        self._changes: list[Change] = []

    def read(self, mention: Mention, wire: WireDataset) -> None:
        """Learn what a dataset's text says beside lineage; `take` is given the same mention object."""
        facet_set, source, changing = self._set(bytes(wire.facets))
        counted = [(facet, bytes(text).decode()) for facet, text in members(wire.inputFacets).items() if text != NULL]
        told = _Told(self._names.number(mention.name), facet_set, source, (*changing, *counted))
        self._told[id(mention)] = (mention, told)

    def is_full(self) -> bool:
        """Tell whether so many texts were learnt that it is time to begin anew, as `forget` does."""
        return len(self._told) > _KEEP

    def forget(self) -> None:
        """Forget what was learnt of texts; whoever reads them must read them anew."""
        self._told.clear()

    def take(self, wire: WireEvent, part: Part) -> None:
        """Take an event, whatever it is about."""
        time_us = part.time_us
        for mention in (*part.inputs, *part.outputs):
            known, told = self._told[id(mention)]
            if known is mention:
                self._take_dataset(told, time_us)
            if mention.tags:
                self._tags.update(tag.key for tag in mention.tags)
        if wire.job is not UNSET:
            shown = self._names.number(job_key(part.job, None))
            if wire.job.facets:
                facet_set, _, _ = self._set(bytes(wire.job.facets))
                self._describe((JOB, shown, facet_set), time_us)
            if wire.run is not UNSET and wire.run.facets:
                self._take_run(wire.run, part, shown)

    def _take_dataset(self, told: _Told, time_us: int) -> None:
        self._describe((DATASET, told.name, told.facet_set), time_us)
        if told.source:
            first, last = self._sources.get(told.source, (time_us, time_us))
            self._sources[told.source] = (min(first, time_us), max(last, time_us))
        for facet, text in told.changing:
            known = self._measured.get((told.name, facet))
            self._measured[told.name, facet] = max(known or (time_us, text), (time_us, text))

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

    def _describe(self, key: tuple[int, int, int], time_us: int) -> None:
        known = self._described.get(key)
        if known is None:
            self._described[key] = (time_us, time_us)
        elif not known[0] <= time_us <= known[1]:
            self._described[key] = (min(known[0], time_us), max(known[1], time_us))

    def _take_run(self, run: WireRun, part: Part, shown: int) -> None:
        raw = bytes(run.facets)
        if b'"nominalTime"' not in raw and b'"parent"' not in raw and CHANGE_FACET not in raw:
            return
        facets = members(run.facets)
        parent = decode(bytes(facets["parent"])) if "parent" in facets else None
        namespace, name = text_at(parent, "job", "namespace"), text_at(parent, "job", "name")
        if namespace is not None and name:
            number = self._names.number(job_key(Name(namespace, name), None))
            self._parents[shown] = max(self._parents.get(shown, (-1, 0)), (part.time_us, number))
        if "nominalTime" in facets:
            nominal = decode(bytes(facets["nominalTime"]))
            times = (_time(text_at(nominal, key)) for key in ("nominalStartTime", "nominalEndTime"))
            self._nominal.append((part.run_key, part.time_us, *times))
        change = read_change(facets, part)
        if change:
            self._changes.append(change)

    def flush(self) -> None:
        """Write what was taken."""
        write = self._sql.executemany
        write(f"INSERT INTO described VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {_SPAN}", _rows(self._described))
        write(
            f"INSERT INTO data_sources VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET {_SPAN}, "
            "uri = max(uri, excluded.uri)",
            _rows(self._sources),
        )
        write(
            "INSERT INTO measured VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET time_us = excluded.time_us, "
            f"value = excluded.value {_NEWEST.format('value')}",
            _rows(self._measured),
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
        for each in (self._described, self._sources, self._measured, self._nominal, self._parents, self._changes):
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


def _rows(spans: Mapping[Any, tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
    return ((*key, *rest) for key, rest in spans.items())


def _time(text: str | None) -> int | None:
    return parse_time(text)[0] if text else None
