"""Events as they were sent, by time; and how many there were."""

from typing import Any

from msgspec import Raw

from headwater.api.marquez.requests import Asked, Refused, time_us
from headwater.api.marquez.run_answers import Later
from headwater.index.stored.facet_names_table import Place
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import events_at


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
    return [Raw(found[place].body.encode()) for place in places if place in found]
