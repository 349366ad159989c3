"""Whose schema an event changes: what it says of a dataset that it wrote, beside what was said of it before."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_tables import Bronze

LOOKS_BACK = timedelta(days=31)
"""What was said of a dataset longer before is not looked for: reading all of history for each batch would cost more."""

_Columns = Mapping[str, str | None]
"""Path of a column, by dots → its type as sent."""


class SchemaChange(NamedTuple):
    """A dataset, by its name as sent, and its columns: before and now."""

    namespace: str
    name: str
    before: _Columns
    now: _Columns


def schema_changes(bronze: Bronze, source: Source, heads: Collection[StoredHead]) -> dict[str, list[SchemaChange]]:
    """Return, by the id of its event, each schema whose columns or types are others than said before.

    Compared is what COMPLETE events say of their outputs, and events of datasets, in the order of their times; of two
    that name a dataset the same way. heads: events of one partition.
    """
    rows = _changed(bronze, source, heads)
    columns = _columns(bronze, {row[key] for row in rows for key in ("was", "said")})
    found: dict[str, list[SchemaChange]] = defaultdict(list)
    for row in rows:
        before, now = columns[row["was"]], columns[row["said"]]
        if before and now and before != now:
            found[row["event_id"]].append(SchemaChange(row["namespace"], row["name"], before, now))
    return found


def _changed(bronze: Bronze, source: Source, heads: Collection[StoredHead]) -> list[dict[str, Any]]:
    sequences = [each.sequence for each in heads]
    received_us = [each.received_us for each in heads]
    day = (datetime.fromtimestamp(min(received_us) / 1e6, UTC) - LOOKS_BACK).date()
    partition = f"log = '{source.log}' AND incarnation = '{source.epoch}' AND partition = '{source.partition}'"
    here = f"{partition} AND sequence BETWEEN {min(sequences)} AND {max(sequences)}"
    told = (
        f"SELECT event_id, event_time, received_at, sequence, {here} AS here, unnest(outputs) AS d FROM t "
        f"WHERE received_date >= '{day}' AND cast(received_at AS bigint) <= {max(received_us)} "
        f"AND NOT ({partition} AND sequence > {max(sequences)}) "
        "AND (event_type = 'COMPLETE' OR event_kind = 'DATASET')"
    )
    said = (
        "SELECT event_id, event_time, received_at, sequence, here, d['namespace'] AS namespace, d['name'] AS name, "
        f"d['schema_hash'] AS said FROM ({told}) WHERE d['schema_hash'] IS NOT NULL"
    )
    place = "PARTITION BY namespace, name"
    beside = f"SELECT *, lag(said) OVER ({place} ORDER BY event_time, received_at, sequence) AS was FROM ({said})"
    return bronze.events.query(
        f"SELECT event_id, namespace, name, was, said FROM ({beside}) WHERE here AND was <> said ORDER BY sequence"
    ).to_pylist()


def _columns(bronze: Bronze, hashes: Collection[str]) -> dict[str, dict[str, str | None]]:
    found: dict[str, dict[str, str | None]] = {each: {} for each in hashes}
    if found:
        named = ", ".join(f"'{each}'" for each in hashes)
        rows = bronze.tables["schemas"].query(
            f"SELECT schema_hash, field_path, type FROM t WHERE schema_hash IN ({named}) ORDER BY schema_hash, ordinal"
        )
        for row in rows.to_pylist():
            found[row["schema_hash"]][".".join(row["field_path"])] = row["type"]
    return found
