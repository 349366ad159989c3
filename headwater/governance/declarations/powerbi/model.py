"""Read semantic models of Power BI, with only the parts that lineage needs, from two kinds of files. No I/O.

The files are responses of the admin API `workspaces/scanResult`, with schema and expressions, and CSV lists of
semantic link (sempy, semantic-link-labs, INFO.CALCDEPENDENCY).
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headwater.common.errors import WrongSetting


class ModelColumn(NamedTuple):
    """A column. expression: DAX of a calculated column. source: name of the column in the table's source."""

    name: str
    type: str | None = None
    expression: str | None = None
    source: str | None = None


class Measure(NamedTuple):
    """A measure. expression: its DAX."""

    name: str
    expression: str
    description: str | None = None


class CalcDependency(NamedTuple):
    """A dependency: the calculation of object `name` in `table` needs another object.

    needs_type: type of the other object, such as COLUMN or MEASURE.
    """

    table: str
    name: str
    needs_type: str
    needs_table: str
    needs_name: str


@dataclass
class ModelTable:
    """A table. calculated: DAX of a calculated table, or None.

    sources: for each partition, its M expression or `entity:SCHEMA/ENTITY`.
    """

    name: str
    columns: list[ModelColumn] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    calculated: str | None = None


@dataclass
class SemanticModel:
    """A model. expressions: shared M expressions by name. reports: names of the model's reports.

    dependencies: calculation dependencies, or None if no list contains them.
    """

    workspace: str
    name: str
    tables: dict[str, ModelTable] = field(default_factory=dict)
    expressions: dict[str, str] = field(default_factory=dict)
    reports: list[str] = field(default_factory=list)
    owner: str | None = None
    dependencies: list[CalcDependency] | None = None

    def get_or_add_table(self, name: str) -> ModelTable:
        """Return the table with this name, and create it if it does not exist."""
        return self.tables.setdefault(name, ModelTable(name))


def models_of_scan(scan: Any) -> Iterator[SemanticModel]:
    """Yield the models in a decoded response; ignores members with an unexpected type."""
    for workspace in _dicts_member(scan, "workspaces"):
        space = _text_member(workspace, "name") or _text_member(workspace, "id") or "unknown"
        reports = _dicts_member(workspace, "reports")
        for found in _dicts_member(workspace, "datasets"):
            name = _text_member(found, "name") or _text_member(found, "id") or "unknown"
            model = SemanticModel(space, name, owner=_text_member(found, "configuredBy"))
            model.expressions = {
                shared: text
                for each in _dicts_member(found, "expressions")
                if (shared := _text_member(each, "name")) and (text := _text_member(each, "expression"))
            }
            for table in _dicts_member(found, "tables"):
                _read_table(model, table)
            shown = [each for each in reports if each.get("datasetId") == found.get("id") and found.get("id")]
            model.reports = [called for each in shown if (called := _text_member(each, "name"))]
            yield model


def _read_table(model: SemanticModel, decoded: Any) -> None:
    name = _text_member(decoded, "name")
    if name is None:
        return
    table: ModelTable = model.get_or_add_table(name)
    for column in _dicts_member(decoded, "columns"):
        if called := _text_member(column, "name"):
            known = _text_member(column, "expression"), _text_member(column, "sourceColumn")
            table.columns.append(ModelColumn(called, _text_member(column, "dataType"), *known))
    for measure in _dicts_member(decoded, "measures"):
        if called := _text_member(measure, "name"):
            details = _text_member(measure, "expression") or "", _text_member(measure, "description")
            table.measures.append(Measure(called, *details))
    for source in _dicts_member(decoded, "source"):
        entity, text = _text_member(source, "entityName"), _text_member(source, "expression")
        if entity:
            table.sources.append(f"entity:{_text_member(source, 'schemaName') or ''}/{entity}")
        elif text:
            table.sources.append(text)


