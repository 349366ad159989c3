"""Tables that a write emptied: the newest write replaced all rows with 0 rows, and a write before it had some."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_history import RunHistory
from headwater.index.stored.facet_names_table import Place
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_at
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.questions.answers.health_answers import HealthItem, Status
from headwater.questions.health_reader import HealthReader
from headwater.questions.run_details import rows_in

_WRITES = 6
"""Newest writes of a dataset whose rows are compared."""

_EVENTS = 5
"""Newest events of a run that are read for how many rows it wrote."""


class Rewritten(NamedTuple):
    """Where bronze has the events of a dataset's newest writes, the newest first; that one replaced all rows."""

    writes: list[set[Place]]


class Emptied(NamedTuple):
    """rows_before: of the newest write before that had some; None: the writes before reported no counts."""

    rows_before: int | None

    def shown(self, item: HealthItem) -> HealthItem:
        """Return an item whose newest write emptied it, with the count and the change."""
        if self.rows_before is None:
            reason = "the newest write replaced all rows with 0 rows; how many there were before is not reported"
            status: Status = "unknown" if item.status == "ok" else item.status
        else:
            reason = f"emptied: the newest write replaced all rows with 0 rows, {self.rows_before} were written before"
            status = "failed"
        return replace(item, status=status, reason=f"{reason}; {item.reason}", rows=0, rows_before=self.rows_before)


def rewritten(live: LiveGraph, reader: HealthReader, names: Iterable[Name]) -> dict[Name, Rewritten]:
    """Return those of some datasets whose newest write replaced all rows; live: at rest while this runs."""
    history, found = RunHistory(live), {}
    for name in names:
        outputs = reader.times.outputs(name)
        writes = reader.times.of_outputs(outputs)[:_WRITES]
        if writes and reader.times.rewrites(writes[0].run, outputs):
            places = [history.places(reader.times.run_key(write.run), _EVENTS) for write in writes]
            found[name] = Rewritten(places)
    return found


def emptied(bronze: Bronze, names: NameRules, candidates: Mapping[Name, Rewritten]) -> dict[Name, Emptied]:
    """Return what was emptied; reads bronze, so call it while no other question waits for the index."""
    if not candidates or not bronze.exists():
        return {}
    newest = events_at(bronze, set().union(*(each.writes[0] for each in candidates.values())))
    zero = {name: each for name, each in candidates.items() if _rows(newest, each.writes[0], name, names) == 0}
    before = set[Place]().union(*(places for each in zero.values() for places in each.writes[1:]))
    older = events_at(bronze, before) if before else {}
    found: dict[Name, Emptied] = {}
    for name, each in zero.items():
        counts = [_rows(older, places, name, names) for places in each.writes[1:]]
        rows = next((count for count in counts if count), None)
        if rows is not None or (counts and all(count is None for count in counts)):
            found[name] = Emptied(rows)
    return found


def _rows(events: Mapping[Place, StoredBody], places: set[Place], name: Name, names: NameRules) -> int | None:
    counts = (rows_in(events[place].body, name, names) for place in places if place in events)
    return max((rows for rows in counts if rows is not None), default=None)
