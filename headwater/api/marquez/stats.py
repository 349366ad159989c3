"""Statistics for Marquez's dashboard: of a day by hour, or of a week by day in a time zone."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.api.marquez.requests import RequestContext, invalid, required, zone
from headwater.events.times import iso
from headwater.index.reading.catalog import CatalogLists
from headwater.index.stored.database import DATASET, JOB

_COUNTED = {"START": "start", "COMPLETE": "complete", "FAIL": "fail", "ABORT": "abort"}
Interval = tuple[int, int]


def intervals(context: RequestContext) -> list[Interval]:
    """Return the requested intervals (us, UTC), the current one last."""
    period = required(context.query, "period").upper()
    if period == "DAY":
        hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        edges = [hour - timedelta(hours=23 - number) for number in range(25)]
    elif period == "WEEK":
        required(context.query, "timezone")
        day = datetime.now(zone(context.query)).replace(hour=0, minute=0, second=0, microsecond=0)
        edges = [day - timedelta(days=6 - number) for number in range(8)]  # wall time: a day can have 23 hours
    else:
        raise invalid("period", "must be one of [DAY, WEEK]")
    times = [int(edge.timestamp()) * 1_000_000 for edge in edges]
    return list(itertools.pairwise(times))


def lineage_events(context: RequestContext) -> list[dict[str, Any]]:
    """GET /stats/lineage-events: events by type."""
    return [
        {**_named(span), **dict.fromkeys(("fail", "start", "complete", "abort"), 0), **_by_type(context, span)}
        for span in intervals(context)
    ]


def _by_type(context: RequestContext, span: Interval) -> dict[str, int]:
    return {_COUNTED[kind]: events for kind, events in context.catalog.events.by_type(*span) if kind in _COUNTED}


def cumulative(count: Callable[[CatalogLists, int], int]) -> Callable[[RequestContext], list[dict[str, Any]]]:
    """Return a handler that counts objects at the end of each interval."""
    return lambda context: [
        {**_named(span), "count": count(context.catalog.lists, span[1])} for span in intervals(context)
    ]


jobs = cumulative(lambda lists, until_us: lists.count(JOB, until_us))
datasets = cumulative(lambda lists, until_us: lists.count(DATASET, until_us))
sources = cumulative(CatalogLists.count_sources)


def _named(span: Interval) -> dict[str, Any]:
    return {"startInterval": iso(span[0]), "endInterval": iso(span[1])}
