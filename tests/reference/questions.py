"""Impact, upstream, surface, unused, tags (docs/lineage.md: questions), asked of a Reference."""

from collections import defaultdict
from collections.abc import Iterable

from tests.reference.names import Name
from tests.reference.records import facets_of
from tests.reference.solver import Column, ColumnEdge, Reference, newest_execution
from tests.reference.writings import Writing


def impact(lineage: Reference, namespace: str, name: str, column: str, mode: str) -> dict[Column, tuple[int, bool]]:
    """Return what a column reaches, as (distance, masked)."""
    return _reached(lineage.column_edges, mode, (namespace, name, lineage.schemas.key((namespace, name), column)))


def upstream(lineage: Reference, namespace: str, name: str, column: str, mode: str) -> dict[Column, tuple[int, bool]]:
    """Return what reaches a column, as (distance, masked)."""
    turned = {(*edge[3:6], *edge[:3], *edge[6:]) for edge in lineage.column_edges}
    return _reached(turned, mode, (namespace, name, lineage.schemas.key((namespace, name), column)))


def tagged(lineage: Reference, tag: str) -> set[Column]:
    """Return the columns with a tag; a tag without field is on every column (None where there is no schema)."""
    newest = {}
    for event in lineage.events:
        for dataset in event.datasets("inputs", "outputs", "dataset"):
            facet, name = facets_of(dataset).get("tags"), lineage.mention(dataset, event)
            if facet and name:
                newest[event.event["producer"], name] = facet
    found: set[Column] = set()
    for (_, name), facet in newest.items():
        for each in facet.get("tags") or []:
            if each["key"].casefold() == tag.casefold() and each["value"].casefold() != "false":
                field = each.get("field")
                found |= {(*name, lineage.schemas.key(name, field))} if field else _all_columns(lineage, name)
    unnamed = {column[:2] for column in found if column[2] is None}
    return found | {edge[:3] for edge in lineage.column_edges if edge[:2] in unnamed}


def surface(lineage: Reference, sources: set[Column]) -> dict[Column, str]:
    """Return the exposure of every column behind the tagged ones, which are left out themselves."""
    clear = _steps(lineage.column_edges, "value", masked=False)
    exposed = _closure(clear, sources) - sources
    masked = _closure(_steps(lineage.column_edges, "value"), sources) - sources
    named: dict[Name, set[str]] = defaultdict(set)
    for writing in lineage.current:
        named[writing.output] |= {lineage.schemas.key(writing.output, column) for column in writing.named}
    opaque = {
        (source, each.output)
        for each in lineage.current
        if each.is_opaque
        for source in each.tables - _explained(lineage, each)
        if not {source, each.output} & lineage.dropped
    }
    unknown: set[Column] = set()
    while True:
        known = exposed | masked | unknown
        leaking = {column[:2] for column in exposed | unknown | sources}
        behind = {output for source, output in opaque if source in leaking}
        more = {each for name in behind for each in _all_columns(lineage, name)}
        more |= {
            (*name, column)
            for name in {column[:2] for column in known}
            for column in lineage.schemas.columns(name) - named[name]
        }
        nameless = {column[:2] for column in unknown if column[2] is None}
        more |= _closure(clear, unknown | {column for column in clear if column[:2] in nameless})
        if more - sources <= known:
            break
        unknown |= more - sources - known
    ranked = [("unknown", unknown), ("masked", masked), ("exposed", exposed)]  # the later one wins
    return {column: exposure for exposure, columns in ranked for column in columns}


def unused(lineage: Reference) -> dict[Column, str]:
    """Return the verdict of every column of the newest schemas; dropped datasets have none."""
    direct = {edge[:3] for edge in lineage.column_edges if edge[:3] != edge[3:6]}
    used = direct | {(*edge[:2], parent) for edge in direct for parent in lineage.schemas.parents(edge[:2], edge[2])}
    opaque, read = _opaquely_read(lineage), _read(lineage)
    verdicts: dict[Column, str] = {}
    for name in lineage.schemas.known.keys() - lineage.dropped:
        for column in lineage.schemas.columns(name):
            of_used = any((*name, parent) in direct for parent in lineage.schemas.parents(name, column))
            is_unknown = name in opaque or name not in read or of_used
            verdicts[*name, column] = "used" if (*name, column) in used else "unknown" if is_unknown else "unused"
    return verdicts


def _opaquely_read(lineage: Reference) -> set[Name]:
    groups = defaultdict(list)
    for writing in lineage.observed:
        groups[writing.job, writing.output].append(writing)
    readers = [writing for group in groups.values() for writing in newest_execution(group, carrying=False)]
    found = {
        name
        for writing in readers + lineage.current
        if writing.is_opaque
        for name in (writing.inputs | writing.tables) - _explained(lineage, writing)
    }
    sinks = defaultdict(list)
    for run in lineage.working:
        content = lineage.contents[run.key]
        if run.is_streaming and content.inputs and not content.outputs and not content.entries:
            sinks[run.job_key].append(run)
    for runs in sinks.values():
        newest = max(runs, key=lambda run: (run.time_us, run.key)).execution
        found |= {name for run in runs if run.execution == newest for name in lineage.contents[run.key].inputs}
    return found


def _explained(lineage: Reference, opaque: Writing) -> set[Name]:
    """Return the datasets that column lineage of the same execution names for the same output."""
    siblings = [each for each in lineage.observed if each.output == opaque.output and opaque.execution]
    return {name for each in siblings if each.execution == opaque.execution for name in each.column_sources}


def _read(lineage: Reference) -> set[Name]:
    written = lineage.observed + lineage.declared
    return {name for each in written for name in each.inputs | each.tables if name != each.output}


def _all_columns(lineage: Reference, name: Name) -> set[Column]:
    return {(*name, column) for column in lineage.schemas.columns(name)} or {(*name, None)}


def _steps(edges: Iterable[ColumnEdge], mode: str, *, masked: bool = True) -> dict[Column, set[Column]]:
    """Return where one step leads; with `masked=False` only steps that show the value."""
    steps: dict[Column, set[Column]] = defaultdict(set)
    for edge in edges:
        if (mode == "any" or edge[6] == "DIRECT") and (masked or not edge[7]):
            steps[edge[:3]].add(edge[3:6])
    return steps


def _reached(edges: Iterable[ColumnEdge], mode: str, asked: Column) -> dict[Column, tuple[int, bool]]:
    steps, clear = _steps(edges, mode), _closure(_steps(edges, mode, masked=False), {asked})
    found: dict[Column, tuple[int, bool]] = {}
    front, distance = {asked}, 0
    while front:
        distance += 1
        front = {target for source in front for target in steps.get(source, ())} - found.keys() - {asked}
        found |= {column: (distance, column not in clear) for column in front}
    return found


def _closure(steps: dict[Column, set[Column]], sources: set[Column]) -> set[Column]:
    found: set[Column] = set()
    front = set(sources)
    while front:
        front = {target for source in front for target in steps.get(source, ())} - found
        found |= front
    return found
