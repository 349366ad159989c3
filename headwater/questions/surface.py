"""The question `surface`: where the values of tagged columns end up, and how."""

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

from msgspec import UNSET, structs

from headwater.common.errors import NotKnown
from headwater.common.nearest_names import NEAREST, nearest_names
from headwater.common.paging import ListPage, RowOrder
from headwater.events.times import iso_time
from headwater.lineage.edges.candidates import NO_SOURCES
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.rules.tags import has_tag
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.run_derivation import lineage_weight
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.traversal.clear_rows import WriteTimes
from headwater.lineage.traversal.frontier import Hit
from headwater.lineage.traversal.masking_surface import SurfaceColumn, find_surface_with_rows
from headwater.lineage.traversal.tagged_columns import last_clear_writes_us, tagged_columns
from headwater.questions.answer_types.columns import Exposures, Surface, SurfaceItem, SurfaceVia
from headwater.questions.answer_types.common import Column, Job, StepTransformation
from headwater.questions.conversions import ColumnConverter, former_location
from headwater.questions.incomplete_lineage import (
    events_removed_before_day,
    removal_note,
    unfinished_runs,
    with_proven_exposure,
)
from headwater.questions.subjects import Subject, find_column, find_dataset, nodes_of_column_in_generation

ColumnName = tuple[str, str, str]
"""(namespace, dataset, column key)."""

ONCE_EXPOSED = "once_exposed"
_RANK = {"exposed": 0, ONCE_EXPOSED: 1, "unknown": 2, "masked": 3}
TAGGED = "tagged"
FED_BY_JOB = "fed by a job whose inputs no event reports"
UNACCOUNTED, NOT_COVERED = "no writer reports what feeds this column", "written without column lineage"
NOT_COMPLETED = "a run that did not complete may have written it (wait until it ends, or run the job again)"
NOT_NAMED, NOT_MASKED = "written by a job whose lineage does not name it", "no write is known to mask this column"


class TaggedSources(NamedTuple):
    """The sources of a surface.

    nodes: nodes of tagged columns. whole_datasets: numbers of tagged datasets without known columns.
    """

    nodes: list[int]
    whole_datasets: list[int]


class FoundSurface(NamedTuple):
    """The masking surface of a moment, including the tagged columns if the question is by tag.

    hits_by_node: maps each reached node to the hit that leads to it. last_clear_write_us: maps (dataset number, column
    key) to the last time (us) at which the column was written unmasked. presumed_retired: edge sets of jobs that are
    presumed retired.
    """

    sources: TaggedSources
    columns: list[SurfaceColumn]
    hits_by_node: Mapping[int, Hit]
    last_clear_write_us: Mapping[tuple[int, str | None], int]
    presumed_retired: Set[int] = frozenset()

    def exposed_until_us(self, column: SurfaceColumn) -> int | None:
        """Return the time (us) of the last unmasked write if the dataset may still contain its rows.

        Returns None for exposed columns, and if there is no such write.
        """
        return None if column.exposure == "exposed" else self.last_clear_write_us.get((column.dataset, column.key))

    def exposed_columns(self, snapshot: Snapshot) -> set[ColumnName]:
        """Return the columns with readable values."""
        return {_column_names(snapshot, each) for each in self.columns if each.exposure == "exposed"}


