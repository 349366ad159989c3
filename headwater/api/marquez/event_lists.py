"""Lists of events as sent, by time."""

# ruff: noqa: N815 - members are called as OpenLineage calls them

from typing import Any

from msgspec import Raw, Struct, json

from headwater.api.marquez.java_texts import uri_text, utc_text
from headwater.api.marquez.requests import MarquezError, RequestContext, time_us
from headwater.api.marquez.run_answers import DeferredAnswer
from headwater.events.times import iso
from headwater.index.stored.events import Place
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_at


class _Texts(Struct):
    """The members of an event that Marquez's Java client parses as time or URI."""

    eventTime: Any = None
    producer: Any = None
    schemaURL: Any = None


_texts_of = json.Decoder(_Texts).decode
_members_of = json.Decoder(dict[str, Raw]).decode


def list_events(context: RequestContext) -> DeferredAnswer:
    """GET /events/lineage: run events between `after` and `before`, newest first; `sortDirection=asc` for oldest first.

    Marquez's page reads `run` of each event, so events of jobs and datasets are omitted.
    """
    page = context.page()
    after, before = time_us(context.query, "after"), time_us(context.query, "before")
    places, total = context.catalog.events.of_runs(after, before, _order(context), page.limit, page.offset)
    return lambda bronze: page.listed("events", _bodies(bronze, places), total)


def list_events_of(context: RequestContext) -> DeferredAnswer:
    """GET /events/{namespace}: events of the jobs in a namespace, newest first. The Python client uses it."""
    page = context.page()
    places, total = context.catalog.events.of_namespace(context.namespace(), page.limit, page.offset)
    return lambda bronze: page.listed("events", _bodies(bronze, places), total)


def _order(context: RequestContext) -> str:
    text = context.query.get("sortDirection", "desc").lower()
    if text not in ("asc", "desc"):
        message = f"query param sortDirection must be one of [DESC, ASC], not {text[:40]!r}."
        raise MarquezError(400, {"code": 400, "message": message})
    return text


def _bodies(bronze: Bronze, places: list[Place]) -> list[Any]:
    found = events_at(bronze, places) if places else {}
    return [_readable(found[place]) for place in places if place in found]


def _readable(stored: StoredBody) -> Raw | dict[str, Any]:
    """Return an event as sent, except for a time or URI that Marquez's Java client cannot parse.

    An event without a time gets the time of its receipt.
    """
    body = stored.body.encode()
    sent = _texts_of(body)
    texts = {name: getattr(sent, name) for name in ("producer", "schemaURL")}
    readable = {name: uri_text(text) for name, text in texts.items() if isinstance(text, str)}
    readable["eventTime"] = utc_text(sent.eventTime) or iso(stored.received_us) or ""
    changed = {name: text for name, text in readable.items() if text != getattr(sent, name)}
    return {**_members_of(body), **changed} if changed else Raw(body)
