"""Table `facet_names`: the names of the run and job facets of each event.

Bronze holds the facets' contents. With the names, a question reads only those events that have the newest facets.
"""

import sqlite3
from collections.abc import Iterable

from msgspec import msgpack

from headwater.index.stored.index_packing import packed_facts_from
from headwater.lineage.runs.newest_first import order_of
from headwater.lineage.runs.weighed import Weighed

RUN, JOB = 0, 1
"""Positions in the value of a `facet_names` row: names of run facets and of job facets."""

Place = tuple[str, str, str, int]
"""The place of an event in bronze: log, epoch, partition, sequence."""

_Names = tuple[tuple[str, ...], tuple[str, ...]]
_names_from = msgpack.Decoder(_Names).decode
_PARTS = (
    "SELECT p.event, coalesce(y.value, p.saying), p.time_us, p.received_us, f.value, s.log, s.incarnation, s.part, "
    "p.sequence FROM parts p JOIN run_keys k ON k.id = p.run LEFT JOIN sayings y ON y.id = p.saying "
    "JOIN facet_names f ON f.id = p.told JOIN places s ON s.id = p.place WHERE k.key = ?"
)


class FacetNamesTable:
    """Assigns a number to each combination of facet names."""

    def __init__(self, connection: sqlite3.Connection):
        self._sql = connection
        self._numbers: Weighed[_Names, int] = Weighed()

    def number(self, of_run: Iterable[str], of_job: Iterable[str]) -> int:
        """Return the number of a combination of facet names: an event's run and job facets that are not null."""
        names = tuple(sorted(of_run)), tuple(sorted(of_job))
        found = self._numbers.get(names)
        if found is None:
            value = msgpack.encode(names)
            self._sql.execute("INSERT OR IGNORE INTO facet_names(value) VALUES (?)", (value,))
            row = self._sql.execute("SELECT id FROM facet_names WHERE value = ?", (value,)).fetchone()
            found = self._numbers.keep(names, int(row[0]), 0)
        return found


def newest_places(sql: sqlite3.Connection, run: str, whose: int) -> set[Place]:
    """Return the places of the events with the newest value of each facet of a run or of its job.

    whose: RUN or JOB. Only the events of this run count, also for the facets of its job.
    """
    newest: dict[str, tuple[tuple[object, ...], Place]] = {}
    for event, content, time_us, received_us, names, *place in sql.execute(_PARTS, (run,)):
        said = packed_facts_from(content)
        times = (said.time_us, said.received_us) if time_us is None else (time_us, received_us)  # before format 8
        told = order_of(event.hex(), said.type, *times), (place[0], place[1], place[2], place[3])
        for facet in _names_from(names)[whose]:
            newest[facet] = max(newest.get(facet, told), told)
    return {place for _, place in newest.values()}