def _dicts_member(value: Any, name: str) -> list[dict[str, Any]]:
    listed = value.get(name) if isinstance(value, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _text_member(value: Any, name: str) -> str | None:
    found = value.get(name)
    if isinstance(found, list):  # TMSL stores texts as lists of lines
        found = "\n".join(each for each in found if isinstance(each, str))
    return found if isinstance(found, str) and found else None


Row = Mapping[str, str]


class CsvKind(NamedTuple):
    """A kind of CSV list: the function that creates it, its headings, and the function that adds a row to a model."""

    made_by: str
    headings: frozenset[str]
    take: Callable[[SemanticModel, Row], None]


def add_csv_list(model: SemanticModel, text: str, file: str) -> None:
    """Add a CSV list to a model; raises WrongSetting if its headings match no known list."""
    csv.field_size_limit(1 << 24)
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        headings = [_normalise_heading(each) for each in next(rows, [])]
        kind = next((each for each in _KINDS if each.headings <= {*headings}), None)
        if kind is None:
            known = "; ".join(f"{each.made_by}: {', '.join(sorted(each.headings))}" for each in _KINDS)
            raise WrongSetting(f"{file}, line 1: no semantic link list has these headings. Known lists are {known}.")
        for row in rows:
            if row:
                kind.take(model, dict(zip(headings, row, strict=False)))
    except csv.Error as error:
        raise WrongSetting(
            f"{file}, line {rows.line_num}: this is not valid CSV: {error}. Write it with DataFrame.to_csv."
        ) from error


def _normalise_heading(heading: str) -> str:
    """Normalise a heading: `[REFERENCED_TABLE]` and `Referenced Table` become `referenced table`."""
    return re.sub(r"[\W_]+", " ", heading).strip().casefold()


def _add_measure(model: SemanticModel, row: Row) -> None:
    description = row.get("measure description") or row.get("description") or None
    model.get_or_add_table(row["table name"]).measures.append(
        Measure(row["measure name"], row["measure expression"], description)
    )


def _add_column(model: SemanticModel, row: Row) -> None:
    if row.get("type", "").casefold() != "rownumber":
        is_calculated = row.get("type", "").casefold() == "calculated"
        text = (row.get("expression") or row.get("column expression") or row.get("source")) if is_calculated else None
        source = None if is_calculated else row.get("source") or row.get("source column")
        model.get_or_add_table(row["table name"]).columns.append(
            ModelColumn(row["column name"], row.get("data type") or None, text or None, source or None)
        )


def _add_partition(model: SemanticModel, row: Row) -> None:
    table, text = model.get_or_add_table(row["table name"]), row["query"]
    kind = row.get("source type", "").casefold()
    if kind == "calculated":
        table.calculated = text
    elif kind == "entity" or (text and "(" not in text and "\n" not in text):
        table.sources.append(f"entity:{row.get('schema name', '')}/{text}")
    elif text:
        table.sources.append(text)


def _add_expression(model: SemanticModel, row: Row) -> None:
    model.expressions[row["name"]] = row["expression"]


def _add_labs_dependency(model: SemanticModel, row: Row) -> None:
    _add_dependency(model, row["table name"], row["object name"], row)


def _add_dmv_dependency(model: SemanticModel, row: Row) -> None:
    _add_dependency(model, row["table"], row["object"], row)


def _add_dependency(model: SemanticModel, table: str, name: str, row: Row) -> None:
    model.dependencies = model.dependencies or []
    kind = row["referenced object type"].upper().replace(" ", "_")
    model.dependencies.append(CalcDependency(table, name, kind, row["referenced table"], row["referenced object"]))


_NEEDS = frozenset({"referenced table", "referenced object", "referenced object type"})
_KINDS = (
    CsvKind("list_measures", frozenset({"table name", "measure name", "measure expression"}), _add_measure),
    CsvKind("list_columns", frozenset({"table name", "column name"}), _add_column),
    CsvKind("list_partitions", frozenset({"table name", "query"}), _add_partition),
    CsvKind("get_model_calc_dependencies", _NEEDS | {"table name", "object name"}, _add_labs_dependency),
    CsvKind("INFO.CALCDEPENDENCY", _NEEDS | {"table", "object"}, _add_dmv_dependency),
    CsvKind("list_expressions", frozenset({"name", "expression"}), _add_expression),
)
"""The known lists; a list comes before all lists that require only a subset of its headings."""
