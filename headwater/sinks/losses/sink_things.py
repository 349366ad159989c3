"""What the events of one run, or a declaration, say, thing by thing: what the lake has of them; pure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from msgspec import Raw

from headwater.events.decode import decode
from headwater.events.event import Content
from headwater.events.facet_sets import OF_COLUMNS
from headwater.events.rows import Row, content_rows
from headwater.lineage.edges.facet_contents import SentEdge, is_noise, sent_edges
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.sent_facets import Facets, members, read_stored, sent_datasets
from headwater.sinks.contract.sink_holdings import DEEP, LONG_TEXT, MANY, ThingPart
from headwater.sinks.contract.sink_shape import SinkEvent
from headwater.sinks.merging.merged_event import MergedEvent, merged
from headwater.sinks.merging.run_event import inputs_of

_LINEAGE = ("lineage", *OF_COLUMNS)


class ToldThing(NamedTuple):
    """Something that the events of one run, or a declaration, say; which: what tells it from others of its name."""

    part: ThingPart
    name: str
    which: Any = None


def things_of(events: Sequence[SinkEvent]) -> set[ToldThing]:
    """Return what the events of one run, or one declaration, say; edges only where they count (rule 1)."""
    said = merged(events)
    found = {ToldThing("event", said.kind)}
    found |= {ToldThing("state", event.head.state) for event in events if event.head.state}
    if said.kind != "DATASET":
        found |= {ToldThing("read dataset", "", name) for name in said.inputs}
        found |= {ToldThing("written dataset", "", name) for name in said.outputs}
    if said.kind == "RUN" and said.is_due and said.outputs and not inputs_of(said):
        found.add(ToldThing("missing input", ""))
    found |= {*_facets("run facet", said.of_run), *_facets("job facet", said.of_job)}
    for name, facets in said.datasets.items():
        found.update(_facets("dataset facet", facets, name))
        found.update(ToldThing("nested column", "", (name, path)) for path in _nested(facets.get("schema")))
    found |= {*_values("run", said.of_run), *_values("job", said.of_job), *_statistics(events)}
    if said.counts:
        for row_of, target in _lineage(said):
            found.update(_of_edges(row_of, target))
    return found


def _facets(part: ThingPart, facets: Facets, of: Any = None) -> Iterator[ToldThing]:
    return (ToldThing(part, name, of) for name in facets if name not in _LINEAGE)


def _statistics(events: Iterable[SinkEvent]) -> Iterator[ToldThing]:
    """Yield what runs counted at datasets: the facets that are of one run alone."""
    for dataset in chain.from_iterable(sent_datasets(read_stored(event.body.decode())) for event in events):
        name = Name(dataset.namespace, dataset.name)
        if is_noise(name):
            continue
        yield from _facets("input facet", members(dataset.inputFacets), name)
        yield from _facets("output facet", members(dataset.outputFacets), name)


def _nested(schema: Raw | None) -> list[tuple[str, ...]]:
    rows = content_rows(Content("schemas", "", "schema", bytes(schema))) if schema else []
    return [tuple(row[2]) for row in rows if len(row[2]) > 1]


def _values(of: str, facets: Facets) -> Iterator[ToldThing]:
    """Yield the values of a run's or a job's facets that are more than a few short ones."""
    plain = 0
    for facet, raw in sorted(facets.items()):
        if facet in _LINEAGE:
            continue
        name = f"{of}.{facet}"
        for path, value in leaves(decode(bytes(raw))):
            if len(path) > DEEP or any(isinstance(step, int) for step in path):
                yield ToldThing("nested value", name, path)
            else:
                plain += 1
                if plain > MANY:
                    yield ToldThing("many values", name, path)
            if isinstance(value, str) and len(value) > LONG_TEXT:
                yield ToldThing("long text", name, path)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield what a facet says with the way to it; members with `_` are about the facet itself."""
    if isinstance(value, dict):
        for key, member in value.items():
            if not key.startswith("_"):
                yield from leaves(member, (*path, key))
    elif isinstance(value, list):
        for place, member in enumerate(value):
            yield from leaves(member, (*path, place))
    elif value is not None:
        yield path, value


def _lineage(said: MergedEvent) -> Iterator[tuple[list[Row], Name | None]]:
    """Yield the rows of lineage facets with the dataset that has them; `lineage` facets alone where there is one."""
    declared = [(None, "lineage", raw) for raw in said.declared]
    own = [(name, key, facets[key]) for name, facets in said.outputs.items() for key in _LINEAGE if key in facets]
    told = [*declared, *(each for each in own if each[1] == "lineage")] or own
    yield from ((content_rows(Content("column_lineage", "", key, bytes(raw))), name) for name, key, raw in told)


def _of_edges(rows: Sequence[Row], of: Name | None) -> Iterator[ToldThing]:
    yield from (ToldThing("job edge", "", row[3:13]) for row in rows if "JOB" in (row[3], row[8]))
    for edge in (each for each in sent_edges(rows, Name) if each.job is None and each.into_job is None):
        target, step = edge.target or of, edge.transformation
        if part := _part(edge):
            yield ToldThing(part, "", (target, edge.output, edge.source, edge.column))
        if step.masked:
            yield ToldThing("masked column", "", (target, edge.output))
        if step.subtype:
            yield ToldThing("subtype", step.subtype, (target, edge))
        if step.description:
            yield ToldThing("description", "", (target, edge))


def _part(edge: SentEdge) -> ThingPart | None:
    if edge.source is None:
        return None
    if edge.column is None:
        return "dataset edge"
    if edge.output is None:
        return "dataset-wide edge"
    return "value edge" if edge.transformation.direct else "other edge"
