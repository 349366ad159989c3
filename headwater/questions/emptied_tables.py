"""Emptied tables: the newest write replaced all rows with 0 rows, and an earlier write had rows."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_history import RunHistory
from headwater.index.stored.events import Place
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_at
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.questions.answers.health_answers import HealthItem, Status
from headwater.questions.health_reader import HealthReader
from headwater.questions.run_details import rows_in

_WRITES = 6
"""Number of newest writes of a dataset whose row counts are compared."""

_EVENTS = 5
"""Number of newest events of a run that are read for its row count."""


class ReplacedTable(NamedTuple):
    """A dataset whose newest write replaced all rows, with the bronze positions of its newest writes, newest first."""

    writes: list[set[Place]]


class EmptiedTable(NamedTuple):
    """An emptied dataset.

    rows_before: row count of the newest earlier write that had rows, None if none reported a count.
    """

    rows_before: int | None

    def applied_to(self, item: HealthItem) -> HealthItem:
        """Return the health item of the dataset with the count, status and reason."""
        if self.rows_before is None:
            reason = "the newest write replaced all rows with 0 rows; no earlier write reports its row count"
            status: Status = "unknown" if item.status == "ok" else item.status
        else:
            reason = f"emptied: the newest write replaced all rows with 0 rows, an earlier one wrote {self.rows_before}"
            status = "failed"
        return replace(item, status=status, reason=f"{reason}; {item.reason}", rows=0, rows_before=self.rows_before)


def replaced_tables(live: LiveGraph, reader: HealthReader, names: Iterable[Name]) -> dict[Name, ReplacedTable]:
    """Return the datasets whose newest write replaced all rows. live: locked to one generation during the call."""
    history, found = RunHistory(live), {}
    for name in names:
        outputs = reader.times.outputs(name)
        writes = reader.times.of_outputs(outputs)[:_WRITES]
        if writes and reader.times.rewrites(writes[0].run, outputs):
            places = [history.places(reader.times.run_key(write.run), _EVENTS) for write in writes]
            found[name] = ReplacedTable(places)
    return found


def emptied_tables(
    bronze: Bronze, names: NameRules, candidates: Mapping[Name, ReplacedTable]
) -> dict[Name, EmptiedTable]:
    """Return the emptied datasets. This reads bronze, so call it while no other question waits for the index."""
    if not candidates or not bronze.exists():
        return {}
    newest = events_at(bronze, set().union(*(each.writes[0] for each in candidates.values())))
    zero = {name: each for name, each in candidates.items() if _rows(newest, each.writes[0], name, names) == 0}
    before = set[Place]().union(*(places for each in zero.values() for places in each.writes[1:]))
    older = events_at(bronze, before) if before else {}
    found: dict[Name, EmptiedTable] = {}
    for name, each in zero.items():
        counts = [_rows(older, places, name, names) for places in each.writes[1:]]
        rows = next((count for count in counts if count), None)
        if rows is not None or (counts and all(count is None for count in counts)):
            found[name] = EmptiedTable(rows)
    return found


def _rows(events: Mapping[Place, StoredBody], places: set[Place], name: Name, names: NameRules) -> int | None:
    counts = (rows_in(events[place].body, name, names) for place in places if place in events)
    return max((rows for rows in counts if rows is not None), default=None)
