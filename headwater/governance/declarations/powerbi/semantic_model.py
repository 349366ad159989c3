"""A semantic model, reduced to what lineage needs, from any source."""

from dataclasses import dataclass, field
from typing import NamedTuple


class ModelColumn(NamedTuple):
    """A column. expression: DAX of a calculated column. source: its name in the source of its table."""

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
    """An entry in a list of calculation dependencies: an object (COLUMN, MEASURE …) needs another."""

    table: str
    name: str
    needs_type: str
    needs_table: str
    needs_name: str


@dataclass
class ModelTable:
    """A table. sources: M (or entity names) of its partitions. calculated: DAX of a calculated table."""

    name: str
    columns: list[ModelColumn] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    calculated: str | None = None


@dataclass
class SemanticModel:
    """A model. expressions: shared M by name. reports: names of its reports. dependencies: None if not listed."""

    workspace: str
    name: str
    tables: dict[str, ModelTable] = field(default_factory=dict)
    expressions: dict[str, str] = field(default_factory=dict)
    reports: list[str] = field(default_factory=list)
    owner: str | None = None
    dependencies: list[CalcDependency] | None = None

    def table(self, name: str) -> ModelTable:
        """Return a table, created if it does not exist."""
        return self.tables.setdefault(name, ModelTable(name))
