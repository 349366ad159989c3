"""Audit and lists, answered from log and lake."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import convert

from headwater.eventlog import LogReader, each
from headwater.lake.bronze_tables import Bronze
from headwater.questions.answers.list_answers import Events, RefusedRequests, RejectedEvents
from headwater.tables import EVENTS, REFUSED, REJECTED

_SHOWN = (
    "event_id, incarnation, partition, sequence, received_at, event_time, event_kind, event_type, run_id, "
    "job_namespace, job_name, producer, flags"
)


def audit(readers: Sequence[LogReader], bronze: Bronze) -> dict[str, Any]:
    """Hold the log's count against the lake's (promise P2): every acknowledged event is in exactly one table.

    `balanced` is false when events are missing or stored twice. `received` counts sequence numbers: those the lake has
    passed and those that wait in the log, less the ones that only note refusals. readers: every partition of the log.
    """
    sources = [reader.source for reader in readers]
    counts = bronze.counts(sources)
    passed = counts.watermarks
    pending = sum(each(readers, lambda reader: reader.pending(passed[reader.source.partition])))
    received = sum(passed.values()) - counts.notes + pending + counts.earlier
    accounted = counts.stored + counts.duplicates + counts.rejected + pending
    return {
        "received": received,
        "stored": counts.stored,
        "duplicates": counts.duplicates,
        "rejected": counts.rejected,
        "refused": counts.refused,
        "pending": pending,
        "balanced": received == accounted,
    }


def log_state(readers: Sequence[LogReader], bronze: Bronze) -> dict[str, Any]:
    """Say of each partition what the log holds and what the lake has passed; `past` are the log's ended lives."""
    passed = bronze.watermarks([reader.source for reader in readers])

    def item(reader: LogReader) -> dict[str, Any]:
        mark = passed[reader.source]
        return {
            "partition": reader.source.partition, "head": reader.head(), "tail": reader.tail(), "passed": mark,
            "pending": reader.pending(mark), "bytes": reader.size_bytes(),
        }  # fmt: skip

    source = readers[0].source
    past = [{"incarnation": name, "received": received} for name, received, _ in bronze.past()]
    return {"log": source.log, "incarnation": source.epoch, "items": each(readers, item), "past": past}


def list_events(bronze: Bronze, *, run: str | None, job: str | None, since_us: int | None, limit: int) -> Events:
    """List stored events, newest first, bodies included.

    run: a run id; job: a name, or `namespace/name`; since: received at or after (us, UTC).
    """
    conditions = ["true"]
    if run:
        conditions.append(f"lower(run_id) = {_quoted(run.lower())}")
    if job:
        name = _quoted(job)
        conditions.append(f"(job_name = {name} OR concat(job_namespace, '/', job_name) = {name})")
    return convert(_page(bronze, EVENTS.name, _SHOWN, [*conditions, *_since(since_us)], limit), Events)


def list_rejected(bronze: Bronze, *, since_us: int | None, limit: int) -> RejectedEvents:
    """List quarantined records and gaps, newest first."""
    shown = "incarnation, partition, sequence, to_sequence, received_at, reason, field, message, http"
    return convert(_page(bronze, REJECTED.name, shown, ["true", *_since(since_us)], limit), RejectedEvents)


def list_refused(bronze: Bronze, *, since_us: int | None, limit: int) -> RefusedRequests:
    """List notes of refused requests and items, newest first; each counts alike refusals of half a second."""
    shown = "received_at, status, reason, route, key, field, message, user_agent, first_at, count"
    found = _page(bronze, REFUSED.name, shown, ["true", *_since(since_us)], limit, bodies=False)
    return convert(found, RefusedRequests)


def _page(
    bronze: Bronze, name: str, shown: str, conditions: list[str], limit: int, *, bodies: bool = True
) -> dict[str, Any]:
    if not bronze.exists():
        return {"items": [], "totalCount": 0, "truncated": False}
    table, where = bronze.tables[name], " AND ".join(conditions)
    total = table.query(f"SELECT count(*) AS n FROM t WHERE {where}").column("n")[0].as_py()
    newest = f"SELECT {shown} FROM t WHERE {where} ORDER BY received_at DESC, sequence DESC LIMIT {limit}"
    items = table.query(newest).to_pylist()
    found = _bodies(bronze, name, items) if items and bodies else {}
    for item in items:
        if bodies:
            item["body"] = found.get((item["incarnation"], item["partition"], item["sequence"]))
        item.update({key: _iso(value) for key, value in item.items() if isinstance(value, datetime)})
    return {"items": items, "totalCount": total, "truncated": total > len(items)}


def _bodies(bronze: Bronze, name: str, items: Iterable[dict[str, Any]]) -> dict[tuple[str, str, int], str]:
    """Read the bodies of a page only: sorting whole bodies would read the whole table."""
    sequences = ",".join(str(item["sequence"]) for item in items)
    found = bronze.tables[name].query(
        f"SELECT incarnation, partition, sequence, body FROM t WHERE sequence IN ({sequences})"
    )
    return {(row["incarnation"], row["partition"], row["sequence"]): row["body"] for row in found.to_pylist()}


def _since(time_us: int | None) -> list[str]:
    return [] if time_us is None else [f"received_at >= to_timestamp_micros({time_us})"]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
