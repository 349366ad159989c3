"""Reads event bodies by position, by content, or by run."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from headwater.lake.bronze_tables import Bronze
from headwater.lineage.runs.event_order import newest_events_first_sql


class StoredBody(NamedTuple):
    """The id, time of receipt (us, UTC) and body of an event."""

    event_id: str
    received_us: int
    body: str


_SHOWN = "event_id, cast(received_at AS bigint) AS received_us, body"


def events_at(
    bronze: Bronze, places: Iterable[tuple[str, str, str, int]]
) -> dict[tuple[str, str, str, int], StoredBody]:
    """Return events by their places: (log, epoch, partition, sequence). Skips events that are no longer in bronze."""
    by_partition: dict[tuple[str, str, str], list[int]] = {}
    for *partition, sequence in places:
        by_partition.setdefault((partition[0], partition[1], partition[2]), []).append(sequence)
    found: dict[tuple[str, str, str, int], StoredBody] = {}
    for (log, epoch, part), sequences in by_partition.items():
        rows = bronze.events.run_query(
            f"SELECT sequence, {_SHOWN} FROM t "
            f"WHERE log = '{log}' AND incarnation = '{epoch}' AND partition = '{part}' "
            f"AND sequence BETWEEN {min(sequences)} AND {max(sequences)} "
            f"AND sequence IN ({','.join(map(str, sequences))})"
        ).to_pylist()
        found.update(((log, epoch, part, row["sequence"]), _to_stored_body(row)) for row in rows)
    return found


def events_with_member(bronze: Bronze, member: str, limit: int) -> list[StoredBody]:
    """Return the newest events (rule 1) that may contain a JSON member with this name, such as a facet."""
    pattern = member.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("'", "''")
    rows = bronze.events.run_query(
        f"SELECT {_SHOWN} FROM t WHERE body LIKE '%\"{pattern}\"%' ORDER BY {newest_events_first_sql()} LIMIT {limit}"
    )
    return [_to_stored_body(row) for row in rows.to_pylist()]


def newest_event_with_member(bronze: Bronze, run_id: str, member: str) -> str | None:
    """Return the body of the newest event of a run that may contain a JSON member with this name, or None.

    member: a name of one word, without characters that SQL interprets.
    """
    quoted = run_id.lower().replace("'", "''")
    rows = bronze.events.run_query(
        f"SELECT body FROM t WHERE lower(run_id) = '{quoted}' AND body LIKE '%\"{member}\"%' "
        f"ORDER BY {newest_events_first_sql()} LIMIT 1"
    ).to_pylist()
    return str(rows[0]["body"]) if rows else None


def _to_stored_body(row: dict[str, Any]) -> StoredBody:
    return StoredBody(row["event_id"], row["received_us"], row["body"])
