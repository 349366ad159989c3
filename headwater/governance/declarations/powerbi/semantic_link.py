"""Parses CSV lists of semantic link (sempy, semantic-link-labs, INFO.CALCDEPENDENCY). No I/O."""

import csv
import io
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from headwater.common.errors import WrongSetting
from headwater.governance.declarations.powerbi.semantic_model import CalcDependency, Measure, ModelColumn, SemanticModel

Row = Mapping[str, str]


class CsvKind(NamedTuple):
    """A kind of list: its name, its headings, and the function that adds a row to a model."""

    made_by: str
    headings: frozenset[str]
    take: Callable[[SemanticModel, Row], None]


def read_list(model: SemanticModel, text: str, file: str) -> None:
    """Add a list to a model. Raises WrongSetting if its headings match no known list."""
    csv.field_size_limit(1 << 24)
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        headings = [_plain(each) for each in next(rows, [])]
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


def _plain(heading: str) -> str:
    """Normalise a heading: `[REFERENCED_TABLE]` and `Referenced Table` become `referenced table`."""
    return re.sub(r"[\W_]+", " ", heading).strip().casefold()


def _measure(model: SemanticModel, row: Row) -> None:
    description = row.get("measure description") or row.get("description") or None
    model.table(row["table name"]).measures.append(Measure(row["measure name"], row["measure expression"], description))


def _column(model: SemanticModel, row: Row) -> None:
    if row.get("type", "").casefold() != "rownumber":
        is_calculated = row.get("type", "").casefold() == "calculated"
        text = (row.get("expression") or row.get("column expression") or row.get("source")) if is_calculated else None
        source = None if is_calculated else row.get("source") or row.get("source column")
        model.table(row["table name"]).columns.append(
            ModelColumn(row["column name"], row.get("data type") or None, text or None, source or None)
        )


def _partition(model: SemanticModel, row: Row) -> None:
    table, text = model.table(row["table name"]), row["query"]
    kind = row.get("source type", "").casefold()
    if kind == "calculated":
        table.calculated = text
    elif kind == "entity" or (text and "(" not in text and "\n" not in text):
        table.sources.append(f"entity:{row.get('schema name', '')}/{text}")
    elif text:
        table.sources.append(text)


def _expression(model: SemanticModel, row: Row) -> None:
    model.expressions[row["name"]] = row["expression"]


def _labs_dependency(model: SemanticModel, row: Row) -> None:
    _depends(model, row["table name"], row["object name"], row)


def _dmv_dependency(model: SemanticModel, row: Row) -> None:
    _depends(model, row["table"], row["object"], row)


def _depends(model: SemanticModel, table: str, name: str, row: Row) -> None:
    model.dependencies = model.dependencies or []
    kind = row["referenced object type"].upper().replace(" ", "_")
    model.dependencies.append(CalcDependency(table, name, kind, row["referenced table"], row["referenced object"]))


_NEEDS = frozenset({"referenced table", "referenced object", "referenced object type"})
_KINDS = (
    CsvKind("list_measures", frozenset({"table name", "measure name", "measure expression"}), _measure),
    CsvKind("list_columns", frozenset({"table name", "column name"}), _column),
    CsvKind("list_partitions", frozenset({"table name", "query"}), _partition),
    CsvKind("get_model_calc_dependencies", _NEEDS | {"table name", "object name"}, _labs_dependency),
    CsvKind("INFO.CALCDEPENDENCY", _NEEDS | {"table", "object"}, _dmv_dependency),
    CsvKind("list_expressions", frozenset({"name", "expression"}), _expression),
)
"""Lists with more headings come before lists with a subset of them."""
