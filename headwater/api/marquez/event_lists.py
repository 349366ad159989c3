"""Events as they were sent, by time; and how many there were."""

import sqlite3
from typing import Any

from msgspec import Raw

from headwater.api.marquez.bodies import read_events
from headwater.api.marquez.requests import Asked, Refused, time_us
from headwater.api.marquez.run_answers import Later
from headwater.index.stored.event_table import QUARTER_US
from headwater.index.stored.facet_names_table import Place
from headwater.lake.bronze_tables import Bronze

_BEGINNING, _END = -(1 << 62), 1 << 62


def list_events(asked: Asked) -> Later:
    """GET /events/lineage: run events between `after` and `before`, newest first or with `sortDirection=asc` oldest.

    Marquez's page takes `run` of each, which events of jobs and datasets do not have.
    """
    page = asked.page()
    after, before = time_us(asked.query, "after"), time_us(asked.query, "before")
    span = (_BEGINNING if after is None else after, _END if before is None else before)
    rows = asked.catalog.sql.execute(
        "SELECT s.log, s.incarnation, s.part, h.sequence FROM happened h JOIN places s ON s.id = h.place "
        f"WHERE h.time_us >= ? AND h.time_us < ? ORDER BY h.time_us {_order(asked)}, h.place {_order(asked)}, "
        f"h.sequence {_order(asked)} LIMIT ? OFFSET ?",
        (*span, page.limit, page.offset),
    ).fetchall()
    total = count(asked.catalog.sql, *span)
    return lambda bronze: page.listed("events", _bodies(bronze, rows), total)


def list_events_of(asked: Asked) -> Later:
    """GET /events/{namespace}: events of the jobs of a namespace, newest first; the Python client asks for them."""
    page, namespace = asked.page(), asked.namespace()
    where = (
        "FROM parts p JOIN runs r ON r.run = p.run JOIN names n ON n.id = r.job JOIN places s ON s.id = p.place "
        "WHERE n.namespace = ?"
    )
    sql = asked.catalog.sql
    rows = sql.execute(
        f"SELECT s.log, s.incarnation, s.part, p.sequence {where} "
        "ORDER BY r.time_us DESC, p.sequence DESC LIMIT ? OFFSET ?",
        (namespace, page.limit, page.offset),
    ).fetchall()
    total = sql.execute(f"SELECT count(*) {where}", (namespace,)).fetchone()[0]
    return lambda bronze: page.listed("events", _bodies(bronze, rows), total)


def _order(asked: Asked) -> str:
    text = asked.query.get("sortDirection", "desc").lower()
    if text not in ("asc", "desc"):
        message = f"query param sortDirection must be one of [DESC, ASC]; {text[:40]!r} is none."
        raise Refused(400, {"code": 400, "message": message})
    return text


def _bodies(bronze: Bronze, places: list[Place]) -> list[Any]:
    found = read_events(bronze, places) if places else {}
    return [Raw(found[place].body.encode()) for place in places if place in found]


def count(sql: sqlite3.Connection, after_us: int, before_us: int) -> int:
    """Count the run events of a time: whole quarters of an hour by their counters, what is left one by one."""
    first, last = -(-after_us // QUARTER_US), before_us // QUARTER_US
    one_by_one = "SELECT count(*) FROM happened WHERE time_us >= ? AND time_us < ?"
    if last <= first:
        return int(sql.execute(one_by_one, (after_us, before_us)).fetchone()[0])
    whole = (
        "SELECT coalesce(sum(events), 0) FROM quarters WHERE quarter >= ? AND quarter < ? "
        "AND type NOT IN ('JOB', 'DATASET')"
    )
    edges = ((after_us, first * QUARTER_US), (last * QUARTER_US, before_us))
    return int(sql.execute(whole, (first, last)).fetchone()[0]) + sum(
        int(sql.execute(one_by_one, edge).fetchone()[0]) for edge in edges
    )
