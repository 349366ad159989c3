"""Rows of bronze as they are listed, newest first, and counted in time: events, what is no event, what was refused."""

from typing import Any

from headwater.lake.bronze_tables import Bronze
from headwater.lake.delta_table import LakeTable
from headwater.tables import EVENTS, REFUSED, REJECTED, Table

_PLACE = "incarnation, partition, sequence"
_SHOWN = {
    EVENTS.name: f"event_id, {_PLACE}, received_at, event_time, event_kind, event_type, run_id, job_namespace, "
    "job_name, producer, flags",
    REJECTED.name: f"{_PLACE}, to_sequence, received_at, reason, field, message, http",
    REFUSED.name: "received_at, status, reason, route, key, field, message, user_agent, first_at, count",
}
"""Table → what is listed of it beside bodies."""

_COUNTED = {
    EVENTS.name: ("''", "count(*)"),
    REJECTED.name: ("reason", "sum(to_sequence - sequence + 1)"),
    REFUSED.name: ("reason", "sum(count)"),
}
"""Table → what its rows are told apart by, how many things they are."""

_REASONS = 100


def list_rows(
    bronze: Bronze, table: Table, *, since_us: int | None, limit: int, run: str | None = None, job: str | None = None
) -> tuple[list[dict[str, Any]], int]:
    """List rows, newest first, with bodies where the table has them; and count all that fit.

    since_us: received at or after; of `events` also run: a run id; job: a name, or `namespace/name`.
    """
    if not bronze.exists():
        return [], 0
    conditions = ["true"] if since_us is None else [f"received_at >= to_timestamp_micros({since_us})"]
    if run:
        conditions.append(f"lower(run_id) = {_quoted(run.lower())}")
    if job:
        conditions.append(f"(job_name = {_quoted(job)} OR concat(job_namespace, '/', job_name) = {_quoted(job)})")
    where, rows = " AND ".join(conditions), bronze.tables[table.name]
    total = rows.query(f"SELECT count(*) AS n FROM t WHERE {where}").column("n")[0].as_py()
    newest = f"WHERE {where} ORDER BY received_at DESC, sequence DESC LIMIT {limit}"
    found = rows.query(f"SELECT {_SHOWN[table.name]} FROM t {newest}").to_pylist()
    if found and "body" in table.columns:
        _add_bodies(rows, found)
    return found, total


def _add_bodies(table: LakeTable, found: list[dict[str, Any]]) -> None:
    """Read the bodies of a page only: sorting whole bodies would read the whole table."""
    sequences = ",".join(str(row["sequence"]) for row in found)
    rows = table.query(f"SELECT {_PLACE}, body FROM t WHERE sequence IN ({sequences})").to_pylist()
    bodies = {(row["incarnation"], row["partition"], row["sequence"]): row["body"] for row in rows}
    for row in found:
        row["body"] = bodies.get((row["incarnation"], row["partition"], row["sequence"]))


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


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
