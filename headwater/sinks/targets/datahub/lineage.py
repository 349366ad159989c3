"""Build lineage between datasets and columns with DataHub's names; D6 and D7 in docs/reference/sinks.md."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from msgspec import Raw

from headwater.events.event import Content
from headwater.events.rows import content_rows
from headwater.lineage.edges.facet_contents import SentEdge, Transformation, read_sent_edges
from headwater.lineage.names.dataset_name import Name
from headwater.sinks.merging.runs import MergedEvent
from headwater.sinks.targets.datahub.aspects import Aspect
from headwater.sinks.targets.datahub.urns import field_urn

Urn = Callable[[Name], str]

MAX_COLUMN_PAIRS = 10_000
"""Maximum number of column pairs of one run from edges to whole datasets.

Such an edge yields a pair with each column of the dataset; if there would be more pairs, these edges yield none.
"""

_CONFIDENCE = 0.5
"""Confidence score of column lineage; DataHub's OpenLineage converter uses the same value."""


class Lineage(NamedTuple):
    """The lineage of one run. inputs, outputs: URNs of datasets.

    upstreams: maps the URN of an output to the URNs of its source datasets. columns: maps it to the lineage aspects of
    its column pairs. masked: maps it to the names of its masked columns.
    """

    inputs: list[str]
    outputs: list[str]
    upstreams: Mapping[str, list[str]]
    columns: Mapping[str, list[Aspect]]
    masked: Mapping[str, set[str]]


class _Column(NamedTuple):
    """A column of a dataset (URN); `name` is None for all columns of the dataset."""

    dataset: str
    name: str | None


def lineage_of(merged: MergedEvent, urn: Urn) -> Lineage:
    """Return a run's lineage, including datasets that only column lineage names (rules 4 and 11 of lineage).

    urn: returns the URN of a dataset.
    """
    edges = _edges_by_target(merged, urn)
    read = [urn(edge.source) for edge in chain.from_iterable(edges.values()) if edge.source]
    inputs = [*dict.fromkeys([*map(urn, merged.inputs), *read])]
    outputs = [*dict.fromkeys([*map(urn, merged.outputs), *(column.dataset for column in edges)])]
    if not edges and set(inputs) == set(outputs):
        outputs = []  # D9: the run rewrites its input or changes its properties
    wide = _columns_by_dataset(merged, urn, edges)
    pairs: dict[str, dict[tuple[str, str], list[SentEdge]]] = defaultdict(lambda: defaultdict(list))
    masked: dict[str, set[str]] = defaultdict(set)
    spreads = (
        sum(len(found) * len(wide[to.dataset]) for to, found in edges.items() if to.name is None) <= MAX_COLUMN_PAIRS
    )
    for (dataset, name), found in edges.items():
        to = wide[dataset] if name is None else [name]
        if any(edge.transformation.is_masked for edge in found):
            masked[dataset].update(to)
        for edge in found:
            if edge.source and edge.source_column and (name is not None or spreads):
                of = field_urn(urn(edge.source), edge.source_column)
                for column in to:
                    pairs[dataset][column, of].append(edge)
    columns = {
        dataset: [_column_pair_lineage(field_urn(dataset, to), of, steps) for (to, of), steps in sorted(found.items())]
        for dataset, found in pairs.items()
    }
    sources: dict[str, list[str]] = defaultdict(list)
    for target, found in edges.items():
        sources[target.dataset] += [urn(edge.source) for edge in found if edge.source]
    upstreams = {
        output: _upstreams_of(output, inputs, sources[output], is_only=len(outputs) == 1) for output in outputs
    }
    return Lineage(inputs, outputs, upstreams, columns, masked)


def _edges_by_target(merged: MergedEvent, urn: Urn) -> dict[_Column, list[SentEdge]]:
    """Return edges by target column; if the run or job has a `lineage` facet, only the edges of this facet."""
    found: dict[_Column, list[SentEdge]] = defaultdict(list)
    for target, edge in _sent_edges(merged):
        found[_Column(urn(target), edge.output_column)].append(edge)
    return found


def _sent_edges(merged: MergedEvent) -> Iterator[tuple[Name, SentEdge]]:
    if declared := merged.lineage_facets:
        for edge in chain.from_iterable(_read_edges("lineage", raw) for raw in declared):
            if edge.target:
                yield edge.target, edge
        return
    for name, facets in merged.outputs.items():
        key = "lineage" if "lineage" in facets else "columnLineage"
        yield from ((name, edge) for edge in (_read_edges(key, facets[key]) if key in facets else ()))


def _columns_by_dataset(merged: MergedEvent, urn: Urn, edges: Mapping[_Column, Any]) -> dict[str, list[str]]:
    """Return the columns of each output that its schema or its edges name, by the output's URN."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for name, facets in merged.outputs.items():
        if "schema" in facets:
            found[urn(name)].update(dict.fromkeys(_column_paths(facets["schema"])))
    for dataset, column in edges:
        if column is not None:
            found[dataset][column] = None
    return {dataset: [*columns] for dataset, columns in found.items()} | {
        each.dataset: [] for each in edges if each.dataset not in found
    }


def _column_paths(schema: Raw) -> list[str]:
    return [".".join(row[2]) for row in content_rows(Content("schemas", "", "schema", bytes(schema)))]


def _upstreams_of(output: str, inputs: Sequence[str], of_columns: Sequence[str], *, is_only: bool) -> list[str]:
    """Return the source datasets of one output.

    of_columns: source datasets of the output's columns. All other inputs are added if this is empty or `is_only`, that
    is, the run has no other output.
    """
    others = [each for each in inputs if each != output] if is_only or not of_columns else ()
    return [*dict.fromkeys([*of_columns, *others])]


def _column_pair_lineage(downstream_column: str, upstream_column: str, edges: Sequence[SentEdge]) -> Aspect:
    """Return the lineage aspect of one pair of columns, with the transformations of all its edges."""
    operations = ",".join(sorted({_operation_text(edge.transformation) for edge in edges if edge.has_transformation}))
    return {
        "upstreamType": "FIELD_SET",
        "upstreams": [upstream_column],
        "downstreamType": "FIELD_SET",
        "downstreams": [downstream_column],
        "confidenceScore": _CONFIDENCE,
    } | ({"transformOperation": operations} if operations else {})


def _operation_text(step: Transformation) -> str:
    """Return `TYPE:SUBTYPE`, followed by `:MASKED` for masking steps, because DataHub has no field for masking."""
    words = ["DIRECT" if step.is_direct else "INDIRECT", step.subtype, "MASKED" if step.is_masked else None]
    return ":".join(word for word in words if word)


def _read_edges(key: str, facet: Raw) -> Sequence[SentEdge]:
    edges = read_sent_edges(content_rows(Content("column_lineage", "", key, bytes(facet))), Name)
    return [edge for edge in edges if edge.source_job is None and edge.target_job is None]
