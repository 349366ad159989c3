"""Datasets, columns and edges as answers show them."""

from typing import Any

from headwater.lineage.contents import How
from headwater.lineage.name import Name
from headwater.lineage.snapshot import Snapshot
from headwater.lineage.wave import Hit


def dataset_json(name: Name) -> dict[str, str]:
    """Return a dataset."""
    return {"namespace": name.namespace, "dataset": name.name}


def job_json(name: Name) -> dict[str, str]:
    """Return a job."""
    return {"namespace": name.namespace, "name": name.name}


def column_json(moment: Snapshot, dataset: Name, key: str | None) -> dict[str, Any]:
    """Return a column as the newest schema spells it."""
    shown = None if key is None else moment.columns(dataset).shown(key)
    return {**dataset_json(dataset), "column": shown}


def node_json(moment: Snapshot, node: int) -> dict[str, Any]:
    """Return the column of a node."""
    column = moment.graph.columns[node]
    return column_json(moment, moment.graph.names[column.dataset], column.key)


def how_json(how: How) -> dict[str, Any]:
    """Return a transformation."""
    return {
        "type": "DIRECT" if how.direct else "INDIRECT",
        "subtype": how.subtype,
        "masking": how.masked,
        "description": how.description,
    }


def via_json(moment: Snapshot, hit: Hit) -> dict[str, Any]:
    """Return how a hit was reached: from which column, by which job, by what transformation."""
    group, _ = moment.graph.sets[hit.edge_set]
    return {
        **node_json(moment, hit.parent),
        "job": job_json(moment.job(group.job)),
        "transformation": how_json(moment.graph.hows[hit.how]),
    }
