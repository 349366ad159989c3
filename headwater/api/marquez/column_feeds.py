"""The direct input fields of columns, in Marquez's form."""

from typing import Any

from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.as_of import View
from headwater.questions.feeds import feeds


def transformation_json(transformation: Transformation) -> dict[str, Any]:
    """Return a transformation in OpenLineage's form."""
    kind = "DIRECT" if transformation.direct else "INDIRECT"
    return {
        "type": kind,
        "subtype": transformation.subtype,
        "description": transformation.description,
        "masking": transformation.masked,
    }


def legacy_transformation_type(transformation: Transformation) -> str:
    """Return Marquez's `transformationType`, which OpenLineage has replaced by type and subtype."""
    if transformation.masked:
        return "MASKED"
    return (
        "IDENTITY"
        if transformation.subtype in ("IDENTITY", "") or transformation.subtype is None
        else transformation.subtype
    )


def input_fields(view: View, node: int) -> list[dict[str, Any]]:
    """Return the input fields of a column, each with all its transformations."""
    graph, snapshot = view.snapshot.graph, view.snapshot
    found: dict[int, dict[str, Any]] = {}
    for feed in feeds(graph, node, view.counted):
        transformation = feed.transformation
        if feed.node not in found:
            number, key = graph.columns[feed.node]
            name = graph.names[number].plain
            found[feed.node] = {
                **name.shown,
                "dataset": name.name,
                "field": snapshot.shown_columns(name).shown(key or ""),
                "transformationDescription": transformation.description,
                "transformationType": legacy_transformation_type(transformation),
                "transformations": [],
            }
        found[feed.node]["transformations"].append(transformation_json(transformation))
    return sorted(found.values(), key=lambda each: (each["namespace"], each["dataset"], each["field"]))


def column_lineage(view: View, dataset: Name) -> list[dict[str, Any]] | None:
    """Return the input fields of each column of a dataset; None without column lineage."""
    graph = view.snapshot.graph
    number = view.counted.lifetimes.standing(dataset)
    if number is None:
        return None
    columns = view.snapshot.shown_columns(dataset)
    found = []
    for node in graph.nodes_of(number):
        fields = input_fields(view, node)
        if fields:
            first = {key: fields[0][key] for key in ("transformationDescription", "transformationType")}
            found.append({"name": columns.shown(graph.columns[node].key or ""), "inputFields": fields, **first})
    return sorted(found, key=lambda each: str(each["name"])) or None
