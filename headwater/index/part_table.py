"""Parts in the index's file; mentions, which recur, once."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from headwater.index.database import chunks, marks
from headwater.index.packing import encode, mention_from, pack_part, unpack_part
from headwater.lineage.part import Mention, Part

_KEEP = 50_000

Places = Mapping[str, tuple[int, int]]
"""Event id → number of its partition, sequence in it."""

Told = Mapping[str, int]
"""Event id → number of the names of its facets (`ToldTable`)."""


class PartTable:
    """What single events said, by run."""

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection."""
        self._sql = connection
        self._mention_ids: dict[Mention, int] = {}
        self._mentions: dict[int, Mention] = {}
        self._whole: dict[str, list[Part]] = {}

    def add(self, parts: Sequence[Part], places: Places, told: Told) -> Sequence[Part]:
        """Keep parts, each with the place of its event in bronze and what it told; returns those that are new."""
        known = {
            row
            for keys in chunks(list({part.run_key for part in parts}))
            for row in self._sql.execute(f"SELECT run, event FROM parts WHERE run IN ({marks(keys)})", keys)
        }
        by_key = {(part.run_key, bytes.fromhex(part.event_id)): part for part in parts}
        fresh = {key: part for key, part in by_key.items() if key not in known}
        rows = [(*key, self._pack(part), *places[part.event_id], told[part.event_id]) for key, part in fresh.items()]
        self._sql.executemany("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?)", rows)
        older = {run for run, _ in known}
        self._whole = {}
        for (run, _), part in fresh.items():
            if run not in older:
                self._whole.setdefault(run, []).append(part)
        return list(fresh.values())

    def _pack(self, part: Part) -> bytes:
        inputs, outputs = ([self._mention_id(mention) for mention in side] for side in (part.inputs, part.outputs))
        return pack_part(part, inputs, outputs)

    def parts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[Part]]:
        """Return all parts of each of these runs."""
        asked = list(run_keys)
        found = {run: parts for run in asked if (parts := self._whole.get(run))}  # new ones need not be read back
        for keys in chunks([run for run in asked if run not in found]):
            rows = self._sql.execute(f"SELECT run, event, value FROM parts WHERE run IN ({marks(keys)})", keys)
            for run, event, value in rows:
                found.setdefault(run, []).append(unpack_part(run, event, value, self._mention))
        return found

    def _mention_id(self, mention: Mention) -> int:
        found = self._mention_ids.get(mention)
        if found is None:
            if len(self._mention_ids) > _KEEP:
                self._mention_ids.clear()
            value = encode(mention)
            self._sql.execute("INSERT OR IGNORE INTO mentions(value) VALUES (?)", (value,))
            found = int(self._sql.execute("SELECT id FROM mentions WHERE value = ?", (value,)).fetchone()[0])
            self._mention_ids[mention] = found
        return found

    def until(self, as_of_us: int, known_at_us: int) -> list[Part]:
        """Return the parts of events with a time and a receipt up to these moments."""
        rows = self._sql.execute("SELECT run, event, value FROM parts")
        parts = (unpack_part(run, event, value, self._mention) for run, event, value in rows)
        return [part for part in parts if part.time_us <= as_of_us and part.received_us <= known_at_us]

    def _mention(self, number: int) -> Mention:
        found = self._mentions.get(number)
        if found is None:
            if len(self._mentions) > _KEEP:
                self._mentions.clear()
            row = self._sql.execute("SELECT value FROM mentions WHERE id = ?", (number,)).fetchone()
            found = self._mentions[number] = mention_from(row[0])
        return found
