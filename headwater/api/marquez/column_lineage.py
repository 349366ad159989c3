"""Lineage of columns. `inEdges` point from a column to what feeds it: Marquez draws them so, and its page needs it."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from headwater.api.marquez.asking import Answer, Asked, LookAgain, Unknown, flag, not_found, required
from headwater.api.marquez.columns import how_json, old_type
from headwater.api.marquez.datasets import find_version
from headwater.api.marquez.facet_texts import schema_fields
from headwater.api.marquez.nodes import Node, find_node, version_text
from headwater.errors import NotKnown
from headwater.index.catalog_tables import JOB
from headwater.lineage.columns import Columns
from headwater.lineage.contents import How
from headwater.lineage.walk import allowed_hows
from headwater.lineage.wave import Wave
from headwater.questions.asking import find_column, nodes_of
from headwater.questions.declaring import read_as
from headwater.questions.feeds import feeds
from headwater.questions.parameters import Mode

MAX_NODES = 5_000
"""Columns of one answer; one that was cut here says `truncated`."""


def get_column_lineage(asked: Asked) -> Answer:
    """GET /column-lineage of a dataset, a column (`datasetField:`) or the outputs of a job.

    Behind `#` stands a version: lineage is then that of the moment in which this version was first written.
    `mode=value` leaves out what only filters, joins or sorts by a column.
    """
    text = required(asked.query, "nodeId")
    node = find_node(asked, text)
    if node.version is not None and asked.is_now:
        raise LookAgain(_moment_of(asked, node, text))
    starts = _starts(asked, node)
    ways = (False, True) if flag(asked.query, "withDownstream") else (False,)
    reached, truncated = set(starts), False
    for forward in ways:
        more = _reach(asked, starts, forward=forward)
        truncated = truncated or len(more) > MAX_NODES
        reached |= more
    nodes = _Drawing(asked, sorted(reached)[:MAX_NODES]).nodes()
    return {"graph": nodes, "truncated": truncated or len(reached) > MAX_NODES}


def _moment_of(asked: Asked, node: Node, text: str) -> int:
    version = node.version or ""
    if node.dataset:
        row = find_version(asked, node.dataset, version)
    else:
        known = asked.catalog.versions.listed(JOB, node.job.key if node.job else 0, -1)
        row = next((each for each in known if version_text(each.version) == version.lower()), None)
    if row is None:
        raise not_found("Node", text[:500])
    return row.first_us


def _starts(asked: Asked, node: Node) -> list[int]:
    moment = asked.sight.moment
    if node.dataset is None:
        key = asked.catalog.name(node.job.key) if node.job else None
        sets = [number for number in moment.graph.of_job.get(key, ()) if asked.sight.view.live[number]] if key else []
        outputs = {output for number in sets if (output := moment.graph.sets[number][1].output)}
        return [each for output in outputs for each in nodes_of(moment, asked.sight.view, output.plain, None)]
    if node.column is None:
        return nodes_of(moment, asked.sight.view, node.dataset, None)
    try:
        column = find_column(moment, node.dataset, node.column)
        return nodes_of(moment, asked.sight.view, node.dataset, column)
    except NotKnown as error:
        raise Unknown(str(error)) from error


def _reach(asked: Asked, starts: list[int], *, forward: bool) -> set[int]:
    sight, depth = asked.sight, asked.depth()
    allowed = allowed_hows(sight.moment.graph, read_as(Mode, "mode", asked.query.get("mode") or "any"), masked=True)
    wave = Wave(sight.moment.graph, starts, sight.view, forward=forward, allowed=allowed)
    found: set[int] = set()
    while wave.front and wave.distance < depth and len(found) <= MAX_NODES:
        most = None if sight.view.hidden else MAX_NODES + 1 - len(found)
        hits = (hit.node for hit in wave.advance(most))
        found.update(node for node in hits if sight.moment.graph.dataset_of[node] not in sight.view.hidden)
    return found


class _Dataset(NamedTuple):
    """What all columns of a dataset share in an answer."""

    namespace: str
    name: str
    version: str | None
    columns: Columns
    types: dict[str, str]


class _Drawing:
    """The nodes and edges of one answer."""

    def __init__(self, asked: Asked, nodes: Iterable[int]):
        self._asked = asked
        self._graph = asked.sight.moment.graph
        self._value_only = asked.query.get("mode") == "value"
        self._nodes = dict.fromkeys(nodes)
        self._dataset = lru_cache(maxsize=None)(self._read_dataset)
        self._labels = {node: self._label(node) for node in self._nodes}

    def _read_dataset(self, number: int) -> _Dataset:
        asked, name = self._asked, self._graph.names[number].plain
        facets = asked.catalog.dataset_facets(name, only="schema")
        types = {each["name"].casefold(): str(each.get("type") or "") for each in schema_fields(facets)}
        version = version_text(asked.catalog.versions.newest(name))
        return _Dataset(*name.parts, version, asked.sight.moment.shown_columns(name), types)

    def _label(self, node: int) -> tuple[str, _Dataset, str]:
        number, key = self._graph.columns[node]
        dataset = self._dataset(number)
        column = dataset.columns.shown(key or "")
        return f"datasetField:{dataset.namespace}:{dataset.name}:{column}", dataset, column

    def nodes(self) -> list[dict[str, Any]]:
        """Return the nodes with their edges, by their ids."""
        found: dict[int, dict[str, Any]] = {}
        out: dict[int, list[int]] = {}
        for node in self._nodes:
            inputs = self._inputs(node)
            for source in inputs:
                out.setdefault(source, []).append(node)
            found[node] = self._node(node, inputs)
        for node, far in out.items():
            if node in found:
                origin = self._labels[node][0]
                found[node]["outEdges"] = [
                    {"origin": origin, "destination": text} for text in sorted(self._labels[each][0] for each in far)
                ]
        return sorted(found.values(), key=lambda each: str(each["id"]))

    def _inputs(self, node: int) -> dict[int, list[How]]:
        """Return what feeds a column directly: node → its transformations."""
        found: dict[int, list[How]] = {}
        for feed in feeds(self._graph, node, self._asked.sight.view):
            if not self._value_only or feed.how.direct:
                found.setdefault(feed.node, []).append(feed.how)
        return found

    def _node(self, node: int, inputs: dict[int, list[How]]) -> dict[str, Any]:
        text, dataset, column = self._labels[node]
        fields = [self._input_field(source, hows) for source, hows in inputs.items()]
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

    def _input_field(self, source: int, hows: list[How]) -> dict[str, Any]:
        _, dataset, column = self._labels.get(source) or self._label(source)
        return {
            "namespace": dataset.namespace,
            "dataset": dataset.name,
            "datasetVersion": dataset.version,
            "field": column,
            "transformationDescription": hows[0].description,
            "transformationType": old_type(hows[0]),
            "transformations": [how_json(how) for how in hows],
        }
