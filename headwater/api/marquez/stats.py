"""The figures of Marquez's dashboard: a day by the hour, or a week by the day of a time zone."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.api.marquez.requests import Asked, invalid, required, zone
from headwater.events.times import iso
from headwater.index.reading.catalog_lists import CatalogLists
from headwater.index.stored.catalog_tables import DATASET, JOB

_COUNTED = {"START": "start", "COMPLETE": "complete", "FAIL": "fail", "ABORT": "abort"}
Interval = tuple[int, int]


def intervals(asked: Asked) -> list[Interval]:
    """Return the intervals (us, UTC) that are asked for, the present one last."""
    period = required(asked.query, "period").upper()
    if period == "DAY":
        hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        edges = [hour - timedelta(hours=23 - number) for number in range(25)]
    elif period == "WEEK":
        required(asked.query, "timezone")
        day = datetime.now(zone(asked.query)).replace(hour=0, minute=0, second=0, microsecond=0)
        edges = [day - timedelta(days=6 - number) for number in range(8)]  # by the clock: a day may have 23 hours
    else:
        raise invalid("period", "must be one of [DAY, WEEK]")
    times = [int(edge.timestamp()) * 1_000_000 for edge in edges]
    return list(itertools.pairwise(times))


def lineage_events(asked: Asked) -> list[dict[str, Any]]:
    """GET /stats/lineage-events: events by type."""
    return [
        {**_named(span), **dict.fromkeys(("fail", "start", "complete", "abort"), 0), **_by_type(asked, span)}
        for span in intervals(asked)
    ]


def _by_type(asked: Asked, span: Interval) -> dict[str, int]:
    return {_COUNTED[kind]: events for kind, events in asked.catalog.events.by_type(*span) if kind in _COUNTED}


def cumulative(count: Callable[[CatalogLists, int], int]) -> Callable[[Asked], list[dict[str, Any]]]:
    """Return what answers how many of something there were by the end of each interval."""
    return lambda asked: [{**_named(span), "count": count(asked.catalog.lists, span[1])} for span in intervals(asked)]


jobs = cumulative(lambda lists, until_us: lists.count(JOB, until_us))
datasets = cumulative(lambda lists, until_us: lists.count(DATASET, until_us))
sources = cumulative(CatalogLists.count_sources)


def _named(span: Interval) -> dict[str, Any]:
    return {"startInterval": iso(span[0]), "endInterval": iso(span[1])}
