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

BRONZE = (COLUMN_LINEAGE, SCHEMAS, REJECTED, DUPLICATES, REFUSED, EVENTS)
"""In the order in which a batch commits them: the transaction of `events`, the last one, is the watermark."""
