"""Tables `happened` and `quarters`: times of run events with their places in bronze, and counts of events by type.

To show a page of events, a question reads only the bodies of these events from bronze.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from headwater.events.position import Source
from headwater.index.stored.run_facts_table import Places
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.runs.run_facts import RunFacts

QUARTER_US = timedelta(minutes=15) // timedelta(microseconds=1)
"""Events are counted by quarter of an hour, because every time zone offset is a multiple of it."""


def places_of(sql: sqlite3.Connection, source: Source, events: Sequence[BronzeEvent]) -> Places:
    """Return the place in bronze of each event of a batch, by event id. Writes to the caller's transaction."""
    row = (source.log, source.epoch, source.partition)
    sql.execute("INSERT OR IGNORE INTO places(log, incarnation, part) VALUES (?, ?, ?)", row)
    query = "SELECT id FROM places WHERE log = ? AND incarnation = ? AND part = ?"
    number = int(sql.execute(query, row).fetchone()[0])
    return {event.event_id: (number, event.sequence) for event in events}


class EventTable:
    """Run events by time, and the number of events of each type."""

    def __init__(self, connection: sqlite3.Connection):
        self._sql = connection

    def add(self, fresh: Sequence[RunFacts], places: Places) -> None:
        """Add events that the index does not contain yet."""
        rows = [(fact.time_us, *places[fact.event_id]) for fact in fresh if fact.kind == "RUN"]
        self._sql.executemany("INSERT OR IGNORE INTO happened VALUES (?, ?, ?)", rows)
        counts = Counter((fact.time_us // QUARTER_US, fact.type if fact.kind == "RUN" else fact.kind) for fact in fresh)
        self._sql.executemany(
            "INSERT INTO quarters VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET events = events + excluded.events",
            [(*key, count) for key, count in counts.items()],
        )
