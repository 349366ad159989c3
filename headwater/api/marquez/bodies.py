"""Events as bronze has them, by their places."""

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.events.decode import decode
from headwater.events.facet_sets import text_at
from headwater.events.times import parse_time
from headwater.lake.bronze import Bronze

Place = tuple[str, str, str, int]
"""Log, incarnation, partition, sequence."""

_RANK = {"START": 0, "RUNNING": 1, "COMPLETE": 2, "FAIL": 2, "ABORT": 2}


def read_bodies(bronze: Bronze, places: Iterable[Place]) -> dict[Place, str]:
    """Return the bodies of events; those that bronze has no more are left out."""
    by_partition: dict[tuple[str, str, str], list[int]] = {}
    for *partition, sequence in places:
        by_partition.setdefault((partition[0], partition[1], partition[2]), []).append(sequence)
    found: dict[Place, str] = {}
    for (log, incarnation, part), sequences in by_partition.items():
        rows = bronze.events.query(
            "SELECT sequence, body FROM t "
            f"WHERE log = '{log}' AND incarnation = '{incarnation}' AND partition = '{part}' "
            f"AND sequence BETWEEN {min(sequences)} AND {max(sequences)} "
            f"AND sequence IN ({','.join(map(str, sequences))})"
        ).to_pylist()
        found.update({(log, incarnation, part, row["sequence"]): row["body"] for row in rows})
    return found


def newest_facets(bodies: Iterable[str], entity: str) -> dict[str, Any]:
    """Return the facets of a run or job as its events say together: of each the newest value, none that was deleted."""
    events = sorted((decode(body.encode()) for body in bodies), key=_order)
    found: dict[str, Any] = {}
    for event in events:
        part = event.get(entity)
        facets = part.get("facets") if isinstance(part, Mapping) else None
        if isinstance(facets, dict):
            found |= {name: facet for name, facet in facets.items() if facet is not None}
    return {
        name: facet for name, facet in found.items() if not (isinstance(facet, dict) and facet.get("_deleted") is True)
    }


def _order(event: Mapping[str, Any]) -> tuple[int, int]:
    kind, time = event.get("eventType"), text_at(event, "eventTime")
    return (parse_time(time)[0] or 0) if time else 0, _RANK.get(kind, 3) if isinstance(kind, str) else 3
