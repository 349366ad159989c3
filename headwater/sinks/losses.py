"""Report which items of a run, or of the newest events in a time range, a sink's target cannot represent."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

from msgspec import Raw

from headwater.events.decode import decode
from headwater.events.event import Content
from headwater.events.facet_sets import OF_COLUMNS
from headwater.events.rows import Row, content_rows
from headwater.events.times import iso_time
from headwater.lake.bronze_follower import heads_by_id, newest_heads
from headwater.lake.bronze_tables import Bronze
from headwater.lake.reported_events import complete_run_id
from headwater.lineage.edges.facet_contents import SentEdge, is_delta_internal_file, read_sent_edges
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.sent_facets import Facets, decode_members, parse_stored_event, sent_datasets
from headwater.sinks.interface.error_isolation import escape_control_characters
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.shape import SinkEvent, group_by_run
from headwater.sinks.interface.support import DEEP, LONG_TEXT, MANY, ItemKind, SupportTable, support_for
from headwater.sinks.interface.target_registry import target_module
from headwater.sinks.merging.payloads import events_at
from headwater.sinks.merging.runs import MergedEvent, inputs_of, merge_events

_MAX_BODY_BYTES = 64 << 20
"""Maximum total size of the event bodies, which limits time and memory. The first body may be larger."""
_LINEAGE = ("lineage", *OF_COLUMNS)


class LossSelection(NamedTuple):
    """Which events to examine: the events of `run`, or without it the newest received in [since_us, until_us) (UTC).

    limit: maximum number of events.
    """

    run: str | None = None
    since_us: int | None = None
    until_us: int | None = None
    limit: int = 1_000


def loss_report(bronze: Bronze, sink: Sink, selection: LossSelection) -> dict[str, Any]:
    """Return the items of the selected events that the sink's target does not keep whole, with counts and times.

    `left_out` counts the events that the sink's filter rejects; `truncated` says whether there are more events.
    """
    more = selection.limit + 1
    if not bronze.exists():
        found = []
    elif selection.run is not None:
        found = heads_by_id(bronze, complete_run_id(bronze, selection.run), more)
    else:
        found = newest_heads(bronze, selection.since_us, selection.until_us, more)
    seen = found[: selection.limit]
    wanted = [(source, head) for source, head in seen if sink.options.only.matches(head)]
    sizes = accumulate(head.size for _, head in wanted)
    within = [each for each, size in zip(wanted, sizes, strict=True) if size <= _MAX_BODY_BYTES or each is wanted[0]]
    times = [head.received_us for _, head in within]
    support_table = target_module(sink.options.type).support_table(sink.options)
    return {
        "sink": sink.name,
        "type": sink.options.type,
        "events": len(within),
        "left_out": len(seen) - len(wanted),
        "first": iso_time(min(times, default=None)),
        "last": iso_time(max(times, default=None)),
        "truncated": len(found) > len(seen) or len(within) < len(wanted),
        "items": [
            each._replace(name=escape_control_characters(each.name))._asdict()  # producers choose the names of facets
            for each in losses_of(events_at(bronze, within), support_table)
        ],
    }


class Loss(NamedTuple):
    """Items of one kind and name that a target does not represent (held `not`) or represents only in part (`part`).

    things: number of items. runs: number of runs and declarations with such items. why: what happens to the items.
    """

    part: str
    name: str
    held: str
    things: int
    runs: int
    why: str


def losses_of(events: Sequence[SinkEvent], support_table: SupportTable) -> list[Loss]:
    """Return the losses, most frequent first, followed by possible losses that did not occur in these events."""
    things: Counter[tuple[str, str]] = Counter()
    runs: Counter[tuple[str, str]] = Counter()
    for of_one in group_by_run(events, {}):
        found = Counter(
            (thing.part, thing.name) for thing in _ignored_event(of_one, support_table) or reported_items(of_one)
        )
        things.update(found)
        runs.update(found.keys())
    met = {key: support_for(support_table, *key) for key in things}
    lost = [
        Loss(*key, holding.held, things[key], runs[key], holding.why)
        for key, holding in met.items()
        if holding.held != "whole"
    ]
    unmet = [each for each in support_table if each.held != "whole" and each not in met.values()]
    return [
        *sorted(lost, key=lambda each: (-each.runs, each.part, each.name)),
        *(Loss(each.part, each.names, each.held, 0, 0, each.why) for each in unmet),
    ]


def _ignored_event(events: Sequence[SinkEvent], support_table: SupportTable) -> "set[ReportedItem]":
    """Return the event as the only item if the target ignores events of its kind, otherwise an empty set."""
    kind = events[-1].head.kind
    return {ReportedItem("event", kind)} if support_for(support_table, "event", kind).held == "not" else set()


class ReportedItem(NamedTuple):
    """An item in the events of one run, or in a declaration. which: distinguishes items with the same name."""

    part: ItemKind
    name: str
    which: Any = None


def reported_items(events: Sequence[SinkEvent]) -> set[ReportedItem]:
    """Return the items in the events of one run or declaration; runs that do not count have no edges (rule 1)."""
    merged = merge_events(events)
    found = {ReportedItem("event", merged.kind)}
    found |= {ReportedItem("state", event.head.state) for event in events if event.head.state}
    if merged.kind != "DATASET":
        found |= {ReportedItem("read dataset", "", name) for name in merged.inputs}
        found |= {ReportedItem("written dataset", "", name) for name in merged.outputs}
    if merged.kind == "RUN" and merged.is_due and merged.outputs and not inputs_of(merged):
        found.add(ReportedItem("missing input", ""))
    found |= {*_facet_items("run facet", merged.run_facets), *_facet_items("job facet", merged.job_facets)}
    for name, facets in merged.datasets.items():
        found.update(_facet_items("dataset facet", facets, name))
        found.update(ReportedItem("nested column", "", (name, path)) for path in _nested_columns(facets.get("schema")))
    found |= {
        *_facet_value_items("run", merged.run_facets),
        *_facet_value_items("job", merged.job_facets),
        *_statistics_items(events),
    }
    if merged.has_counted_edges:
        for row_of, target in _lineage_rows(merged):
            found.update(_edge_items(row_of, target))
    return found


def _facet_items(part: ItemKind, facets: Facets, of: Any = None) -> Iterator[ReportedItem]:
    return (ReportedItem(part, name, of) for name in facets if name not in _LINEAGE)


def _statistics_items(events: Iterable[SinkEvent]) -> Iterator[ReportedItem]:
    """Yield the input and output facets of the events, which describe a dataset in one run."""
    for dataset in chain.from_iterable(sent_datasets(parse_stored_event(event.body.decode())) for event in events):
        name = Name(dataset.namespace, dataset.name)
        if is_delta_internal_file(name):
            continue
        yield from _facet_items("input facet", decode_members(dataset.inputFacets), name)
        yield from _facet_items("output facet", decode_members(dataset.outputFacets), name)


def _nested_columns(schema: Raw | None) -> list[tuple[str, ...]]:
    rows = content_rows(Content("schemas", "", "schema", bytes(schema))) if schema else []
    return [tuple(row[2]) for row in rows if len(row[2]) > 1]


def _facet_value_items(of: str, facets: Facets) -> Iterator[ReportedItem]:
    """Yield the nested values, long texts and many values of run or job facets; see `ItemKind`. of: `run` or `job`."""
    plain = 0
    for facet, raw in sorted(facets.items()):
        if facet in _LINEAGE:
            continue
        name = f"{of}.{facet}"
        for path, value in leaf_values(decode(bytes(raw))):
            if len(path) > DEEP or any(isinstance(step, int) for step in path):
                yield ReportedItem("nested value", name, path)
            else:
                plain += 1
                if plain > MANY:
                    yield ReportedItem("many values", name, path)
            if isinstance(value, str) and len(value) > LONG_TEXT:
                yield ReportedItem("long text", name, path)


def leaf_values(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the path and value of each leaf of a facet; skips None, and members such as `_schemaURL`."""
    if isinstance(value, dict):
        for key, member in value.items():
            if not key.startswith("_"):
                yield from leaf_values(member, (*path, key))
    elif isinstance(value, list):
        for place, member in enumerate(value):
            yield from leaf_values(member, (*path, place))
    elif value is not None:
        yield path, value


