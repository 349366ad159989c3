"""How runs fare: their states in time, the newest that failed, and those that never ended."""

from typing import Any

from headwater.events.times import iso
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.lost_runs import lost_sql

_SHOWN = 20
_ITEM = (
    "SELECT k.key, r.job, r.state, r.started_us, r.ended_us, r.time_us FROM runs r JOIN run_keys k ON k.id = r.run "
    "WHERE kind = 'RUN' AND"
)
_LOST = f"kind = 'RUN' AND {lost_sql('time_us', '?')}"


def run_health(live: LiveGraph, since_us: int, bucket_us: int, buckets: int, now_us: int) -> dict[str, Any]:
    """Answer counts of runs by state and time (of their end, or newest event), and the ones to look at."""
    until_us = since_us + bucket_us * buckets
    rows = live.sql.execute(
        "SELECT state, (time_us - ?1) / ?2, count(*) FROM runs "
        "WHERE kind = 'RUN' AND time_us >= ?1 AND time_us < ?3 GROUP BY 1, 2",
        (since_us, bucket_us, until_us),
    )
    series: dict[str, list[int]] = {}
    for state, bucket, count in rows:
        series.setdefault(state, [0] * buckets)[bucket] = count
    failed = f"{_ITEM} time_us >= ? AND time_us < ? AND state IN ('FAIL', 'ABORT') ORDER BY time_us DESC LIMIT {_SHOWN}"
    lost = f"SELECT count(*) FROM runs WHERE {_LOST}"
    return {
        "states": {state: sum(counts) for state, counts in series.items()},
        "series": series,
        "failed": _items(live, failed, since_us, until_us),
        "lost": _items(live, f"{_ITEM} {_LOST} ORDER BY time_us DESC LIMIT {_SHOWN}", now_us),
        "lostCount": live.sql.execute(lost, (now_us,)).fetchone()[0],
    }


def _items(live: LiveGraph, query: str, *values: int) -> list[dict[str, Any]]:
    return [
        {
            "run": run,
            "job": job_key(live.names.name(job), None).shown,
            "state": state,
            "started": iso(started_us),
            "ended": iso(ended_us),
            "last_seen": iso(time_us),
        }
        for run, job, state, started_us, ended_us, time_us in live.sql.execute(query, values)
    ]