def find_surface(
    snapshot: Snapshot,
    rules: UserRules,
    counted: CountedEdges,
    *,
    tag: str,
    source: Subject | None,
    tagged_elsewhere: bool = False,
) -> FoundSurface:
    """Find where values of tagged columns, or of one source column, are readable, masked or unknown.

    A question by tag also returns the tagged columns; a source column without a tag is only the start.
    tagged_elsewhere: the snapshot is one part of the lineage, and another part mentions a column with the tag.
    Raises NotKnown for an unknown tag or column.
    """
    if source:
        sources = _source_columns(snapshot, rules, counted, source)
    else:
        sources = tagged_sources(snapshot, rules, counted, tag, tagged_elsewhere=tagged_elsewhere)
    writes = WriteTimes(snapshot.report_times, snapshot.rows_until_us)
    found = find_surface_with_rows(
        snapshot.graph, sources.nodes, sources.whole_datasets, counted, writes, tagged_elsewhere=tagged_elsewhere
    )
    emptied = _emptied_locations(snapshot, counted)
    if emptied:
        found = found._replace(columns=[each for each in found.columns if each.dataset not in emptied])
    if source:
        return FoundSurface(
            sources,
            _with_proven_exposure(snapshot, found.columns),
            found.hits_by_node,
            found.last_clear_write_us,
            counted.presumed_retired,
        )
    own = tagged_columns(
        snapshot.graph,
        sources.nodes,
        sources.whole_datasets,
        counted,
        base_us=snapshot.base_list_us,
        seen=snapshot.report_times,
    )
    own = [each for each in own if each.dataset not in emptied]
    own_until = last_clear_writes_us(snapshot.graph, own, counted, writes)
    columns = _with_proven_exposure(snapshot, [*own, *found.columns])
    return FoundSurface(
        sources, columns, found.hits_by_node, {**found.last_clear_write_us, **own_until}, counted.presumed_retired
    )


def _with_proven_exposure(snapshot: Snapshot, columns: list[SurfaceColumn]) -> list[SurfaceColumn]:
    return columns if snapshot.removed_before_us is None else list(with_proven_exposure(columns))


def _emptied_locations(snapshot: Snapshot, counted: CountedEdges) -> set[int]:
    """Return the numbers of former locations that have no rows any more (rule 8). They are not part of the surface."""
    graph, moved = snapshot.graph, snapshot.naming.moved_names
    return {
        number
        for location in (moved.former_locations() if moved.has_moves else ())
        for number in graph.generations.get(location, ())
        if _is_emptied_location(snapshot, counted, number)
    }


def _is_emptied_location(snapshot: Snapshot, counted: CountedEdges, number: int) -> bool:
    graph, name = snapshot.graph, snapshot.graph.names[number]
    writers = [
        each
        for each in graph.writers_by_dataset.get(number, ())
        if lineage_weight(graph.edge_sets[each][1]) > NO_SOURCES
    ]
    if not writers or counted.attempted.intersection(graph.attempts_by_output.get(number, ())):
        return False
    return all(
        graph.edge_sets[each][0].layer == "observed"
        and snapshot.rows_until_us(name, snapshot.report_times(each).last_us) != MAX_TIME_US
        for each in writers
    )


def surface_answer(
    snapshot: Snapshot, found: FoundSurface, *, tag: str, page: ListPage, exposed_before: Set[ColumnName] | None = None,
    only: str | None = None,
) -> Surface:  # fmt: skip
    """Return the answer for a masking surface.

    exposed_before: columns that were exposed before; only newly exposed columns are returned then. only: an exposure;
    `once_exposed` also includes masked and unknown columns with unmasked rows of earlier writes, and `tagged` the
    columns that have the tag.
    """
    show, shown = ColumnConverter(snapshot, found.presumed_retired), found.columns
    if exposed_before is not None:
        shown = [
            each for each in shown if each.exposure == "exposed" and _column_names(snapshot, each) not in exposed_before
        ]
    words = Counter(word for each in shown for word in _filter_values(each, found))
    result = _row_order(snapshot, show, found).page(
        (each for each in shown if only is None or only in _filter_values(each, found)), page
    )
    return Surface(
        tag,
        [Column(*show.names_of_node(node)) for node in found.sources.nodes if _is_of_newest_generation(snapshot, node)],
        [_to_surface_item(snapshot, show, each, found) for each in result.rows],
        Exposures(**{word: words[word] for word in (*_RANK, TAGGED)}),
        events_removed_before=events_removed_before_day(snapshot) or UNSET,
        **result.info,
    )


