"""Changes from YAML: a data contract (ODCS), whose schema is what shall be, or a short list of changes (pure)."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from headwater.contracts.promise import promises_of
from headwater.declarations.yaml_lines import YamlText, read_yaml
from headwater.errors import WrongSetting
from headwater.planning.contracts_held import called_by_contract
from headwater.planning.planned_schema import PlannedColumn, PlannedSchema, beside


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


def take_yaml(text: bytes, schema: PlannedSchema, file: str) -> None:
    """Let a contract or a list change a schema; raises WrongSetting for what is neither, naming its line."""
    read = read_yaml(text, file)
    value = read.value
    if isinstance(value, dict) and value.get("kind") == "DataContract":
        _take_contract(value, schema, file)
    elif isinstance(value, dict) and isinstance(value.get("changes"), list):
        for at, each in enumerate(value["changes"]):
            _take_listed(each, schema, file, read, at)
    else:
        raise WrongSetting(
            f"{file}, line 1: neither a data contract (`kind: DataContract`) nor a list of changes. A list begins with "
            f"`changes:`, each one of {_FORMS}."
        )


def _take_listed(value: Any, schema: PlannedSchema, file: str, read: YamlText, at: int) -> None:
    try:
        change = _LISTED.validate_python(value)
    except ValidationError:
        line = read.line(["changes", at])
        raise WrongSetting(f"{file}, line {line}: this is no change. Write one of {_FORMS}.") from None
    if isinstance(change, DropTable):
        schema.drop(change.table)
    elif isinstance(change, RenameTable):
        schema.rename_known(change.table, change.rename_table)
    elif isinstance(change, DropColumn):
        schema.drop_column(change.table, change.drop)
    elif isinstance(change, RenameColumn):
        schema.change_column(change.table, change.rename, rename=beside(change.rename, change.to))
    else:
        schema.change_column(change.table, change.retype, kind=change.to)


def _take_contract(contract: dict[str, Any], schema: PlannedSchema, file: str) -> None:
    promises_of(contract, file)
    for table in contract["schema"]:
        called = called_by_contract(table)
        properties = table.get("properties") if isinstance(table, dict) else None
        if called and isinstance(properties, list):
            schema.make(called, [*map(_property, filter(_is_named, properties))])


def _is_named(said: Any) -> bool:
    return isinstance(said, dict) and isinstance(said.get("physicalName") or said.get("name"), str)


def _property(said: dict[str, Any]) -> PlannedColumn:
    """Return a column of a contract; logical types are no types of a table."""
    kind = said.get("physicalType")
    return PlannedColumn(said.get("physicalName") or said["name"], kind if isinstance(kind, str) else None, None)
