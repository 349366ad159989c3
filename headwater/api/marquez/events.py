"""Events as sent, by time, and the statistics of Marquez's dashboard: one day by hour, or one week by day."""

# ruff: noqa: N815 - members are called as OpenLineage calls them

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Raw, Struct, json

from headwater.api.marquez.requests import (
    MarquezError,
    RequestContext,
    invalid_parameter_error,
    parse_time_us,
    parse_time_zone,
    required_parameter,
)
from headwater.api.marquez.runs import DeferredAnswer
from headwater.api.marquez.texts import uri_text, utc_text
from headwater.events.times import iso_time
from headwater.index.reading.catalog import CatalogLists
from headwater.index.stored.database import DATASET, JOB
from headwater.index.stored.events import EventPlace
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_at

_members_of = json.Decoder(dict[str, Raw]).decode
_COUNTED = {"START": "start", "COMPLETE": "complete", "FAIL": "fail", "ABORT": "abort"}
Interval = tuple[int, int]


class _CheckedTexts(Struct):
    """The members of an event that Marquez's Java client parses as a time or a URI."""

    eventTime: Any = None
    producer: Any = None
    schemaURL: Any = None


_texts_of = json.Decoder(_CheckedTexts).decode


def list_events(context: RequestContext) -> DeferredAnswer:
    """GET /events/lineage: run events between `after` and `before`, newest first; `sortDirection=asc` for oldest first.

    Marquez's page reads `run` of each event, so events of jobs and datasets are omitted.
    """
    page = context.list_range()
    after, before = parse_time_us(context.query, "after"), parse_time_us(context.query, "before")
    places, total = context.catalog.events.run_events(after, before, _sort_direction(context), page.limit, page.offset)
    return lambda bronze: page.list_answer("events", _read_bodies(bronze, places), total)


def list_namespace_events(context: RequestContext) -> DeferredAnswer:
    """GET /events/{namespace}: events of the jobs in a namespace, newest first. The Python client uses it."""
    page = context.list_range()
    places, total = context.catalog.events.namespace_events(context.namespace(), page.limit, page.offset)
    return lambda bronze: page.list_answer("events", _read_bodies(bronze, places), total)


def _sort_direction(context: RequestContext) -> str:
    text = context.query.get("sortDirection", "desc").lower()
    if text not in ("asc", "desc"):
        message = f"query param sortDirection must be one of [DESC, ASC], not {text[:40]!r}."
        raise MarquezError(400, {"code": 400, "message": message})
    return text


def _read_bodies(bronze: Bronze, places: list[EventPlace]) -> list[Any]:
    found = events_at(bronze, places) if places else {}
    return [_readable_by_marquez_client(found[place]) for place in places if place in found]


def _readable_by_marquez_client(stored: StoredBody) -> Raw | dict[str, Any]:
    """Return an event as sent, except for a time or URI that Marquez's Java client cannot parse.

    An event without a time gets the time of its receipt.
    """
    body = stored.body.encode()
    sent = _texts_of(body)
    texts = {name: getattr(sent, name) for name in ("producer", "schemaURL")}
    readable = {name: uri_text(text) for name, text in texts.items() if isinstance(text, str)}
    readable["eventTime"] = utc_text(sent.eventTime) or iso_time(stored.received_us) or ""
    changed = {name: text for name, text in readable.items() if text != getattr(sent, name)}
    return {**_members_of(body), **changed} if changed else Raw(body)


def _intervals(context: RequestContext) -> list[Interval]:
    """Return the requested intervals (us, UTC), the current one last."""
    period = required_parameter(context.query, "period").upper()
    if period == "DAY":
        hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        edges = [hour - timedelta(hours=23 - number) for number in range(25)]
    elif period == "WEEK":
        required_parameter(context.query, "timezone")
        day = datetime.now(parse_time_zone(context.query)).replace(hour=0, minute=0, second=0, microsecond=0)
        edges = [day - timedelta(days=6 - number) for number in range(8)]  # local days; a day can have 23 hours
    else:
        raise invalid_parameter_error("period", "must be one of [DAY, WEEK]")
    times = [int(edge.timestamp()) * 1_000_000 for edge in edges]
    return list(itertools.pairwise(times))


def count_events(context: RequestContext) -> list[dict[str, Any]]:
    """GET /stats/lineage-events: events by type."""
    return [
        {
            **_interval_members(span),
            **dict.fromkeys(("fail", "start", "complete", "abort"), 0),
            **_count_by_type(context, span),
        }
        for span in _intervals(context)
    ]


def _count_by_type(context: RequestContext, span: Interval) -> dict[str, int]:
    return {_COUNTED[kind]: events for kind, events in context.catalog.events.count_by_type(*span) if kind in _COUNTED}


def _cumulative_counts_handler(
    count: Callable[[CatalogLists, int], int],
) -> Callable[[RequestContext], list[dict[str, Any]]]:
    """Return a handler that counts objects at the end of each interval."""
    return lambda context: [
        {**_interval_members(span), "count": count(context.catalog.lists, span[1])} for span in _intervals(context)
    ]


count_jobs = _cumulative_counts_handler(lambda lists, until_us: lists.count_entities(JOB, until_us))
count_datasets = _cumulative_counts_handler(lambda lists, until_us: lists.count_entities(DATASET, until_us))
count_sources = _cumulative_counts_handler(CatalogLists.count_sources)


def _interval_members(span: Interval) -> dict[str, Any]:
    return {"startInterval": iso_time(span[0]), "endInterval": iso_time(span[1])}
