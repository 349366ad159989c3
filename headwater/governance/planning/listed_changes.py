"""Changes from YAML: a data contract (ODCS), whose schema is the new one, or a list of changes. No I/O."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from headwater.common.errors import WrongSetting
from headwater.governance.contracts.promise import promises_of
from headwater.governance.declarations.yaml_lines import YamlText, read_yaml
from headwater.governance.planning.planned_schema import PlannedColumn, PlannedSchema, sibling_path
from headwater.governance.planning.promised_columns import contract_table_name


class _Listed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    table: Annotated[str, Field(min_length=1)]


class DropColumn(_Listed):
    """`{table: …, drop: COLUMN}`."""

    drop: Annotated[str, Field(min_length=1)]


class RenameColumn(_Listed):
    """`{table: …, rename: COLUMN, to: NAME}`."""

    rename: Annotated[str, Field(min_length=1)]
    to: Annotated[str, Field(min_length=1)]


class RetypeColumn(_Listed):
    """`{table: …, retype: COLUMN, to: TYPE}`."""

    retype: Annotated[str, Field(min_length=1)]
    to: Annotated[str, Field(min_length=1)]


class DropTable(_Listed):
    """`{table: …, drop_table: true}`."""

    drop_table: Literal["true"]


class RenameTable(_Listed):
    """`{table: …, rename_table: NAME}`."""

    rename_table: Annotated[str, Field(min_length=1)]


_LISTED: TypeAdapter[Any] = TypeAdapter(DropColumn | RenameColumn | RetypeColumn | DropTable | RenameTable)
_FORMS = (
    "{table: T, drop: COLUMN}, {table: T, rename: COLUMN, to: NAME}, {table: T, retype: COLUMN, to: TYPE}, "
    "{table: T, drop_table: true} or {table: T, rename_table: NAME}"
)


def apply_yaml(text: bytes, schema: PlannedSchema, file: str) -> None:
    """Apply a contract or a list of changes to a schema. Raises WrongSetting with the line of an error."""
    read = read_yaml(text, file)
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
        schema.drop(change.table)
    elif isinstance(change, RenameTable):
        schema.rename_known(change.table, change.rename_table)
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
            schema.make(table_name, [*map(_property, filter(_is_named, properties))])


def _is_named(member: Any) -> bool:
    return isinstance(member, dict) and isinstance(member.get("physicalName") or member.get("name"), str)


def _property(member: dict[str, Any]) -> PlannedColumn:
    """Return a column of a contract. Logical types are ignored, because they are not types of the table."""
    kind = member.get("physicalType")
    return PlannedColumn(member.get("physicalName") or member["name"], kind if isinstance(kind, str) else None, None)
