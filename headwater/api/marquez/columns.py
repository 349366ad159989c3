"""What feeds the columns of a dataset directly, as Marquez shows it."""

from typing import Any

from headwater.lineage.contents import How
from headwater.lineage.lens import Sight
from headwater.lineage.name import Name
from headwater.questions.feeds import feeds


def how_json(how: How) -> dict[str, Any]:
    """Return a transformation as OpenLineage writes it."""
    kind = "DIRECT" if how.direct else "INDIRECT"
    return {"type": kind, "subtype": how.subtype, "description": how.description, "masking": how.masked}


def old_type(how: How) -> str:
    """Return a transformation by the words that Marquez has for it."""
    if how.masked:
        return "MASKED"
    return "IDENTITY" if how.subtype in ("IDENTITY", "") or how.subtype is None else how.subtype


def input_fields(sight: Sight, node: int) -> list[dict[str, Any]]:
    """Return the columns that feed a column, each with all its transformations."""
    graph, moment = sight.moment.graph, sight.moment
    found: dict[int, dict[str, Any]] = {}
    for feed in feeds(graph, node, sight.view):
        how = feed.how
        if feed.node not in found:
            number, key = graph.columns[feed.node]
            name = graph.names[number].plain
            found[feed.node] = {
                **name.shown,
                "dataset": name.name,
                "field": moment.shown_columns(name).shown(key or ""),
                "transformationDescription": how.description,
                "transformationType": old_type(how),
                "transformations": [],
            }
        found[feed.node]["transformations"].append(how_json(how))
    return sorted(found.values(), key=lambda each: (each["namespace"], each["dataset"], each["field"]))


def column_lineage(sight: Sight, dataset: Name) -> list[dict[str, Any]] | None:
    """Return what feeds each column of a dataset; None where nobody says."""
    graph = sight.moment.graph
    number = sight.view.lifetimes.standing(dataset)
    if number is None:
        return None
    columns = sight.moment.shown_columns(dataset)
    found = []
    for node in graph.nodes_of(number):
        fields = input_fields(sight, node)
        if fields:
            first = {key: fields[0][key] for key in ("transformationDescription", "transformationType")}
            found.append({"name": columns.shown(graph.columns[node].key or ""), "inputFields": fields, **first})
    return sorted(found, key=lambda each: str(each["name"])) or None
