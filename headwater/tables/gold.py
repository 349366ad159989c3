"""The tables of gold: edges with their periods of validity, and precomputed answers."""

from headwater.tables.shape import CHANGED, JOB, RULES, Table, Type
from headwater.tables.silver import EDGE_RUNS

_HISTORY: dict[str, Type] = {
    **JOB,
    "origin": "string",
    "valid_from": "timestamp",
    "valid_to": "timestamp",
    "current": "boolean",
    "last_seen": "timestamp",
    "runs": "long",
    "landed": "boolean",
    **CHANGED,
}

_ENDS: dict[str, Type] = {
    "part": "string",
    "bucket": "int",
    "edge_key": "string",
    "group_key": "string",
    "source_namespace": "string",
    "source_dataset": "string",
    "source_generation": "string",
    "target_namespace": "string",
    "target_dataset": "string",
    "target_generation": "string",
}

COLUMN_EDGES = Table(
    "column_edges",
    {
        **_ENDS,
        "source_column": "string",
        "target_column": "string",
        "direct": "boolean",
        "masked": "boolean",
        "subtype": "string",
        "description": "string",
        **_HISTORY,
    },
    ("part", "bucket"),
)

TABLE_EDGES = Table("table_edges", {**_ENDS, "opaque": "boolean", **_HISTORY}, ("part", "bucket"))

MASKING_SURFACE = Table(
    "masking_surface",
    {
        "bucket": "int",
        "tag": "string",
        "namespace": "string",
        "dataset": "string",
        "column": "string",
        "exposure": "string",
        "tagged": "boolean",
        "distance": "int",
        "via_namespace": "string",
        "via_dataset": "string",
        "via_column": "string",
        **JOB,
        "exposed_until": "timestamp",
        "earlier": "boolean",
        "valid_from": "timestamp",
        "valid_to": "timestamp",
        **RULES,
    },
    ("bucket",),
)

UNUSED_COLUMNS = Table(
    "unused_columns",
    {
        "bucket": "int",
        "namespace": "string",
        "dataset": "string",
        "column": "string",
        "verdict": "string",
        "reason": "string",
        "readers": "string",
        "consumers": "string",
        "read_before_recreation": "boolean",
        "shown_by": "string",
        "last_used": "timestamp",
        "observed_since": "timestamp",
        "earlier": "boolean",
        "group_keys": "string",
        "valid_from": "timestamp",
        "valid_to": "timestamp",
        **RULES,
    },
    ("bucket",),
)

RUN_HEALTH = Table(
    "run_health",
    {
        "run_key": "string",
        **JOB,
        "execution": "string",
        "parent_run": "string",
        "state": "string",
        "processing": "string",
        "ended": "boolean",
        "hour": "timestamp",
        "started_at": "timestamp",
        "ended_at": "timestamp",
        "last_event_at": "timestamp",
        "duration_ms": "long",
        "late_s": "long",
        "late": "boolean",
        "events": "long",
        "landed": "boolean",
        "finding": "string",
        **RULES,
    },
    ("ended",),
)

HOURLY_STATS = Table(
    "hourly_stats",
    {
        "hour": "timestamp",
        **JOB,
        "runs": "long",
        "complete": "long",
        "failed": "long",
        "lost": "long",
        "ended": "long",
        "running": "long",
        "late": "long",
        "events": "long",
        "mean_duration_ms": "long",
        "max_duration_ms": "long",
        **RULES,
    },
)

GOLD = (COLUMN_EDGES, TABLE_EDGES, EDGE_RUNS, MASKING_SURFACE, UNUSED_COLUMNS, RUN_HEALTH, HOURLY_STATS)
"""All tables of gold, in the order in which a batch writes them."""
