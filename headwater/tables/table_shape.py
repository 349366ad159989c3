"""What a table is: its name, columns and types, from which Arrow and Spark schemas are made.

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
