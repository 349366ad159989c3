"""The health of runs: states over time, the newest failed runs and lost runs."""

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
    """A failed or lost run. job: its display name. Times are in microseconds, UTC."""

    run: str
    job: Name
    state: str
    started_us: int
    ended_us: int | None
    time_us: int


def states_in_time(live: LiveGraph, since_us: int, bucket_us: int, until_us: int) -> list[tuple[str, int, int]]:
    """Count runs as (state, bucket, count). A run belongs to the bucket in which it ended or sent its newest event."""
    return live.sql.execute(
        "SELECT state, (time_us - ?1) / ?2, count(*) FROM runs "
        "WHERE kind = 'RUN' AND time_us >= ?1 AND time_us < ?3 GROUP BY 1, 2",
        (since_us, bucket_us, until_us),
    ).fetchall()


def failed_runs(live: LiveGraph, since_us: int, until_us: int) -> list[RunState]:
    """Return the newest failed or aborted runs in a time range."""
    query = f"{_RUNS} time_us >= ? AND time_us < ? AND state IN ('FAIL', 'ABORT') {_NEWEST}"
    return _runs(live, query, since_us, until_us)


def lost_runs(live: LiveGraph, now_us: int) -> tuple[list[RunState], int]:
    """Return the newest lost runs (rule 1.9) and the number of all lost runs."""
    total = live.sql.execute(f"SELECT count(*) FROM runs WHERE kind = 'RUN' AND {_LOST}", (now_us,)).fetchone()[0]
    return _runs(live, f"{_RUNS} {_LOST} {_NEWEST}", now_us), total


def _runs(live: LiveGraph, query: str, *values: int) -> list[RunState]:
    rows = live.sql.execute(query, values)
    return [RunState(run, job_key(live.names.name(job), None), *more) for run, job, *more in rows]
