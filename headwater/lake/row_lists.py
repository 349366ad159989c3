"""Lists and counts the rows of `events`, `rejected` and `refused`."""

from typing import Any

from headwater.common.paging import ListPage, ResultPage
from headwater.lake.bronze_tables import Bronze
from headwater.lake.delta_table import LakeTable
from headwater.lake.queries import quote_sql
from headwater.lake.reported_events import complete_run_id
from headwater.lake.row_pages import by_number, by_text, by_time, define_row_list, rows_page
from headwater.tables import EVENTS, REFUSED, REJECTED, Table

_PLACE = "incarnation, partition, sequence"
_TIES = (by_text("incarnation"), by_text("partition"), by_number("sequence"))
_LISTS = {
    EVENTS.name: define_row_list(
        "events",
        f"event_id, {_PLACE}, received_at, event_time, event_kind, event_type, run_id, job_namespace, job_name, "
        "producer, flags",
        {
            "received_at": by_time("received_at"), "event_time": by_time("event_time"),
            "event_type": by_text("event_type", "event_kind"), "job_name": by_text("job_name"),
            "job_namespace": by_text("job_namespace"), "run_id": by_text("run_id"), "producer": by_text("producer"),
        },
        "-received_at", tie_breakers=_TIES, texts="job_namespace job_name run_id producer event_type",
    ),
    REJECTED.name: define_row_list(
        "rejected", f"{_PLACE}, to_sequence, received_at, reason, field, message, http",
        {
            "received_at": by_time("received_at"), "reason": by_text("reason"), "field": by_text("field"),
            "message": by_text("message"),
        },
        "-received_at", tie_breakers=_TIES, texts="reason field message http",
    ),
    REFUSED.name: define_row_list(
        "refused", "received_at, status, reason, route, key, field, message, user_agent, first_at, count",
        {
            "received_at": by_time("received_at"), "status": by_number("status"), "reason": by_text("reason"),
            "key": by_text("key"), "count": by_number("count"), "message": by_text("message"),
            "user_agent": by_text("user_agent"),
        },
        "-received_at", tie_breakers=_TIES, texts="reason route key message user_agent",
    ),
}  # fmt: skip
"""For each table, the columns that lists show, without bodies, and the columns that lists sort and search."""

_COUNTED = {
    EVENTS.name: ("''", "count(*)"),
    REJECTED.name: ("reason", "sum(to_sequence - sequence + 1)"),
    REFUSED.name: ("reason", "sum(count)"),
}
"""For each table, SQL of the key by which rows are grouped, and of the number that is counted for each group."""

_REASONS = 100


def list_rows(
    bronze: Bronze, table: Table, page: ListPage, *, since_us: int | None = None, run: str | None = None,
    job: str | None = None,
) -> ResultPage[dict[str, Any]]:  # fmt: skip
    """List a page of rows, newest first by default, with bodies if the table has them.

    since_us: list only rows received at or after this time (us, UTC). run, job: list only rows of a run (its id or the
    beginning of it) or of a job (a name, or `namespace/name`). Both work only for table `events`.
    """
    conditions = [] if since_us is None else [f"received_at >= to_timestamp_micros({since_us})"]
    if run:
        conditions.append(f"lower(run_id) = {quote_sql(complete_run_id(bronze, run).lower())}")
    if job:
        conditions.append(f"(job_name = {quote_sql(job)} OR concat(job_namespace, '/', job_name) = {quote_sql(job)})")
    rows = bronze.tables[table.name]
    found = rows_page(rows, _LISTS[table.name], page, conditions)
    if found.rows and "body" in table.columns:
        _add_bodies(rows, found.rows)
    return found


def _add_bodies(table: LakeTable, found: list[dict[str, Any]]) -> None:
    """Read the bodies of a page separately, because sorting with bodies would read the whole table."""
    sequences = ",".join(str(row["sequence"]) for row in found)
    rows = table.run_query(f"SELECT {_PLACE}, body FROM t WHERE sequence IN ({sequences})").to_pylist()
    bodies = {(row["incarnation"], row["partition"], row["sequence"]): row["body"] for row in rows}
    for row in found:
        row["body"] = bodies.get((row["incarnation"], row["partition"], row["sequence"]))


def counts_in_time(bronze: Bronze, table: Table, since_us: int, bucket_us: int, buckets: int) -> dict[str, list[int]]:
    """Return counts by reason: for each reason, a list with the count in each time bucket.

    For table `events`, the only key is ''. since_us: the start of the first bucket (us, UTC). bucket_us: the length of
    a bucket (us). buckets: the number of buckets. After 100 different reasons, further ones are counted as `other`.
    """
    if not bronze.exists():
        return {}
    key, sum_of = _COUNTED[table.name]
    bucket = f"(cast(received_at as bigint) - {since_us}) / {bucket_us}"
    rows = bronze.tables[table.name].run_query(
        f"SELECT {key} AS key, {bucket} AS bucket, {sum_of} AS n FROM t "
        f"WHERE received_at >= to_timestamp_micros({since_us}) "
        f"AND received_at < to_timestamp_micros({since_us + bucket_us * buckets}) GROUP BY {key}, {bucket}"
    )
    found: dict[str, list[int]] = {}
    for row in rows.to_pylist():
        name = row["key"] if row["key"] in found or len(found) < _REASONS else "other"
        found.setdefault(name, [0] * buckets)[row["bucket"]] += row["n"]
    return found
