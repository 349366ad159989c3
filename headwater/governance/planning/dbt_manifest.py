"""Apply the manifest of a dbt project to a planned schema, in dbt's build order. No I/O."""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.common.errors import WrongSetting
from headwater.governance.planning.query_columns import selected_columns
from headwater.governance.planning.schema import PlannedColumn, PlannedSchema

_DIALECTS = {"sqlserver": "tsql", "fabric": "tsql", "synapse": "tsql", "fabricspark": "spark"}
_BUILT = ("model", "snapshot", "seed")


def is_manifest(value: Any) -> bool:
    """Return whether decoded JSON is a dbt manifest."""
    return isinstance(value, dict) and isinstance(value.get("nodes"), dict) and isinstance(value.get("metadata"), dict)


def apply_manifest(manifest: Mapping[str, Any], schema: PlannedSchema, file: str) -> None:
    """Replace the tables in a schema with the models of a manifest, and add models without a table as new tables.

    A model's columns come from its enforced contract or from its compiled code, which `dbt compile` writes. Without
    both, they are unknown. file: name of the manifest, for error messages.
    """
    dialect = dialect_of(manifest)
    nodes = {
        key: each
        for key, each in manifest["nodes"].items()
        if isinstance(each, dict) and each.get("resource_type") in _BUILT
    }
    needs = {key: [on for on in _upstream_node_ids(each) if on in nodes] for key, each in nodes.items()}
    try:
        order = [*TopologicalSorter(needs).static_order()]
    except CycleError as error:
        raise WrongSetting(
            f"{file}: its models depend on each other in a cycle: {error.args[1][:3]}. Run `dbt parse`."
        ) from None
    for key in order:
        _apply_node(key, nodes[key], dialect, schema)


def dialect_of(manifest: Mapping[str, Any]) -> str:
    """Return the sqlglot dialect of a project."""
    adapter = str(manifest["metadata"].get("adapter_type") or "")
    return _DIALECTS.get(adapter, adapter)


def _upstream_node_ids(node: Mapping[str, Any]) -> list[str]:
    on = node.get("depends_on")
    listed = on.get("nodes") if isinstance(on, dict) else None
    return listed if isinstance(listed, list) else []


def _apply_node(key: str, node: Mapping[str, Any], dialect: str, schema: PlannedSchema) -> None:
    config = node.get("config") if isinstance(node.get("config"), dict) else {}
    if (config or {}).get("materialized") == "ephemeral" or node.get("resource_type") == "seed":
        return
    table_name = ".".join(str(part) for part in (node.get("database"), node.get("schema"), node.get("alias")) if part)
    if not table_name:
        raise WrongSetting(
            f"The manifest does not name the table of {key!r}: it has no `alias`. Run `dbt parse` to rebuild it."
        )
    schema.create_table(table_name, *_planned_columns(node, config or {}, dialect, schema))


def _planned_columns(
    node: Mapping[str, Any], config: Mapping[str, Any], dialect: str, schema: PlannedSchema
) -> tuple[list[PlannedColumn] | None, str | None]:
    """Return the columns of a model and None, or None and the reason why the columns are unknown.

    The columns come from the model's enforced contract, which dbt verifies, or without one from its compiled code.
    """
    written = node.get("columns")
    contract = config.get("contract") or node.get("contract")
    if isinstance(contract, dict) and contract.get("enforced") and isinstance(written, dict):
        listed = [each for each in written.values() if isinstance(each, dict) and isinstance(each.get("name"), str)]
        return [PlannedColumn(each["name"], each.get("data_type"), None) for each in listed], None
    code = node.get("compiled_code")
    if not isinstance(code, str) or not code.strip():
        return (
            None,
            "The manifest contains no compiled code and no enforced contract for this model. Run `dbt compile`.",
        )
    try:
        query = sqlglot.parse_one(code, read=dialect)
    except (SqlglotError, ValueError, RecursionError) as error:
        return None, f"Its compiled code cannot be parsed: {str(error).splitlines()[0][:200]}"
    if not isinstance(query, exp.Query):
        return None, "Its compiled code is not a query."
    return selected_columns(query, dialect, schema)
