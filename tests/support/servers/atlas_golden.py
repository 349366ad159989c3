"""Write `atlas_golden.json`: the entities of one run, built with pyapacheatlas instead of Headwater's code.

The file contains what Purview must receive. Only this script needs pyapacheatlas 0.16.0:
`python -m venv DIR && DIR/bin/pip install pyapacheatlas==0.16.0`, then
`DIR/bin/python -m tests.support.servers.atlas_golden`.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).with_suffix(".json")

_ADLS = "https://acme.dfs.core.windows.net/lake"
_UNITY = "openlineage-dataset://unitycatalog%3A%2F%2Fadb-1.azuredatabricks.net/main.sales.orders"
_SQL = "mssql://srv.database.windows.net/sales/dbo/orders"
_TEXTS: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "openlineage_process": (
        "Process",
        ("columnMapping", "openlineageRunId", "openlineageState", "jobNamespace", "jobName", "lastEventTime"),
        {},
    ),
    "openlineage_dataset": (
        "DataSet",
        ("openlineageNamespace", "openlineageName"),
        {"options": {"schemaElementsAttribute": "columns"}},
    ),
    "openlineage_column": ("DataSet", ("data_type",), {"options": {"schemaAttributes": '["data_type"]'}}),
}


def made() -> dict[str, Any]:
    """Return the type definitions and entities of a run that reads two datasets and writes one, with two columns.

    requests: two tables with columns, each in one request: one table of Azure SQL and one of an unknown type.
    """
    from pyapacheatlas.core import AtlasEntity, AtlasProcess
    from pyapacheatlas.core.typedef import (
        AtlasAttributeDef,
        ChildEndDef,
        EntityTypeDef,
        ParentEndDef,
        RelationshipTypeDef,
    )

    definitions = [
        EntityTypeDef(name, superTypes=[parent], attributeDefs=[AtlasAttributeDef(text) for text in texts], **options)
        for name, (parent, texts, options) in _TEXTS.items()
    ]
    relation = RelationshipTypeDef(
        "openlineage_dataset_columns",
        ParentEndDef("columns", "openlineage_dataset"),
        ChildEndDef("table", "openlineage_column"),
        "COMPOSITION",
    )
    bronze = AtlasEntity("orders", "azure_datalake_gen2_path", f"{_ADLS}/bronze/orders")
    silver = AtlasEntity("orders", "azure_datalake_gen2_path", f"{_ADLS}/silver/orders")
    unity = AtlasEntity(
        "main.sales.orders",
        "openlineage_dataset",
        _UNITY,
        attributes={
            "openlineageNamespace": "unitycatalog://adb-1.azuredatabricks.net",
            "openlineageName": "main.sales.orders",
        },
        customAttributes={"openlineage": "made"},
    )
    said = {
        "jobNamespace": "tests",
        "jobName": "load",
        "openlineageState": "COMPLETE",
        "lastEventTime": "2026-03-01T12:00:00.000Z",
        "openlineageRunId": "0195c000-0000-7000-8000-00000000a71a",
    }
    mapping = [
        {
            "DatasetMapping": {"Source": source, "Sink": silver.qualifiedName},
            "ColumnMapping": [{"Source": column, "Sink": target}],
        }
        for source, column, target in ((bronze.qualifiedName, "id", "order_id"), (_UNITY, "amount", "total"))
    ]
    process = AtlasProcess(
        "load",
        "openlineage_process",
        f"openlineage://tests/load/processes/{_hash(bronze.qualifiedName, _UNITY)}->{_hash(silver.qualifiedName)}",
        inputs=[bronze, unity],
        outputs=[silver],
        attributes={**said, "columnMapping": json.dumps(mapping, separators=(",", ":"))},
    )
    job = AtlasEntity("load", "openlineage_process", "openlineage://tests/load", attributes=said)
    return {
        "entityDefs": [each.to_json() for each in definitions],
        "relationshipDefs": [relation.to_json()],
        "entities": [each.to_json() for each in (bronze, silver, unity, job, process)],
        "requests": [
            _with_columns("azure_sql_table", "azure_sql_column", _SQL, "orders", {}),
            _with_columns(
                "openlineage_dataset",
                "openlineage_column",
                _UNITY,
                "main.sales.orders",
                {key: value for key, value in unity.attributes.items() if key.startswith("openlineage")},
            ),
        ],
    }


def _with_columns(kind: str, column_kind: str, name: str, shown: str, more: dict[str, str]) -> list[dict[str, Any]]:
    """Return a table and then its columns, which refer to the table by its guid in the request."""
    from pyapacheatlas.core import AtlasEntity

    table = AtlasEntity(shown, kind, name, "-1", attributes=more, customAttributes={"openlineage": "made"})
    columns = []
    for number, (column, data_type, text) in enumerate((("id", "bigint", "Its number"), ("total", "decimal", "")), 2):
        entity = AtlasEntity(
            column,
            column_kind,
            f"{name}#{column}",
            f"-{number}",
            attributes={"data_type": data_type, "description": text},
            customAttributes={"openlineage": "2026-03-01T12:00:00.000Z"},
            relationshipAttributes={},  # required by addRelationship, which otherwise adds nothing
        )
        entity.addRelationship(table=table)
        columns.append(entity)
    return [each.to_json() for each in (table, *columns)]


def _hash(*names: str) -> str:
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:32]


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(made(), indent=1, sort_keys=True) + "\n", "utf-8")
