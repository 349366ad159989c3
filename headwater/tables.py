"""Every table: names, columns and types, once. Arrow and Spark schemas are made from here.

Times are UTC microseconds with a zone: a column without one raises the Delta protocol to 3/7.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Scalar = Literal["string", "long", "int", "boolean", "timestamp", "date"]


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array of one type."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class StructOf:
    """Named fields, in order."""

    fields: Mapping[str, "Type"]


Type = Scalar | ListOf | StructOf


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table: its folder's name, its columns in order, and what its files are split by."""

    name: str
    columns: Mapping[str, Type]
    partition_by: tuple[str, ...] = ()


def without(table: Table, *names: str) -> dict[str, Type]:
    """Return the columns of a table but these."""
    return {name: kind for name, kind in table.columns.items() if name not in names}


_POSITION: dict[str, Type] = {
    "log": "string",
    "incarnation": "string",
    "partition": "string",
    "sequence": "long",
    "received_at": "timestamp",
}

SYMLINK = StructOf({"namespace": "string", "name": "string", "type": "string"})

DATASET = StructOf(
    {
        "namespace": "string",
        "name": "string",
        "schema_hash": "string",
        "lineage_hash": "string",
        "symlinks": ListOf(SYMLINK),
        "facets": ListOf("string"),
    }
)

FACET = StructOf({"name": "string", "content_hash": "string", "deleted": "boolean"})

TAG = StructOf({"field": "string", "key": "string", "value": "string"})

EVENTS = Table(
    "events",
    {
        "event_id": "string",
        **_POSITION,
        "received_date": "date",
        "event_time": "timestamp",
        "event_kind": "string",
        "event_type": "string",
        "run_id": "string",
        "job_namespace": "string",
        "job_name": "string",
        "parent_run_id": "string",
        "root_run_id": "string",
        "producer": "string",
        "inputs": ListOf(DATASET),
        "outputs": ListOf(DATASET),
        "lineage_hashes": ListOf("string"),
        "shape": "string",
        "parent_job_namespace": "string",
        "parent_job_name": "string",
        "root_job_namespace": "string",
        "root_job_name": "string",
        "run_facets": "string",
        "versions": ListOf("string"),
        "flags": ListOf("string"),
        "http": "string",
        "body": "string",
    },
    ("received_date",),
)

COLUMN_LINEAGE = Table(
    "column_lineage",
    {
        "lineage_hash": "string",
        "ordinal": "int",
        "facet": "string",
        "target_type": "string",
        "target_namespace": "string",
        "target_name": "string",
        "target_run_id": "string",
        "output_field": "string",
        "input_type": "string",
        "input_namespace": "string",
        "input_name": "string",
        "input_field": "string",
        "input_run_id": "string",
        "transformation_type": "string",
        "transformation_subtype": "string",
        "transformation_description": "string",
        "masking": "boolean",
    },
)

SCHEMAS = Table(
    "schemas",
    {
        "schema_hash": "string",
        "ordinal": "int",
        "field_path": ListOf("string"),
        "type": "string",
        "description": "string",
    },
)

VALUES = Table("facets", {"content_hash": "string", "value": "string"})
"""Texts of facets that recur, by the hash that `FACET` names; the table is `facets` of bronze."""

MENTION = StructOf(
    {
        "namespace": "string",
        "name": "string",
        "schema": "string",
        "lineage": "string",
        "declared": "string",
        "symlinks": ListOf(SYMLINK),
        "tags": ListOf(TAG),
        "lifecycle": "string",
        "previous_namespace": "string",
        "previous_name": "string",
        "landed": "boolean",
        "facets": ListOf(FACET),
        "counted": ListOf("string"),
    }
)

SHAPES = Table(
    "shapes",
    {
        "shape": "string",
        "artifact": "string",
        "processing_type": "string",
        "integration": "string",
        "emission": "string",
        "run_lineage": "string",
        "job_lineage": "string",
        "run_facets": ListOf("string"),
        "job_facets": ListOf(FACET),
        "inputs": ListOf(MENTION),
        "outputs": ListOf(MENTION),
    },
)
"""What recurs of events, once for each hash that `events.shape` names."""

DUPLICATES = Table("duplicates", {**_POSITION, "event_id": "string"})

REJECTED = Table(
    "rejected",
    {
        **_POSITION,
        "to_sequence": "long",
        "reason": "string",
        "field": "string",
        "message": "string",
        "http": "string",
        "body": "string",
    },
)

REFUSED = Table(
    "refused",
    {
        **_POSITION,
        "status": "int",
        "reason": "string",
        "route": "string",
        "key": "string",
        "field": "string",
        "message": "string",
        "user_agent": "string",
        "first_at": "timestamp",
        "count": "long",
    },
)

