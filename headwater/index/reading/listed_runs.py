"""Pages of all runs, filtered by state, job and time, and sorted by any displayed field."""

from typing import Any, NamedTuple

from headwater.common.paging import ListOrder, ListPage, ResultPage
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.writing.announced_changes import NAMESPACE
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.lost_runs import lost_sql

LOST = "LOST"
"""A state to filter by: runs without a terminal event that have sent no event for long (rule 1.9)."""

_NOTHING = -(1 << 62)
_ORDER = ListOrder[str](
    "runs",
    {
        "time": "r.time_us", "started": f"coalesce(r.started_us, {_NOTHING})",
        "ended": f"coalesce(r.ended_us, {_NOTHING})",
        "duration": "coalesce(nullif(max(r.ended_us - r.started_us, 0), 0), -1)", "state": "r.state", "job": "n.name",
        "namespace": "n.namespace", "id": "k.key",
    },
    "-time",
    ties=1,
)  # fmt: skip
_SHOWN = "k.key, j.shown, r.state, r.processing, r.started_us, r.ended_us, r.time_us"
_NAMED = "runs r JOIN jobs j ON j.key = r.job_key JOIN names n ON n.id = j.shown JOIN run_keys k ON k.id = r.run"
_OF_JOBS = "r.job_key {} (SELECT j.key FROM jobs j JOIN names n ON n.id = j.shown WHERE {})"
_SENT_AS = "r.sent_job IN (SELECT n.id FROM names n WHERE {})"
_HAVING = (
    "(r.job_key IN (SELECT j.key FROM jobs j JOIN names n ON n.id = j.shown "
    "WHERE instr(folded(n.name), ?) OR instr(folded(n.namespace), ?)) "
    "OR r.run IN (SELECT id FROM run_keys WHERE instr(lower(key), ?)))"
)


class RunsAsked(NamedTuple):
    """A filter for runs. state: a state of runs, or LOST.

    since_us, until_us: range of the newest event; the end is excluded.
    """

    namespace: str | None
    job: str | None
    state: str | None
    since_us: int | None
    until_us: int | None


class ListedRun(NamedTuple):
    """A run in a list. time_us: time of its newest event. Times are in microseconds, UTC."""

    key: str
    job: Name
    state: str
    processing: str
    started_us: int
    ended_us: int | None
    time_us: int


def listed_runs(live: LiveGraph, asked: RunsAsked, page: ListPage, now_us: int) -> ResultPage[ListedRun]:
    """Return a page of runs. Raises WrongQuestion if the sort order or the cursor is invalid."""
    order = _ORDER.page_order(page)
    live.sql.create_function("folded", 1, str.casefold, deterministic=True)
    where, values = _conditions(asked, page.folded, now_us)
    total = live.sql.execute(f"SELECT count(*) FROM runs r WHERE {where}", values).fetchone()[0]
    direction, beyond = ("DESC", "<") if order.descending else ("ASC", ">")
    if order.after is not None:
        value, tie = order.after
        where = f"{where} AND {order.key} {beyond}= ? AND ({order.key} {beyond} ? OR r.run > ?)"
        values += [value, value, tie]
    rows = live.sql.execute(
        f"SELECT {order.key}, r.run, {_SHOWN} FROM {_NAMED} WHERE {where} "
        f"ORDER BY {order.key} {direction}, r.run LIMIT ?",
        (*values, page.limit + 1),
    ).fetchall()
    shown = rows[: page.limit]
    found = [ListedRun(key, live.names.name(job), *run) for _, _, key, job, *run in shown]
    return ResultPage(found, total, _ORDER.cursor(order, shown[-1][:2]) if len(rows) > len(shown) > 0 else None)


def _conditions(asked: RunsAsked, text: str, now_us: int) -> tuple[str, list[Any]]:
    of_job = [
        (condition, value)
        for condition, value in (
            ("n.namespace = ?", asked.namespace),
            ("? IN (n.name, n.namespace || '/' || n.name)", asked.job),
        )
        if value
    ]
    found: list[tuple[str, list[Any]]] = [
        ("r.kind = 'RUN'", []),
        (_OF_JOBS.format("NOT IN", "n.namespace = ?"), [NAMESPACE]),
    ]
    if of_job:
        named = " AND ".join(each for each, _ in of_job)
        sent = _SENT_AS.format(named)
        found.append((f"({_OF_JOBS.format('IN', named)} OR {sent})", [value for _, value in of_job] * 2))
    if asked.state:
        lost = lost_sql("r.time_us", "?", table="r")
        found.append((lost, [now_us]) if asked.state == LOST else ("r.state = ?", [asked.state]))
    found += [("r.time_us >= ?", [asked.since_us])] if asked.since_us is not None else []
    found += [("r.time_us < ?", [asked.until_us])] if asked.until_us is not None else []
    found += [(_HAVING, [text] * 3)] if text else []
    return " AND ".join(each for each, _ in found), [value for _, values in found for value in values]
