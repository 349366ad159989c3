"""Lists of runs: pages filtered by state, job and time, failed and lost runs, and counts of states over time."""

from typing import Any, NamedTuple

from headwater.common.paging import ListOrder, ListPage, ResultPage
from headwater.index.api_changes import NAMESPACE
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.lost_runs import lost_run_condition

LOST = "LOST"
"""A value of `RunFilter.state`: runs without a terminal event that have sent no event for a long time (rule 1.9)."""

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
_COLUMNS = "k.key, j.display_name, r.state, r.processing, r.started_us, r.ended_us, r.time_us"
_RUNS_AND_JOBS = (
    "runs r JOIN jobs j ON j.key = r.job_key JOIN names n ON n.id = j.display_name JOIN run_keys k ON k.id = r.run"
)
_JOB_CONDITION = "r.job_key {} (SELECT j.key FROM jobs j JOIN names n ON n.id = j.display_name WHERE {})"
_SENT_JOB_CONDITION = "r.sent_job IN (SELECT n.id FROM names n WHERE {})"
_CONTAINS_TEXT = (
    "(r.job_key IN (SELECT j.key FROM jobs j JOIN names n ON n.id = j.display_name "
    "WHERE instr(folded(n.name), ?) OR instr(folded(n.namespace), ?)) "
    "OR r.run IN (SELECT id FROM run_keys WHERE instr(lower(key), ?)))"
)


class RunFilter(NamedTuple):
    """A filter for runs. None in a field means that the field does not filter.

    namespace: the namespace of the job. job: a job name, or `namespace/name`. state: a state of runs, or LOST.
    since_us, until_us: a range of the run's newest event (us, UTC); the end is excluded.
    """

    namespace: str | None
    job: str | None
    state: str | None
    since_us: int | None
    until_us: int | None


class ListedRun(NamedTuple):
    """A run in a list. time_us: the time of its newest event. Times are in microseconds, UTC."""

    key: str
    job: Name
    state: str
    processing: str
    started_us: int
    ended_us: int | None
    time_us: int


def listed_runs(live: LiveGraph, run_filter: RunFilter, page: ListPage, now_us: int) -> ResultPage[ListedRun]:
    """Return a page of runs. Raises WrongQuestion if the sort order or the cursor is invalid.

    now_us: the current time, which decides which runs are lost.
    """
    order = _ORDER.page_order(page)
    live.sql.create_function("folded", 1, str.casefold, deterministic=True)
    where, values = _sql_conditions(run_filter, page.folded_text, now_us)
    total = live.sql.execute(f"SELECT count(*) FROM runs r WHERE {where}", values).fetchone()[0]
    direction, beyond = ("DESC", "<") if order.descending else ("ASC", ">")
    if order.after is not None:
        value, tie = order.after
        where = f"{where} AND {order.key} {beyond}= ? AND ({order.key} {beyond} ? OR r.run > ?)"
        values += [value, value, tie]
    rows = live.sql.execute(
        f"SELECT {order.key}, r.run, {_COLUMNS} FROM {_RUNS_AND_JOBS} WHERE {where} "
        f"ORDER BY {order.key} {direction}, r.run LIMIT ?",
        (*values, page.limit + 1),
    ).fetchall()
    shown = rows[: page.limit]
    found = [ListedRun(key, live.names.name(job), *run) for _, _, key, job, *run in shown]
    return ResultPage(found, total, _ORDER.cursor(order, shown[-1][:2]) if len(rows) > len(shown) > 0 else None)


def _sql_conditions(run_filter: RunFilter, text: str, now_us: int) -> tuple[str, list[Any]]:
    of_job = [
        (condition, value)
        for condition, value in (
            ("n.namespace = ?", run_filter.namespace),
            ("? IN (n.name, n.namespace || '/' || n.name)", run_filter.job),
        )
        if value
    ]
    found: list[tuple[str, list[Any]]] = [
        ("r.kind = 'RUN'", []),
        (_JOB_CONDITION.format("NOT IN", "n.namespace = ?"), [NAMESPACE]),
    ]
    if of_job:
        named = " AND ".join(each for each, _ in of_job)
        sent = _SENT_JOB_CONDITION.format(named)
        found.append((f"({_JOB_CONDITION.format('IN', named)} OR {sent})", [value for _, value in of_job] * 2))
    if run_filter.state:
        lost = lost_run_condition("r.time_us", "?", table="r")
        found.append((lost, [now_us]) if run_filter.state == LOST else ("r.state = ?", [run_filter.state]))
    found += [("r.time_us >= ?", [run_filter.since_us])] if run_filter.since_us is not None else []
    found += [("r.time_us < ?", [run_filter.until_us])] if run_filter.until_us is not None else []
    found += [(_CONTAINS_TEXT, [text] * 3)] if text else []
    return " AND ".join(each for each, _ in found), [value for _, values in found for value in values]


_SHOWN = 20
_RUNS = (
    "SELECT k.key, r.job, r.state, r.started_us, r.ended_us, r.time_us FROM runs r JOIN run_keys k ON k.id = r.run "
    "WHERE kind = 'RUN' AND"
)
_NEWEST = f"ORDER BY time_us DESC LIMIT {_SHOWN}"
_LOST = lost_run_condition("time_us", "?")


class FailedOrLostRun(NamedTuple):
    """A failed, aborted or lost run. job: the display name. Times are in microseconds, UTC."""

    run: str
    job: Name
    state: str
    started_us: int
    ended_us: int | None
    time_us: int


def state_counts_by_bucket(live: LiveGraph, since_us: int, bucket_us: int, until_us: int) -> list[tuple[str, int, int]]:
    """Return (state, bucket number, number of runs). A run belongs to the bucket of its newest event.

    since_us: the start of bucket 0 (us). bucket_us: the length of a bucket. until_us: the end, which is excluded.
    """
    return live.sql.execute(
        "SELECT state, (time_us - ?1) / ?2, count(*) FROM runs "
        "WHERE kind = 'RUN' AND time_us >= ?1 AND time_us < ?3 GROUP BY 1, 2",
        (since_us, bucket_us, until_us),
    ).fetchall()


def failed_runs(live: LiveGraph, since_us: int, until_us: int) -> list[FailedOrLostRun]:
    """Return the newest failed or aborted runs with times in [since, until) (us, UTC), at most 20, newest first."""
    query = f"{_RUNS} time_us >= ? AND time_us < ? AND state IN ('FAIL', 'ABORT') {_NEWEST}"
    return _query_failed_runs(live, query, since_us, until_us)


def lost_runs(live: LiveGraph, now_us: int) -> tuple[list[FailedOrLostRun], int]:
    """Return (the newest lost runs (rule 1.9), at most 20, number of all lost runs)."""
    total = live.sql.execute(f"SELECT count(*) FROM runs WHERE kind = 'RUN' AND {_LOST}", (now_us,)).fetchone()[0]
    return _query_failed_runs(live, f"{_RUNS} {_LOST} {_NEWEST}", now_us), total


def _query_failed_runs(live: LiveGraph, query: str, *values: int) -> list[FailedOrLostRun]:
    rows = live.sql.execute(query, values)
    return [FailedOrLostRun(run, job_key(live.names.name(job), None), *more) for run, job, *more in rows]
