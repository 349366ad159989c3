"""Find the source table of a partition by parsing its M expression, without running it. No I/O."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from headwater.governance.declarations.file import DeclaredPlace


class TableSource(NamedTuple):
    """The source of a table in the model.

    renamed: maps the case-folded name of a renamed column in the model to its name in the source.
    by_name: whether all other columns have the same names as in the source; false if a step may create columns.
    """

    place: DeclaredPlace
    renamed: Mapping[str, str]
    by_name: bool


_TEXT = r'"((?:[^"]|"")*)"'
_SQL = re.compile(rf"\bSql\.Databases?\s*\(\s*{_TEXT}(?:\s*,\s*{_TEXT})?", re.IGNORECASE)
_POSTGRES = re.compile(rf"PostgreSQL\.Database\s*\(\s*{_TEXT}\s*,\s*{_TEXT}", re.IGNORECASE)
_SNOWFLAKE = re.compile(rf"Snowflake\.Databases\s*\(\s*{_TEXT}", re.IGNORECASE)
_DATABRICKS = re.compile(rf"Databricks\.(?:Catalogs|Query)\s*\(\s*{_TEXT}", re.IGNORECASE)
_BIGQUERY = re.compile(r"GoogleBigQuery\.Database\s*\(", re.IGNORECASE)
_LAKEHOUSE = re.compile(r"Lakehouse\.Contents\s*\(", re.IGNORECASE)
_ONELAKE = re.compile(rf"AzureStorage\.DataLake\s*\(\s*{_TEXT}", re.IGNORECASE)
_KEY = re.compile(rf"\b(Schema|Item|Name|Id|workspaceId|lakehouseId|ItemKind|Kind)\s*=\s*{_TEXT}", re.IGNORECASE)
_NAVIGATION = re.compile(r"\{\s*\[([^\[\]{}]*)\]\s*\}")
_RENAME = re.compile(r"Table\.RenameColumns\s*\(", re.IGNORECASE)
_PAIR = re.compile(rf"\{{\s*{_TEXT}\s*,\s*{_TEXT}\s*\}}")
_CALL = re.compile(r"\b(Table|Value)\.(\w+)\s*\(")
_FABRIC_HOSTS = (".datawarehouse.fabric.microsoft.com", ".pbidedicated.windows.net")
_KEEPS_NAMES = {
    "selectrows", "selectcolumns", "removecolumns", "renamecolumns", "transformcolumntypes", "reordercolumns", "sort",
    "distinct", "buffer", "firstn", "skip", "removerowswitherrors", "replacevalue", "transformcolumns",
}  # fmt: skip
"""M functions that create no columns and change no names, except for renames."""


def table_source(expression: str, shared: Mapping[str, str]) -> TableSource | None:
    """Return the source of an M expression, or None if it is unknown. shared: shared expressions by name."""
    whole = expression
    for name, text in shared.items():
        if re.search(rf'(?<![\w"]){re.escape(name)}(?![\w"])', expression) or f'#"{name}"' in expression:
            whole = f"{text}\n{whole}"
    place = _parse_place(whole)
    if place is None:
        return None
    calls = {found[2].casefold() for found in _CALL.finditer(expression)}
    return TableSource(place, _column_renames(expression), calls <= _KEEPS_NAMES)


def entity_source(entity: str, schema: str | None, shared: Mapping[str, str]) -> TableSource | None:
    """Return the source of a Direct Lake partition, or None if it is unknown.

    The source is a table (`entity`) in the SQL endpoint or OneLake folder that a shared expression names.
    """
    for text in shared.values():
        if found := _SQL.search(text):
            host, database = _unquote(found[1]), _unquote(found[2] or "")
            return TableSource(_sql_server_dataset(host, database, schema or "dbo", entity), {}, by_name=True)
        if found := _ONELAKE.search(text):
            root = _unquote(found[1]).rstrip("/")
            path = "/".join(filter(None, (schema, entity)))
            return TableSource(DeclaredPlace(dataset=f"{root}/Tables/{path}"), {}, by_name=True)
    return None


def _parse_place(text: str) -> DeclaredPlace | None:
    keys: list[dict[str, str]] = [
        {key.casefold(): _unquote(value) for key, value in _KEY.findall(found[1])}
        for found in _NAVIGATION.finditer(text)
    ]
    named = [each["name"] for each in keys if "name" in each]
    table = next((each for each in keys if "item" in each), None)
    if found := _SQL.search(text):
        database = _unquote(found[2]) if found[2] is not None else next(iter(named), "")
        return (
            _sql_server_dataset(_unquote(found[1]), database, table.get("schema", "dbo"), table["item"])
            if table
            else None
        )
    if (found := _POSTGRES.search(text)) and table:
        name = f"{_unquote(found[2])}.{table.get('schema', 'public')}.{table['item']}"
        return DeclaredPlace(namespace=f"postgres://{_unquote(found[1])}", dataset=name)
    if _LAKEHOUSE.search(text):
        return _lakehouse_dataset(keys)
    for found, space in (
        (_SNOWFLAKE.search(text), "snowflake://{}"),
        (_DATABRICKS.search(text), "unitycatalog://{}"),
        (_BIGQUERY.search(text), "bigquery"),
    ):
        if found and len(named) >= 3:
            host = _unquote(found[1]) if found.re.groups else ""
            return DeclaredPlace(namespace=space.format(host), dataset=".".join(named[:3]))
    return None


def _sql_server_dataset(host: str, database: str, schema: str, table: str) -> DeclaredPlace:
    is_fabric = host.casefold().partition(":")[0].endswith(_FABRIC_HOSTS)
    space = f"fabric-warehouse://{host}" if is_fabric else f"mssql://{host}"
    return DeclaredPlace(namespace=space, dataset=f"{database}.{schema}.{table}")


def _lakehouse_dataset(keys: list[dict[str, str]]) -> DeclaredPlace | None:
    values = {key: value for each in keys for key, value in each.items()}
    table = next((each["id"] for each in keys if each.get("itemkind", "").casefold() == "table" and "id" in each), None)
    if not {"workspaceid", "lakehouseid"} <= values.keys() or table is None:
        return None
    path = "/".join(filter(None, (values.get("schema"), table)))
    space = f"abfss://{values['workspaceid']}@onelake.dfs.fabric.microsoft.com"
    return DeclaredPlace(namespace=space, dataset=f"{values['lakehouseid']}/Tables/{path}")


def _column_renames(text: str) -> dict[str, str]:
    """Map the case-folded names of renamed columns in the model to their names in the source."""
    found: dict[str, str] = {}
    for call in _RENAME.finditer(text):
        end = text.find(")", call.end())
        for old, new in _PAIR.findall(text[call.end() : end if end >= 0 else len(text)]):
            found[_unquote(new).casefold()] = found.pop(_unquote(old).casefold(), _unquote(old))
    return found


def _unquote(text: str) -> str:
    return text.replace('""', '"')
