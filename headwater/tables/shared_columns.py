"""Columns that many tables have."""

from headwater.tables.table_shape import Type

POSITION: dict[str, Type] = {
    "log": "string",
    "incarnation": "string",
    "partition": "string",
    "sequence": "long",
    "received_at": "timestamp",
}

RULES: dict[str, Type] = {"rules_hash": "string"}

CHANGED: dict[str, Type] = {"batch": "long", **RULES}
"""The number of the silver batch that last changed a row; gold reads what is beyond its own."""

JOB: dict[str, Type] = {"job_namespace": "string", "job_name": "string"}
