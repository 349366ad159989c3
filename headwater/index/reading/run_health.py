"""How runs fare: their states in time, the newest that failed, and those that never ended."""

from typing import NamedTuple

from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.lost_runs import lost_sql

_SHOWN = 20
_RUNS = (
    "SELECT k.key, r.job, r.state, r.started_us, r.ended_us, r.time_us FROM runs r JOIN run_keys k ON k.id = r.run "
    "WHERE kind = 'RUN' AND"
)
_NEWEST = f"ORDER BY time_us DESC LIMIT {_SHOWN}"
_LOST = lost_sql("time_us", "?")


class RunState(NamedTuple):
    """A run to look at: its key, its job by the name people see, times in us, UTC."""

    run: str
    job: Name
    state: str
    started_us: int
    ended_us: int | None
    time_us: int


def states_in_time(live: LiveGraph, since_us: int, bucket_us: int, until_us: int) -> list[tuple[str, int, int]]:
    """Count runs by state and by the span of time in which they ended, or were heard of last."""
    return live.sql.execute(
        "SELECT state, (time_us - ?1) / ?2, count(*) FROM runs "
        "WHERE kind = 'RUN' AND time_us >= ?1 AND time_us < ?3 GROUP BY 1, 2",
        (since_us, bucket_us, until_us),
    ).fetchall()


def failed_runs(live: LiveGraph, since_us: int, until_us: int) -> list[RunState]:
    """Return the newest runs of a time that failed."""
    query = f"{_RUNS} time_us >= ? AND time_us < ? AND state IN ('FAIL', 'ABORT') {_NEWEST}"
    return _runs(live, query, since_us, until_us)


def lost_runs(live: LiveGraph, now_us: int) -> tuple[list[RunState], int]:
    """Return the newest runs that never ended, and how many there are."""
    total = live.sql.execute(f"SELECT count(*) FROM runs WHERE kind = 'RUN' AND {_LOST}", (now_us,)).fetchone()[0]
    return _runs(live, f"{_RUNS} {_LOST} {_NEWEST}", now_us), total


def _runs(live: LiveGraph, query: str, *values: int) -> list[RunState]:
    rows = live.sql.execute(query, values)
    return [RunState(run, job_key(live.names.name(job), None), *more) for run, job, *more in rows]
