"""Rows of bronze as they are listed, newest first, and counted in time: events, what is no event, what was refused."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from headwater.lake.bronze import Bronze
from headwater.tables import EVENTS, REFUSED, REJECTED, Table

_PLACE = "incarnation, partition, sequence"
_EVENT = (
    f"event_id, {_PLACE}, received_at, event_time, event_kind, event_type, run_id, job_namespace, job_name, producer, "
    "flags"
)
_REJECTED = f"{_PLACE}, to_sequence, received_at, reason, field, message, http"
_REFUSED = "received_at, status, reason, route, key, field, message, user_agent, first_at, count"
_COUNTED = {
    EVENTS.name: ("''", "count(*)"),
    REJECTED.name: ("reason", "sum(to_sequence - sequence + 1)"),
    REFUSED.name: ("reason", "sum(count)"),
}
"""Table → what its rows are told apart by, how many things they are."""

_REASONS = 100


class ListedRows(NamedTuple):
    """Rows, newest first, and how many there are in all."""

    rows: list[dict[str, Any]]
    total: int


def list_events(bronze: Bronze, *, run: str | None, job: str | None, since_us: int | None, limit: int) -> ListedRows:
    """List stored events, bodies included.

    run: a run id; job: a name, or `namespace/name`; since: received at or after (us, UTC).
    """
    conditions = _since(since_us)
    if run:
        conditions.append(f"lower(run_id) = {_quoted(run.lower())}")
    if job:
        conditions.append(f"(job_name = {_quoted(job)} OR concat(job_namespace, '/', job_name) = {_quoted(job)})")
    return _with_bodies(bronze, EVENTS, _list(bronze, EVENTS, _EVENT, conditions, limit))


def list_rejected(bronze: Bronze, *, since_us: int | None, limit: int) -> ListedRows:
    """List quarantined records, bodies included, and gaps."""
    return _with_bodies(bronze, REJECTED, _list(bronze, REJECTED, _REJECTED, _since(since_us), limit))


def list_refused(bronze: Bronze, *, since_us: int | None, limit: int) -> ListedRows:
    """List notes of refused requests and items; each counts alike refusals of half a second."""
    return _list(bronze, REFUSED, _REFUSED, _since(since_us), limit)


def counts_in_time(bronze: Bronze, table: Table, since_us: int, bucket_us: int, buckets: int) -> dict[str, list[int]]:
    """Count what was received in each of some spans of time behind a moment, by reason; events have none: ''."""
    if not bronze.exists():
        return {}
    key, sum_of = _COUNTED[table.name]
    bucket = f"(cast(received_at as bigint) - {since_us}) / {bucket_us}"
    rows = bronze.tables[table.name].query(
        f"SELECT {key} AS key, {bucket} AS bucket, {sum_of} AS n FROM t "
        f"WHERE received_at >= to_timestamp_micros({since_us}) "
        f"AND received_at < to_timestamp_micros({since_us + bucket_us * buckets}) GROUP BY {key}, {bucket}"
    )
    found: dict[str, list[int]] = {}
    for row in rows.to_pylist():
        name = row["key"] if row["key"] in found or len(found) < _REASONS else "other"
        found.setdefault(name, [0] * buckets)[row["bucket"]] += row["n"]
    return found


def _list(bronze: Bronze, table: Table, shown: str, conditions: Sequence[str], limit: int) -> ListedRows:
    if not bronze.exists():
        return ListedRows([], 0)
    where, rows = " AND ".join(["true", *conditions]), bronze.tables[table.name]
    total = rows.query(f"SELECT count(*) AS n FROM t WHERE {where}").column("n")[0].as_py()
    newest = f"SELECT {shown} FROM t WHERE {where} ORDER BY received_at DESC, sequence DESC LIMIT {limit}"
    return ListedRows(rows.query(newest).to_pylist(), total)


def _with_bodies(bronze: Bronze, table: Table, found: ListedRows) -> ListedRows:
    """Read the bodies of a page only: sorting whole bodies would read the whole table."""
    if found.rows:
        sequences = ",".join(str(row["sequence"]) for row in found.rows)
        query = f"SELECT {_PLACE}, body FROM t WHERE sequence IN ({sequences})"
        rows = bronze.tables[table.name].query(query).to_pylist()
        bodies = {(row["incarnation"], row["partition"], row["sequence"]): row["body"] for row in rows}
        for row in found.rows:
            row["body"] = bodies.get((row["incarnation"], row["partition"], row["sequence"]))
    return found


def _since(time_us: int | None) -> list[str]:
    return [] if time_us is None else [f"received_at >= to_timestamp_micros({time_us})"]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
