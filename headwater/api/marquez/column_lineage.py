"""Column lineage. As in Marquez, `inEdges` point from a column to its inputs; Marquez's page relies on this."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from headwater.api.marquez.datasets import find_version, legacy_transformation_type, transformation_json
from headwater.api.marquez.nodes import Node, find_node, version_text, with_requested_spelling
from headwater.api.marquez.requests import (
    Answer,
    MarquezNotFound,
    ReopenAsOf,
    RequestContext,
    not_found_error,
    parse_flag,
    required_parameter,
)
from headwater.api.marquez.texts import schema_fields
from headwater.common.errors import NotKnown
from headwater.index.stored.database import JOB
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.traversal.frontier import FrontierSearch
from headwater.lineage.traversal.impact import allowed_transformations
from headwater.questions.declaring import parse_as
from headwater.questions.neighbourhood import steps_into_column
from headwater.questions.parameters import Mode
from headwater.questions.subjects import find_column, nodes_of

MAX_NODES = 5_000
"""Maximum number of columns in an answer. A larger answer is cut and has the member `truncated`."""


def get_column_lineage(context: RequestContext) -> Answer:
    """GET /column-lineage of a dataset, a column (`datasetField:`) or the outputs of a job.

    With `#VERSION` after the id, the lineage is that of the time at which the version was first written.
    `mode=value` omits columns that are only used to filter, join or sort.
    """
    text = required_parameter(context.query, "nodeId")
    node = find_node(context, text)
    if node.version is not None and context.is_now:
        raise ReopenAsOf(_time_of_version(context, node, text))
    starts = _start_nodes(context, node)
    ways = (False, True) if parse_flag(context.query, "withDownstream") else (False,)
    reached, truncated = set(starts), False
    for forward in ways:
        more = _reached_nodes(context, starts, forward=forward)
        truncated = truncated or len(more) > MAX_NODES
        reached |= more
    nodes = _ColumnGraphAnswer(context, sorted(reached)[:MAX_NODES]).nodes_json()
    found = {"graph": nodes, "truncated": truncated or len(reached) > MAX_NODES}
    if node.dataset is None:
        return found
    spelled = text.removesuffix(f"#{node.version}").partition(":")[2]
    spelled = spelled.removesuffix(f":{node.column}") if node.column is not None else spelled
    canonical = ":".join(node.dataset.parts)
    return with_requested_spelling(found, f"datasetField:{canonical}:", f"datasetField:{spelled}:", node.column)


def _time_of_version(context: RequestContext, node: Node, text: str) -> int:
    version = node.version or ""
    if node.dataset:
        row = find_version(context, node.dataset, version)
    else:
        known = context.catalog.versions.versions(JOB, node.job.key_number if node.job else 0, -1)
        row = next((each for each in known if version_text(each.version) == version.lower()), None)
    if row is None:
        raise not_found_error("Node", text[:500])
    return row.first_us


def _start_nodes(context: RequestContext, node: Node) -> list[int]:
    snapshot = context.view.snapshot
    if node.dataset is None:
        key = context.catalog.name_of_number(node.job.key_number) if node.job else None
        sets = (
            [
                number
                for number in snapshot.graph.edge_sets_by_job.get(key, ())
                if context.view.counted_edges.live_mask[number]
            ]
            if key
            else []
        )
        outputs = {output for number in sets if (output := snapshot.graph.edge_sets[number][1].output)}
        return [
            each
            for output in outputs
            for each in nodes_of(snapshot, context.view.counted_edges, output.without_generation, None)
        ]
    if node.column is None:
        return nodes_of(snapshot, context.view.counted_edges, node.dataset, None)
    try:
        column = find_column(snapshot, node.dataset, node.column)
        return nodes_of(snapshot, context.view.counted_edges, node.dataset, column)
    except NotKnown as error:
        raise MarquezNotFound(str(error)) from error


def _reached_nodes(context: RequestContext, starts: list[int], *, forward: bool) -> set[int]:
    view, depth = context.view, context.depth()
    allowed = allowed_transformations(
        view.snapshot.graph, parse_as(Mode, "mode", context.query.get("mode") or "any"), masked=True
    )
    wave = FrontierSearch(view.snapshot.graph, starts, view.counted_edges, forward=forward, allowed=allowed)
    found: set[int] = set()
    while wave.frontier and wave.distance < depth and len(found) <= MAX_NODES:
        most = None if view.counted_edges.dropped_datasets else MAX_NODES + 1 - len(found)
        hits = (hit.node for hit in wave.advance(most))
        found.update(
            node for node in hits if view.snapshot.graph.dataset_of[node] not in view.counted_edges.dropped_datasets
        )
    return found


class _DatasetLabels(NamedTuple):
    """Properties of a dataset that its columns share in an answer."""

    namespace: str
    name: str
    version: str | None
    columns: Columns
    types: dict[str, str]


class _ColumnGraphAnswer:
    """Builds the nodes and edges of an answer."""

    def __init__(self, context: RequestContext, nodes: Iterable[int]):
        self._context = context
        self._graph = context.view.snapshot.graph
        self._value_only = context.query.get("mode") == "value"
        self._nodes = dict.fromkeys(nodes)
        self._dataset = lru_cache(maxsize=None)(self._read_dataset)
        self._labels = {node: self._label_of_node(node) for node in self._nodes}

    def _read_dataset(self, number: int) -> _DatasetLabels:
        context, name = self._context, self._graph.names[number].without_generation
        facets = context.catalog.dataset_facets(name, only_facet="schema")
        types = {each["name"].casefold(): str(each.get("type") or "") for each in schema_fields(facets)}
        version = version_text(context.catalog.versions.newest_version(name, context.names_of(name))[0])
        return _DatasetLabels(*name.parts, version, context.view.snapshot.shown_columns(name), types)

    def _label_of_node(self, node: int) -> tuple[str, _DatasetLabels, str]:
        number, key = self._graph.columns[node]
        dataset = self._dataset(number)
        column = dataset.columns.displayed_spelling(key or "")
        return f"datasetField:{dataset.namespace}:{dataset.name}:{column}", dataset, column

    def nodes_json(self) -> list[dict[str, Any]]:
        """Return the nodes with their edges, sorted by id."""
        found: dict[int, dict[str, Any]] = {}
        out: dict[int, list[int]] = {}
        for node in self._nodes:
            inputs = self._inputs_of_column(node)
            for source in inputs:
                out.setdefault(source, []).append(node)
            found[node] = self._node_json(node, inputs)
        for node, far in out.items():
            if node in found:
                origin = self._labels[node][0]
                found[node]["outEdges"] = [
                    {"origin": origin, "destination": text} for text in sorted(self._labels[each][0] for each in far)
                ]
        return sorted(found.values(), key=lambda each: str(each["id"]))

    def _inputs_of_column(self, node: int) -> dict[int, list[Transformation]]:
        """Return the direct inputs of a column with their transformations, by node."""
        found: dict[int, list[Transformation]] = {}
        for feed in steps_into_column(self._graph, node, self._context.view.counted_edges):
            if not self._value_only or feed.transformation.is_direct:
                found.setdefault(feed.node, []).append(feed.transformation)
        return found

    def _node_json(self, node: int, inputs: dict[int, list[Transformation]]) -> dict[str, Any]:
        text, dataset, column = self._labels[node]
        fields = [self._input_field_json(source, transformations) for source, transformations in inputs.items()]
        inside = sorted(self._labels[source][0] for source in inputs if source in self._labels)
        return {
            "id": text,
            "type": "DATASET_FIELD",
            "data": {
                "namespace": dataset.namespace,
                "dataset": dataset.name,
                "datasetVersion": dataset.version,
                "field": column,
                "fieldType": dataset.types.get(column.casefold(), ""),
                "transformationDescription": fields[0]["transformationDescription"] if fields else None,
                "transformationType": fields[0]["transformationType"] if fields else None,
                "inputFields": fields,
            },
            "inEdges": [{"origin": text, "destination": each} for each in inside],
            "outEdges": [],
        }

    def _input_field_json(self, source: int, transformations: list[Transformation]) -> dict[str, Any]:
        _, dataset, column = self._labels.get(source) or self._label_of_node(source)
        return {
            "namespace": dataset.namespace,
            "dataset": dataset.name,
            "datasetVersion": dataset.version,
            "field": column,
            "transformationDescription": transformations[0].description,
            "transformationType": legacy_transformation_type(transformations[0]),
            "transformations": [transformation_json(transformation) for transformation in transformations],
        }