def _row_order(snapshot: Snapshot, converter: ColumnConverter, found: FoundSurface) -> RowOrder[SurfaceColumn]:
    def via(each: SurfaceColumn) -> SurfaceVia | None:
        return _to_surface_item(snapshot, converter, each, found).via

    def job(each: SurfaceColumn) -> str | None:
        last = via(each)
        return last.job.name if last else None

    def came_from(each: SurfaceColumn) -> str | None:
        last = via(each)
        return last.dataset or None if last else None

    return RowOrder(
        "surface",
        {
            "exposure": lambda each: 2 * _RANK[each.exposure] + (not each.tagged),
            "exposed_until": lambda each: found.last_clear_write_us.get((each.dataset, each.key)),
            "namespace": lambda each: _column_names(snapshot, each)[0],
            "dataset": lambda each: _column_names(snapshot, each)[1],
            "column": lambda each: each.key,
            "from": came_from,
            "job": job,
        },
        "exposure",
        lambda each: (*_column_names(snapshot, each), each.dataset),
        ties=4,
        texts=lambda each: (*_column_names(snapshot, each), came_from(each), job(each)),
    )


def _filter_values(each: SurfaceColumn, found: FoundSurface) -> tuple[str, ...]:
    """Return all filter values that a column matches."""
    once = each.exposure in _WITH_EARLIER_ROWS and (each.dataset, each.key) in found.last_clear_write_us
    return (each.exposure, *([ONCE_EXPOSED] if once else []), *([TAGGED] if each.tagged else []))


_WITH_EARLIER_ROWS = ("masked", "unknown")
"""Exposures of columns that may still contain unmasked rows of earlier writes, so they may have `exposed_until`."""


def _is_of_newest_generation(snapshot: Snapshot, node: int) -> bool:
    """Return whether a source column belongs to the newest generation of its dataset."""
    number = snapshot.graph.columns[node].dataset
    return number == snapshot.counted_edges().lifetimes.newest_generation(
        snapshot.graph.names[number].without_generation
    )


def _column_names(snapshot: Snapshot, each: SurfaceColumn) -> ColumnName:
    return (*snapshot.graph.names[each.dataset].parts, each.key or "")


def _source_columns(snapshot: Snapshot, rules: UserRules, counted: CountedEdges, source: Subject) -> TaggedSources:
    dataset = find_dataset(snapshot, rules.names, source)
    key = None if source.column is None else find_column(snapshot, dataset, source.column)
    found = [
        _sources_for_column(snapshot, counted, number, key) for number in counted.lifetimes.all_generations(dataset)
    ]
    nodes = [node for each in found for node in each.nodes]
    return TaggedSources(
        _with_moved_columns(counted, nodes), [number for each in found for number in each.whole_datasets]
    )


def _sources_for_column(snapshot: Snapshot, counted: CountedEdges, number: int, key: str | None) -> TaggedSources:
    """Return the sources for a column and its nested columns.

    If `key` is None, return all columns of the dataset, including columns without edges.
    """
    if key is not None:
        return TaggedSources(nodes_of_column_in_generation(snapshot, counted, number, key), [])
    keys = snapshot.columns(snapshot.graph.names[number]).by_key
    every = dict.fromkeys([snapshot.graph.get_or_add_node(number, each) for each in keys])
    return TaggedSources(list(every | dict.fromkeys(snapshot.graph.nodes_of(number))), [] if keys else [number])


def tagged_sources(
    snapshot: Snapshot, rules: UserRules, counted: CountedEdges, key: str, *, tagged_elsewhere: bool = False
) -> TaggedSources:
    """Return the columns with a tag, from facets or the tags file. Raises NotKnown with the known tags.

    tagged_elsewhere: do not raise NotKnown if no column of this snapshot has the tag.
    """
    nodes: dict[int, None] = {}
    whole: dict[int, None] = {}
    known: set[str] = set()
    for dataset, column, tag in all_tags(snapshot, rules):
        known.add(tag[0])
        for number in counted.lifetimes.own_generations(dataset) if has_tag(*tag, key) else ():
            named = None if column is None else snapshot.columns(snapshot.graph.names[number]).key(column)
            found = _sources_for_column(snapshot, counted, number, named)
            nodes.update(dict.fromkeys(found.nodes))
            whole.update(dict.fromkeys(found.whole_datasets))
    if not tagged_elsewhere and not any(each.casefold() == key.casefold() for each in known):
        near = nearest_names(key, known) or sorted(known)[:NEAREST]
        come_from = f"Tags come from `tags` facets and from the file {rules.tags_file}."
        raise NotKnown("tag", key, near, come_from, removal_note(snapshot))
    return TaggedSources(_with_moved_columns(counted, list(nodes)), list(whole))


