"""Types for the definition of a table: its name, columns and types. Arrow and Spark schemas are built from them.

Timestamps are UTC microseconds with a time zone. A column of timestamps without a time zone would require Delta
protocol 3/7.
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
    """A struct of named fields, in order."""

    fields: Mapping[str, "Type"]


Type = Scalar | ListOf | StructOf


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table: the name of its folder, its columns in order, and its partition columns."""

    name: str
    columns: Mapping[str, Type]
    partition_by: tuple[str, ...] = ()


def columns_without(table: Table, *names: str) -> dict[str, Type]:
    """Return the columns of a table except the given ones."""
    return {name: kind for name, kind in table.columns.items() if name not in names}


POSITION: dict[str, Type] = {
    "log": "string",
    "incarnation": "string",
    "partition": "string",
    "sequence": "long",
    "received_at": "timestamp",
}
RULES: dict[str, Type] = {"rules_hash": "string"}
CHANGED: dict[str, Type] = {"batch": "long", **RULES}
"""Columns of a row that silver batches change. batch: number of the last batch that changed the row."""
JOB: dict[str, Type] = {"job_namespace": "string", "job_name": "string"}
