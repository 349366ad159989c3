"""A semantic model as far as lineage asks, whatever listed it."""

from dataclasses import dataclass, field
from typing import NamedTuple


class ModelColumn(NamedTuple):
    """A column; expression: DAX of a calculated one; source: what it is called in its table's source."""

    name: str
    type: str | None = None
    expression: str | None = None
    source: str | None = None


class Measure(NamedTuple):
    """A measure, with its DAX."""

    name: str
    expression: str
    description: str | None = None


class CalcDependency(NamedTuple):
    """What a list of calculation dependencies says: an object (COLUMN, MEASURE …) needs another."""

    table: str
    name: str
    needs_type: str
    needs_table: str
    needs_name: str


@dataclass
class ModelTable:
    """A table; sources: M (or an entity's name) of its partitions; calculated: DAX of a calculated table."""

    name: str
    columns: list[ModelColumn] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    calculated: str | None = None


@dataclass
class SemanticModel:
    """A model; expressions: shared M by name; reports: names of what shows it; dependencies: None where not listed."""

    workspace: str
    name: str
    tables: dict[str, ModelTable] = field(default_factory=dict)
    expressions: dict[str, str] = field(default_factory=dict)
    reports: list[str] = field(default_factory=list)
    owner: str | None = None
    dependencies: list[CalcDependency] | None = None

    def table(self, name: str) -> ModelTable:
        """Return a table, new where none of that name is known."""
        return self.tables.setdefault(name, ModelTable(name))