def _lineage_rows(merged: MergedEvent) -> Iterator[tuple[list[Row], Name | None]]:
    """Yield the rows of each lineage facet with its dataset, or None if no dataset contains the facet.

    If there is a `lineage` facet, only `lineage` facets are used.
    """
    declared = [(None, "lineage", raw) for raw in merged.lineage_facets]
    own = [(name, key, facets[key]) for name, facets in merged.outputs.items() for key in _LINEAGE if key in facets]
    chosen = [*declared, *(each for each in own if each[1] == "lineage")] or own
    yield from ((content_rows(Content("column_lineage", "", key, bytes(raw))), name) for name, key, raw in chosen)


def _edge_items(rows: Sequence[Row], of: Name | None) -> Iterator[ReportedItem]:
    yield from (ReportedItem("job edge", "", row[3:13]) for row in rows if "JOB" in (row[3], row[8]))
    for edge in (each for each in read_sent_edges(rows, Name) if each.source_job is None and each.target_job is None):
        target, step = edge.target or of, edge.transformation
        if part := _item_kind_of_edge(edge):
            yield ReportedItem(part, "", (target, edge.output_column, edge.source, edge.source_column))
        if step.is_masked:
            yield ReportedItem("masked column", "", (target, edge.output_column))
        if step.subtype:
            yield ReportedItem("subtype", step.subtype, (target, edge))
        if step.description:
            yield ReportedItem("description", "", (target, edge))


def _item_kind_of_edge(edge: SentEdge) -> ItemKind | None:
    if edge.source is None:
        return None
    if edge.source_column is None:
        return "dataset edge"
    if edge.output_column is None:
        return "dataset-wide edge"
    return "value edge" if edge.transformation.is_direct else "other edge"
