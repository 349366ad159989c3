"""Columns that many tables share."""

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
"""Number of the silver batch that last changed a row; gold reads rows with higher numbers than its own."""

JOB: dict[str, Type] = {"job_namespace": "string", "job_name": "string"}
