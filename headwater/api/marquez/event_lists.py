"""Events as they were sent, by time; and how many there were."""

# ruff: noqa: N815 - members are called as OpenLineage calls them

from typing import Any

from msgspec import Raw, Struct, json

from headwater.api.marquez.java_texts import uri_text, utc_text
from headwater.api.marquez.requests import Asked, Refused, time_us
from headwater.api.marquez.run_answers import Later
from headwater.events.times import iso
from headwater.index.stored.facet_names_table import Place
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_at


class _Texts(Struct):
    """What of an event Marquez's Java client reads as something else than text."""

    eventTime: Any = None
    producer: Any = None
    schemaURL: Any = None


_texts_of = json.Decoder(_Texts).decode
_members_of = json.Decoder(dict[str, Raw]).decode


def list_events(asked: Asked) -> Later:
    """GET /events/lineage: run events between `after` and `before`, newest first or with `sortDirection=asc` oldest.

    Marquez's page takes `run` of each, which events of jobs and datasets do not have.
    """
    page = asked.page()
    after, before = time_us(asked.query, "after"), time_us(asked.query, "before")
    places, total = asked.catalog.events.of_runs(after, before, _order(asked), page.limit, page.offset)
    return lambda bronze: page.listed("events", _bodies(bronze, places), total)


def list_events_of(asked: Asked) -> Later:
    """GET /events/{namespace}: events of the jobs of a namespace, newest first; the Python client asks for them."""
    page = asked.page()
    places, total = asked.catalog.events.of_namespace(asked.namespace(), page.limit, page.offset)
    return lambda bronze: page.listed("events", _bodies(bronze, places), total)


def _order(asked: Asked) -> str:
    text = asked.query.get("sortDirection", "desc").lower()
    if text not in ("asc", "desc"):
        message = f"query param sortDirection must be one of [DESC, ASC]; {text[:40]!r} is none."
        raise Refused(400, {"code": 400, "message": message})
    return text


def _bodies(bronze: Bronze, places: list[Place]) -> list[Any]:
    found = events_at(bronze, places) if places else {}
    return [_readable(found[place]) for place in places if place in found]


def _readable(stored: StoredBody) -> Raw | dict[str, Any]:
    """Return an event as it was sent, but for a time or an address that Marquez's Java client could not read.

    An event without a time is of the time when it was received.
    """
    body = stored.body.encode()
    sent = _texts_of(body)
    texts = {name: getattr(sent, name) for name in ("producer", "schemaURL")}
    told = {name: uri_text(text) for name, text in texts.items() if isinstance(text, str)}
    told["eventTime"] = utc_text(sent.eventTime) or iso(stored.received_us) or ""
    mended = {name: text for name, text in told.items() if text != getattr(sent, name)}
    return {**_members_of(body), **mended} if mended else Raw(body)
