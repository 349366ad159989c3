"""Finds schema changes: compares the schema of each written dataset with its previous one."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_tables import Bronze

LOOKS_BACK = timedelta(days=31)
"""How far back to search for the previous schema. Reading the whole history for each batch would cost too much."""

_Columns = Mapping[str, str | None]
"""The type of each column as sent, or None without a type, by the column's path with dots."""


class SchemaChange(NamedTuple):
    """A dataset, with its name as sent, and its columns before the change and now."""

    namespace: str
    name: str
    before: _Columns
    now: _Columns


def schema_changes(bronze: Bronze, source: Source, heads: Collection[StoredHead]) -> dict[str, list[SchemaChange]]:
    """Return the datasets with other columns or types than before, by the id of the event that changed them.

    Compares the schemas of each dataset name, as sent, in order of event time. Schemas come from the outputs of
    COMPLETE events and from dataset events. heads: events of one partition, at least one.
    """
    rows = _query_changed_schemas(bronze, source, heads)
    columns = _columns_by_hash(bronze, {row[key] for row in rows for key in ("previous_hash", "schema_hash")})
    found: dict[str, list[SchemaChange]] = defaultdict(list)
    for row in rows:
        before, now = columns[row["previous_hash"]], columns[row["schema_hash"]]
        if before and now and before != now:
            found[row["event_id"]].append(SchemaChange(row["namespace"], row["name"], before, now))
    return found


def _query_changed_schemas(bronze: Bronze, source: Source, heads: Collection[StoredHead]) -> list[dict[str, Any]]:
    sequences = [each.sequence for each in heads]
    received_us = [each.received_us for each in heads]
    day = (datetime.fromtimestamp(min(received_us) / 1e6, UTC) - LOOKS_BACK).date()
    partition = f"log = '{source.log}' AND incarnation = '{source.epoch}' AND partition = '{source.partition}'"
    here = f"{partition} AND sequence BETWEEN {min(sequences)} AND {max(sequences)}"
    outputs_sql = (
        f"SELECT event_id, event_time, received_at, sequence, {here} AS here, unnest(outputs) AS d FROM t "
        f"WHERE received_date >= '{day}' AND cast(received_at AS bigint) <= {max(received_us)} "
        f"AND NOT ({partition} AND sequence > {max(sequences)}) "
        "AND (event_type = 'COMPLETE' OR event_kind = 'DATASET')"
    )
    schemas_sql = (
        "SELECT event_id, event_time, received_at, sequence, here, d['namespace'] AS namespace, d['name'] AS name, "
        f"d['schema_hash'] AS schema_hash FROM ({outputs_sql}) WHERE d['schema_hash'] IS NOT NULL"
    )
    place = "PARTITION BY namespace, name"
    with_previous_sql = (
        f"SELECT *, lag(schema_hash) OVER ({place} ORDER BY event_time, received_at, sequence) AS previous_hash "
        f"FROM ({schemas_sql})"
    )
    return bronze.events.run_query(
        f"SELECT event_id, namespace, name, previous_hash, schema_hash FROM ({with_previous_sql}) "
        "WHERE here AND previous_hash <> schema_hash ORDER BY sequence"
    ).to_pylist()


def _columns_by_hash(bronze: Bronze, hashes: Collection[str]) -> dict[str, dict[str, str | None]]:
    found: dict[str, dict[str, str | None]] = {each: {} for each in hashes}
    if found:
        named = ", ".join(f"'{each}'" for each in hashes)
        rows = bronze.tables["schemas"].run_query(
            f"SELECT schema_hash, field_path, type FROM t WHERE schema_hash IN ({named}) ORDER BY schema_hash, ordinal"
        )
        for row in rows.to_pylist():
            found[row["schema_hash"]][".".join(row["field_path"])] = row["type"]
    return found