SINK_FAILURES = Table(
    "sink_failures",
    {
        "sink": "string",
        **_POSITION,
        "event_id": "string",
        "run_id": "string",
        "reason": "string",
        "attempts": "int",
        "failed_at": "timestamp",
    },
)
"""Events that a sink's target refuses for good; its commits carry the position of each sink as transactions."""

ADMIN_LOG = Table(
    "admin_log",
    {
        "act_id": "string",
        "at": "timestamp",
        "who": "string",
        "action": "string",
        "subject": "string",
        "outcome": "string",
        "detail": "string",
        "address": "string",
        "agent": "string",
    },
)
"""Who changed what: keys, tags, deletions, redrives, retries. Never a secret."""

_NAMED = StructOf({"namespace": "string", "name": "string"})

SENT_RUNS = Table(
    "sent_runs",
    {
        "run_key": "string",
        "run_id": "string",
        "job_namespace": "string",
        "job_name": "string",
        "state": "string",
        "started_at": "timestamp",
        "ended_at": "timestamp",
        "last_event_at": "timestamp",
        "producer": "string",
        "parent_run_id": "string",
        "inputs": ListOf(_NAMED),
        "outputs": ListOf(_NAMED),
        "event": "string",
        **_POSITION,
        "received_date": "date",
    },
    ("received_date",),
)
"""Whole runs that a sink of type `delta` appends to a table of somebody else's lake."""

BRONZE = (COLUMN_LINEAGE, SCHEMAS, VALUES, SHAPES, REJECTED, DUPLICATES, REFUSED, EVENTS)
"""In the order in which a batch commits them: the transaction of `events`, the last one, is the watermark."""

HASHED = (
    (COLUMN_LINEAGE, "lineage_hash"),
    (SCHEMAS, "schema_hash"),
    (VALUES, "content_hash"),
    (SHAPES, "shape"),
)
"""Tables whose rows are stored once for each hash, mostly: a second time does no harm.

A row of the last one, `shapes`, says that the rows of all that it names are stored: it is committed behind them.
"""

_HASHED = [table.name for table, _ in HASHED]


def stored_key(table: str, content_hash: str) -> bytes:
    """Return what a stored hash is remembered by: one content may be a schema here and any facet there."""
    return bytes([_HASHED.index(table)]) + bytes.fromhex(content_hash)


_RULES: dict[str, Type] = {"rules_hash": "string"}

_CHANGED: dict[str, Type] = {"batch": "long", **_RULES}
"""The number of the silver batch that last changed a row; gold reads what is beyond its own."""

_JOB: dict[str, Type] = {"job_namespace": "string", "job_name": "string"}

_DATASET: dict[str, Type] = {"dataset_namespace": "string", "dataset_name": "string", "generation": "string"}
"""generation: the run that ended the one before, empty for the first, and where none is meant."""

RUNS = Table(
    "runs",
    {
        "run_key": "string",
        "kind": "string",
        "state": "string",
        "processing": "string",
        "sent_job_namespace": "string",
        "sent_job_name": "string",
        **_JOB,
        "execution": "string",
        "parent_run": "string",
        "producer": "string",
        "started_at": "timestamp",
        "ended_at": "timestamp",
        "last_event_at": "timestamp",
        "last_received_at": "timestamp",
        "late_s": "long",
        "events": "long",
        "landed": "boolean",
        **_CHANGED,
        "said": "string",
        "parts": "string",
        "contents": "string",
    },
)

JOBS = Table(
    "jobs",
    {**_JOB, "processing": "string", "producer": "string", "first_seen_at": "timestamp", "last_seen_at": "timestamp"}
    | {"last_run": "string", "last_state": "string", **_CHANGED},
)

DATASETS = Table(
    "datasets",
    {
        **_DATASET,
        "schema_hash": "string",
        "columns": "string",
        "tags": "string",
        "ever_read": "boolean",
        **_CHANGED,
    },
)

LATEST_FACETS = Table(
    "latest_facets",
    {
        "namespace": "string",
        "name": "string",
        **_DATASET,
        "facet": "string",
        "producer": "string",
        "credible": "boolean",
        "time_us": "long",
        "rank": "int",
        "event_id": "string",
        "place": "int",
        "content_hash": "string",
        "twins": "boolean",
        "value": "string",
        **_CHANGED,
    },
)

BINDINGS = Table(
    "bindings",
    {
        "kind": "string",
        "namespace": "string",
        "name": "string",
        "to_namespace": "string",
        "to_name": "string",
        "time_us": "long",
        "run_key": "string",
        "ordinal": "int",
        **_CHANGED,
    },
)

FIELDS = Table(
    "fields",
    {**_DATASET, "field": "string", "parent": "string", "ordinal": "int", "schema_hash": "string", **_CHANGED},
)

RUN_DATASETS = Table(
    "run_datasets",
    {
        "run_key": "string",
        "role": "string",
        "namespace": "string",
        "name": "string",
        **_DATASET,
        "first_us": "long",
        "last_us": "long",
        **_CHANGED,
    },
)

