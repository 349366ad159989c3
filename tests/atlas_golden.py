"""Writes `atlas_golden.json`: what Purview is told of one run, by pyapacheatlas' own classes and by hand, not by ours.

It needs pyapacheatlas 0.16.0, which nothing else here does:
`python -m venv DIR && DIR/bin/pip install pyapacheatlas==0.16.0 && DIR/bin/python -m tests.atlas_golden`.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).with_suffix(".json")

_ADLS = "https://acme.dfs.core.windows.net/lake"
_UNITY = "openlineage-dataset://unitycatalog%3A%2F%2Fadb-1.azuredatabricks.net/main.sales.orders"
_TEXTS = {
    "openlineage_process": (
        "Process",
        ("columnMapping", "openlineageRunId", "openlineageState", "jobNamespace", "jobName", "lastEventTime"),
    ),
    "openlineage_dataset": ("DataSet", ("openlineageNamespace", "openlineageName")),
}


def made() -> dict[str, Any]:
    """Return the definitions of types, and the entities: two datasets are read, one is written, two columns named."""
    from pyapacheatlas.core import AtlasEntity, AtlasProcess
    from pyapacheatlas.core.typedef import AtlasAttributeDef, EntityTypeDef

    definitions = [
        EntityTypeDef(name, superTypes=[parent], attributeDefs=[AtlasAttributeDef(text) for text in texts])
        for name, (parent, texts) in _TEXTS.items()
    ]
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
        "entities": [each.to_json() for each in (bronze, silver, unity, job, process)],
    }


def _hash(*names: str) -> str:
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:32]


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(made(), indent=1, sort_keys=True) + "\n", "utf-8")