def _with_moved_columns(counted: CountedEdges, nodes: list[int]) -> list[int]:
    """Add the columns that contain the values of tagged columns after a name moved (rule 10.11)."""
    every = counted.nesting.add_nested_columns(set(nodes))
    return [*nodes, *sorted(counted.with_moved_columns(every, forward=True) - every)]


def all_tags(snapshot: Snapshot, rules: UserRules) -> Iterator[tuple[Name, str | None, tuple[str, str]]]:
    """Yield (dataset, column or None, (key, value)) of each tag, from facets or the tags file.

    A tag also holds at the other locations that the names of its dataset have meant.
    """
    for dataset, column, tag in _own_tags(snapshot, rules):
        for location in (dataset, *snapshot.naming.moved_names.other_locations(dataset)):
            yield location, column, tag


def _own_tags(snapshot: Snapshot, rules: UserRules) -> Iterator[tuple[Name, str | None, tuple[str, str]]]:
    for dataset, tags in snapshot.current_tags().items():
        yield from ((dataset, tag.column, (tag.key, tag.value)) for tag in tags)
    if rules.tags:
        for dataset in snapshot.datasets():
            for column in (None, *snapshot.shown_columns(dataset).names):
                for tag in rules.tags_of(*dataset.parts, column):
                    yield dataset, column, tag


def _to_surface_item(
    snapshot: Snapshot, converter: ColumnConverter, each: SurfaceColumn, found: FoundSurface
) -> SurfaceItem:
    graph = snapshot.graph
    until = found.exposed_until_us(each)
    how: StepTransformation | str = NOT_MASKED if each.tagged else UNACCOUNTED
    name = graph.names[each.dataset]
    column = None if each.key is None else snapshot.columns(name).displayed_spelling(each.key)
    source = Column(*name.parts, column) if each.tagged else None
    via: SurfaceVia | None = None
    if each.hit is not None:
        reached = converter.to_via(each.hit)
        how, via = reached.transformation, SurfaceVia(**structs.asdict(reached))
        source = source or Column(*converter.names_of_node(_source_of_path(each.hit, found.hits_by_node)))
    elif each.opaque is not None:
        output, lineage = graph.edge_sets[each.opaque]
        carried = NOT_NAMED if each.tagged else _LEFT_OUT
        how = NOT_COMPLETED if lineage.attempt_state else carried if lineage.has_column_lineage else NOT_COVERED
        if each.opaque in graph.unfollowed_edge_sets and not each.tagged:
            how = FED_BY_JOB
        runs = unfinished_runs(snapshot, [each.opaque])
        via = SurfaceVia(
            job=Job(*snapshot.job_name(output.job).parts),
            unread=lineage.unread_sql_reason or UNSET,
            not_completed=runs or UNSET,
        )
    former = former_location(snapshot.naming, name)
    return SurfaceItem(
        *name.parts, column, each.exposure, each.tagged, iso_time(until), how, source, via, each.earlier, former
    )


_LEFT_OUT = "its job does not report what feeds this column"


def _source_of_path(hit: Hit, hits_by_node: Mapping[int, Hit]) -> int:
    """Return the node at the start of the path to a hit.

    For a column with unknown exposure, this is the column itself.
    """
    parent, seen = hit.parent, {hit.node}
    while parent not in seen and (before := hits_by_node.get(parent)) is not None:
        seen.add(parent)
        parent = before.parent
    return parent
