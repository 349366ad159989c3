"""Contracts that a schema change may break. No I/O."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from headwater.governance.contracts.promise import dataset_of, promises_of
from headwater.governance.declarations.yaml_lines import read_yaml
from headwater.governance.planning.planned_schema import Lookup, PresentTable


class PromisedColumns(NamedTuple):
    """A contract: its id or file, and the case-folded columns that it promises for each table."""

    name: str
    columns: dict[tuple[str, str], frozenset[str]]

    def promises(self, namespace: str, dataset: str, column: str | None) -> bool:
        """Return whether the contract promises a column, or with None anything about the dataset."""
        promised = self.columns.get((namespace, dataset))
        return promised is not None and (column is None or column.casefold() in promised)


def read_promised_columns(files: Iterable[tuple[str, bytes]], look: Lookup) -> list[PromisedColumns]:
    """Return the contracts among YAML files. Other files are ignored.

    Raises WrongSetting for a contract that does not follow the standard, because it would promise nothing.
    """
    return [found for file, text in files if (found := _promised_columns(file, text, look)) is not None]


def _promised_columns(file: str, text: bytes, look: Lookup) -> PromisedColumns | None:
    contract = read_yaml(text, file).value
    if not isinstance(contract, dict) or contract.get("kind") != "DataContract":
        return None
    promises_of(contract, file)
    columns: dict[tuple[str, str], frozenset[str]] = {}
    for table in contract["schema"]:
        table_name = contract_table_name(table)
        found: PresentTable | None = look(table_name) if table_name else None
        if found is not None:
            columns[found.namespace, found.dataset] = frozenset(_names(table.get("properties")))
    return PromisedColumns(str(contract.get("id") or contract.get("name") or file), columns)


def contract_table_name(table: Any) -> str | None:
    """Return the name of a contract's table for questions; None if it has no name or is not a table."""
    table_name = dataset_of(table) if isinstance(table, dict) else None
    return table_name.text if table_name else None


def _names(properties: Any) -> Iterable[str]:
    for each in properties if isinstance(properties, list) else ():
        name = (each.get("physicalName") or each.get("name")) if isinstance(each, dict) else None
        if isinstance(name, str):
            yield name.casefold()
