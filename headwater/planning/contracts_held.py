"""Contracts that promise columns, read from their YAML: which of them a change breaks (pure)."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from headwater.contracts.promise import dataset_of, promises_of
from headwater.declarations.yaml_lines import read_yaml
from headwater.planning.planned_schema import Lookup, PresentTable


class HeldContract(NamedTuple):
    """A contract: its id or file, and the columns, case folded, that it promises of tables."""

    name: str
    columns: dict[tuple[str, str], frozenset[str]]

    def promises(self, namespace: str, dataset: str, column: str | None) -> bool:
        """Tell whether it speaks of a column, or with None of the dataset."""
        held = self.columns.get((namespace, dataset))
        return held is not None and (column is None or column.casefold() in held)


def held_contracts(files: Iterable[tuple[str, bytes]], look: Lookup) -> list[HeldContract]:
    """Return the contracts among YAML files; what is no contract is passed over.

    Raises WrongSetting for a contract that does not have the standard's shape: it would hold nothing.
    """
    return [found for file, text in files if (found := _held(file, text, look)) is not None]


def _held(file: str, text: bytes, look: Lookup) -> HeldContract | None:
    contract = read_yaml(text, file).value
    if not isinstance(contract, dict) or contract.get("kind") != "DataContract":
        return None
    promises_of(contract, file)
    columns: dict[tuple[str, str], frozenset[str]] = {}
    for table in contract["schema"]:
        called = called_by_contract(table)
        found: PresentTable | None = look(called) if called else None
        if found is not None:
            columns[found.namespace, found.dataset] = frozenset(_names(table.get("properties")))
    return HeldContract(str(contract.get("id") or contract.get("name") or file), columns)


def called_by_contract(table: Any) -> str | None:
    """Return what a contract calls a table, as questions find it; None for what is no table or has no name."""
    called = dataset_of(table) if isinstance(table, dict) else None
    return called.text if called else None


def _names(properties: Any) -> Iterable[str]:
    for each in properties if isinstance(properties, list) else ():
        name = (each.get("physicalName") or each.get("name")) if isinstance(each, dict) else None
        if isinstance(name, str):
            yield name.casefold()
