"""How runs of worlds write, and for which period: added by checksums, so that worlds stay what they were."""

import zlib
from collections.abc import Sequence

from tests.reference.world_events import Json, at, facet


def add_writes(events: Sequence[Json]) -> None:
    """Give some runs a period, some outputs a change of their lifecycle, some names a partition."""
    many = len(events)
    above = {run for event in events for run in _above(event)}
    for event in events:
        if "run" not in event:
            continue
        run = event["run"]["runId"].lower()
        chance = zlib.crc32(f"{run} {many}".encode())
        if chance % 4 == 0 and run not in above:
            days = -(chance // 4 % 3)
            period = facet(nominalStartTime=at(days * 86_400), nominalEndTime=at(chance // 16 % 40))
            event["run"]["facets"] = {**(event["run"].get("facets") or {}), "nominalTime": period}
        for number, named in enumerate(event.get("outputs") or []):
            _add_write(named, zlib.crc32(f"{run} {many} {number}".encode()))


def _above(event: Json) -> list[str]:
    """Return the runs that a run is part of."""
    told = ((event.get("run") or {}).get("facets") or {}).get("parent") or {}
    return [each["run"]["runId"].lower() for each in (told, told.get("root") or {}) if each.get("run")]


def _add_write(named: Json, chance: int) -> None:
    if chance % 5 == 0 and "lifecycleStateChange" not in (named.get("facets") or {}):
        change = ("OVERWRITE", "CREATE", "OVERWRITE", "TRUNCATE")[chance // 5 % 4]
        named["facets"] = {**(named.get("facets") or {}), "lifecycleStateChange": facet(lifecycleStateChange=change)}
    if chance % 17 == 0 and named["namespace"].startswith("abfss://"):
        named["name"] += "/day=1"
