"""Read the YAML files of a plan. No I/O.

A file is a list of changes, or a data contract (ODCS), which is either the new schema or a set of promises.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from headwater.common.errors import WrongSetting
from headwater.governance.contracts.promise import dataset_of, promises_of
from headwater.governance.planning.schema import Lookup, PlannedColumn, PlannedSchema, PresentTable, sibling_path
from headwater.governance.yaml_text import YamlText, read_yaml_lines


class _ListedChange(BaseModel):
    model_config = ConfigDict(extra="forbid")
    table: Annotated[str, Field(min_length=1)]


class DropColumn(_ListedChange):
    """`{table: …, drop: COLUMN}`."""

    drop: Annotated[str, Field(min_length=1)]


class RenameColumn(_ListedChange):
    """`{table: …, rename: COLUMN, to: NAME}`."""

    rename: Annotated[str, Field(min_length=1)]
    to: Annotated[str, Field(min_length=1)]


class RetypeColumn(_ListedChange):
    """`{table: …, retype: COLUMN, to: TYPE}`."""

    retype: Annotated[str, Field(min_length=1)]
    to: Annotated[str, Field(min_length=1)]


class DropTable(_ListedChange):
    """`{table: …, drop_table: true}`."""

    drop_table: Literal["true"]


class RenameTable(_ListedChange):
    """`{table: …, rename_table: NAME}`."""

    rename_table: Annotated[str, Field(min_length=1)]


_LISTED: TypeAdapter[Any] = TypeAdapter(DropColumn | RenameColumn | RetypeColumn | DropTable | RenameTable)
_FORMS = (
    "{table: T, drop: COLUMN}, {table: T, rename: COLUMN, to: NAME}, {table: T, retype: COLUMN, to: TYPE}, "
    "{table: T, drop_table: true} or {table: T, rename_table: NAME}"
)


def apply_yaml(text: bytes, schema: PlannedSchema, file: str) -> None:
    """Apply a contract or a list of changes to a schema; raises WrongSetting with the line if the file is invalid."""
    read = read_yaml_lines(text, file)
    value = read.value
    if isinstance(value, dict) and value.get("kind") == "DataContract":
        _apply_contract(value, schema, file)
    elif isinstance(value, dict) and isinstance(value.get("changes"), list):
        for at, each in enumerate(value["changes"]):
            _apply_change(each, schema, file, read, at)
    else:
        raise WrongSetting(
            f"{file}, line 1: this is neither a data contract (`kind: DataContract`) nor a list of changes. Start a "
            f"list with `changes:`. Each change has one of these forms: {_FORMS}."
        )


def _apply_change(value: Any, schema: PlannedSchema, file: str, read: YamlText, at: int) -> None:
    try:
        change = _LISTED.validate_python(value)
    except ValidationError:
        line = read.line(["changes", at])
        raise WrongSetting(f"{file}, line {line}: this is not a valid change. Write one of {_FORMS}.") from None
    if isinstance(change, DropTable):
        schema.drop_table(change.table)
    elif isinstance(change, RenameTable):
        schema.rename_in_schema(change.table, change.rename_table)
    elif isinstance(change, DropColumn):
        schema.drop_column(change.table, change.drop)
    elif isinstance(change, RenameColumn):
        schema.change_column(change.table, change.rename, rename=sibling_path(change.rename, change.to))
    else:
        schema.change_column(change.table, change.retype, kind=change.to)


def _apply_contract(contract: dict[str, Any], schema: PlannedSchema, file: str) -> None:
    promises_of(contract, file)
    for table in contract["schema"]:
        table_name = contract_table_name(table)
        properties = table.get("properties") if isinstance(table, dict) else None
        if table_name and isinstance(properties, list):
            schema.create_table(table_name, [*map(_column_of_property, filter(_has_name, properties))])


def _has_name(member: Any) -> bool:
    return isinstance(member, dict) and isinstance(member.get("physicalName") or member.get("name"), str)


def _column_of_property(member: dict[str, Any]) -> PlannedColumn:
    """Return a column of a contract with its physical type; the logical type is not a type of the table."""
    kind = member.get("physicalType")
    return PlannedColumn(member.get("physicalName") or member["name"], kind if isinstance(kind, str) else None, None)


class PromisedColumns(NamedTuple):
    """The promises of a contract. name: the contract's name, id or file.

    columns: maps namespace and name of each dataset to the case-folded columns that the contract promises.
    """

    name: str
    columns: dict[tuple[str, str], frozenset[str]]

    def has_promise(self, namespace: str, dataset: str, column: str | None) -> bool:
        """Return whether the contract promises a column, or if `column` is None, anything about the dataset."""
        promised = self.columns.get((namespace, dataset))
        return promised is not None and (column is None or column.casefold() in promised)


def read_promised_columns(files: Iterable[tuple[str, bytes]], lookup: Lookup) -> list[PromisedColumns]:
    """Return the promises of the contracts among the YAML files, and ignore all other files.

    files: pairs of name and content. lookup: finds the table of a contract.
    Raises WrongSetting for a contract that does not follow the standard, because it would promise nothing.
    """
    return [found for file, text in files if (found := _promised_columns(file, text, lookup)) is not None]


def _promised_columns(file: str, text: bytes, lookup: Lookup) -> PromisedColumns | None:
    contract = read_yaml_lines(text, file).value
    if not isinstance(contract, dict) or contract.get("kind") != "DataContract":
        return None
    promises_of(contract, file)
    columns: dict[tuple[str, str], frozenset[str]] = {}
    for table in contract["schema"]:
        table_name = contract_table_name(table)
        found: PresentTable | None = lookup(table_name) if table_name else None
        if found is not None:
            columns[found.namespace, found.dataset] = frozenset(_property_names(table.get("properties")))
    return PromisedColumns(str(contract.get("name") or contract.get("id") or file), columns)


def contract_table_name(table: Any) -> str | None:
    """Return the name of a table in a contract in the form of commands; None if it has no name or is not a mapping."""
    table_name = dataset_of(table) if isinstance(table, dict) else None
    return table_name.text if table_name else None


def _property_names(properties: Any) -> Iterable[str]:
    for each in properties if isinstance(properties, list) else ():
        name = (each.get("physicalName") or each.get("name")) if isinstance(each, dict) else None
        if isinstance(name, str):
            yield name.casefold()