EDGE_SETS = Table(
    "edge_sets",
    {
        "group_key": "string",
        "output_key": "string",
        "run_key": "string",
        "execution": "string",
        "layer": "string",
        **_JOB,
        **_DATASET,
        "time_us": "long",
        "tie": "string",
        "started_us": "long",
        "last_us": "long",
        "weight": "int",
        "origin": "string",
        "landed": "boolean",
        "rewrites": "boolean",
        "asks": "string",
        "kin": "string",
        **_CHANGED,
        "content": "string",
    },
)

FACETS = Table(
    "facets",
    {
        "entity": "string",
        "namespace": "string",
        "name": "string",
        "facet": "string",
        "event_time": "timestamp",
        "event_order": "string",
        "value": "string",
        **_CHANGED,
    },
    ("entity",),
)

POSITIONS = Table(
    "positions",
    {
        "log": "string",
        "incarnation": "string",
        "partition": "string",
        "sequence": "long",
        "state": "string",
        **_CHANGED,
    },
)

EDGE_RUNS = Table(
    "edge_runs",
    {
        "group_key": "string",
        **_JOB,
        "origin": "string",
        "target_namespace": "string",
        "target_dataset": "string",
        "target_generation": "string",
        "last_seen": "timestamp",
        "runs": "long",
        **_CHANGED,
    },
)
"""Runs that said once more what stands, since the rows of their job's edges into a dataset were written."""

FINDINGS = Table("findings", {"run_key": "string", "finding": "string"})
"""What the newest comparisons found of runs."""

LENDERS = Table("lenders", dict.fromkeys(("dataset_namespace", "dataset_name", "generation"), "string"))
"""Datasets whose schemas runs took that tell none themselves."""

IN_STATE: Mapping[str, Table] = {
    "vote": EDGE_SETS,
    "facet": LATEST_FACETS,
    "dataset": DATASETS,
    "job": JOBS,
    "binding": BINDINGS,
    "runs": EDGE_RUNS,
    "finding": FINDINGS,
    "lender": LENDERS,
    "position": POSITIONS,
}
"""What a pass must know of all that was said before, by `part` of `state`; a candidate is there while it may count."""

STATE = Table(
    "state",
    {"part": "string", **{name: kind for table in IN_STATE.values() for name, kind in table.columns.items()}},
)

SILVER = (EDGE_SETS, RUNS, RUN_DATASETS, DATASETS, FIELDS, JOBS, FACETS, BINDINGS, STATE)
"""The commit of `state` comes last of a batch, after those of gold: it says that the batch is done."""

_HISTORY: dict[str, Type] = {
    **_JOB,
    "origin": "string",
    "valid_from": "timestamp",
    "valid_to": "timestamp",
    "current": "boolean",
    "last_seen": "timestamp",
    "runs": "long",
    "landed": "boolean",
    **_CHANGED,
}

_ENDS: dict[str, Type] = {
    "part": "string",
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
    ("part",),
)

TABLE_EDGES = Table("table_edges", {**_ENDS, "opaque": "boolean", **_HISTORY}, ("part",))

MASKING_SURFACE = Table(
    "masking_surface",
    {
        "tag": "string",
        "namespace": "string",
        "dataset": "string",
        "column": "string",
        "exposure": "string",
        "distance": "int",
        "via_namespace": "string",
        "via_dataset": "string",
        "via_column": "string",
        **_JOB,
        **_RULES,
    },
)

UNUSED_COLUMNS = Table(
    "unused_columns",
    {
        "namespace": "string",
        "dataset": "string",
        "column": "string",
        "verdict": "string",
        "reason": "string",
        "readers": "string",
        "consumers": "string",
        "read_before_recreation": "boolean",
        "shown_by": "string",
        **_RULES,
    },
)

RUN_HEALTH = Table(
    "run_health",
    {
        "run_key": "string",
        **_JOB,
        "execution": "string",
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
        **_RULES,
    },
    ("ended",),
)

HOURLY_STATS = Table(
    "hourly_stats",
    {
        "hour": "timestamp",
        **_JOB,
        "runs": "long",
        "complete": "long",
        "failed": "long",
        "lost": "long",
        "running": "long",
        "late": "long",
        "events": "long",
        "mean_duration_ms": "long",
        "max_duration_ms": "long",
        **_RULES,
    },
)

GOLD = (COLUMN_EDGES, TABLE_EDGES, EDGE_RUNS, MASKING_SURFACE, UNUSED_COLUMNS, RUN_HEALTH, HOURLY_STATS)
"""In the order in which a batch writes them."""

GENERATIONS = Table("generations", {"layer": "string", "generation": "string", "rules_hash": "string"})
"""One row beside the generations of silver or gold: the one that readers and the next run use. A commit switches it."""

BUILDING = Table("building", GENERATIONS.columns)
"""One row beside it: the generation that was begun last, for a run that goes on where one was cut off."""
