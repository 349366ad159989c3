"""The tables of bronze: events as sent, their recurring contents stored once, and rejected events and requests."""

from headwater.tables.shape import POSITION, ListOf, StructOf, Table

REMOVED_BEFORE = "headwater/removed_before"
"""Id of a transaction of `events`. Its version is the start of the oldest day that retention has kept (us, UTC)."""

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
        **POSITION,
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
        "statistics": "string",
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
"""Recurring facet values by their hash, the `content_hash` in `FACET`. The table's folder in bronze is `facets`."""

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
"""Recurring parts of events. Each shape is stored once, and `events.shape` contains its hash."""

DUPLICATES = Table("duplicates", {**POSITION, "event_id": "string"})

REJECTED = Table(
    "rejected",
    {
        **POSITION,
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
        **POSITION,
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

BRONZE = (COLUMN_LINEAGE, SCHEMAS, VALUES, SHAPES, REJECTED, DUPLICATES, REFUSED, EVENTS)
"""All tables of bronze, in the order in which a batch commits them. The transaction of `events` is the watermark."""

HASHED = (
    (COLUMN_LINEAGE, "lineage_hash"),
    (SCHEMAS, "schema_hash"),
    (VALUES, "content_hash"),
    (SHAPES, "shape"),
)
"""Tables with one stored content per hash, each with its hash column. Storing a content again does no harm.

`shapes` is committed last: a stored shape implies that the contents to which it refers are stored, too.
"""

_HASHED = [table.name for table, _ in HASHED]


def stored_key(table: str, content_hash: str) -> bytes:
    """Return the key under which a writer remembers that `content_hash` is stored in `table`.

    The key includes the table, because two tables may contain the same hash.
    """
    return bytes([_HASHED.index(table)]) + bytes.fromhex(content_hash)
