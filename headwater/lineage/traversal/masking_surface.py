"""Rule 8: find the columns in which tagged values are exposed, unknown or masked.

If several states apply to a column, exposed precedes unknown, and unknown precedes masked.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from headwater.lineage.edges.accounted_columns import ALL_COLUMNS, is_related
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.traversal.clear_rows import WriteTimes, clear_rows
from headwater.lineage.traversal.column_graph import Graph
from headwater.lineage.traversal.frontier import FrontierSearch, Hit
from headwater.lineage.traversal.impact import allowed_transformations

ColumnPlace = tuple[int, str | None]
"""(dataset number, column key). The key None stands for a dataset without known columns."""

Exposure = Literal["exposed", "once_exposed", "masked", "unknown"]


class SurfaceColumn(NamedTuple):
    """A column of the masking surface.

    dataset: the number of the dataset. key: the key of the column, None for a dataset without known columns.
    hit: the edge that led to the column, None if no edge leads to it.
    opaque: the edge set that does not report how the column was written, None if there is no such edge set.
    tagged: whether the column has the tag itself (`tagged_columns`).
    earlier: whether only earlier writes lead to this state of the column.
    """

    dataset: int
    key: str | None
    exposure: Exposure
    hit: Hit | None
    opaque: int | None
    tagged: bool = False
    earlier: bool = False


class MaskingSurface(NamedTuple):
    """The result of rule 8.

    columns: the reached columns, without tagged columns and without columns of dropped datasets.
    hits_by_node: maps nodes to their hits, including columns of dropped datasets.
    clear_nodes: the nodes with readable values, including the tagged nodes.
    last_clear_write_us: maps columns that newest executions do not expose to the time (us) when clear values were last
    written into them. Only columns in which these rows may still exist are included.
    """

    columns: list[SurfaceColumn]
    hits_by_node: dict[int, Hit]
    clear_nodes: set[int]
    last_clear_write_us: Mapping[ColumnPlace, int] = {}


def find_surface_with_rows(
    graph: Graph,
    tagged: Collection[int],
    whole: Collection[int],
    counted: CountedEdges,
    writes: WriteTimes,
    *,
    tagged_elsewhere: bool = False,
) -> MaskingSurface:
    """Return the surface of current and newest executions, and the columns that only earlier writes reach (rule 8.4).

    Earlier writes do not change the state of a column, except from masked to unknown. Earlier writes are ignored if
    `counted` does not include earlier executions.
    tagged: the nodes of tagged columns.
    whole: datasets with the tag and without known columns.
    writes: returns the times of writes.
    tagged_elsewhere: whether lineage outside this part of the graph mentions a column with the tag (rule 8.2 g).
    """
    now = find_surface(graph, tagged, whole, counted, tagged_elsewhere=tagged_elsewhere)
    rows = {node: clear for node, clear in clear_rows(graph, now.clear_nodes, writes).items() if clear.still_exist}
    for node, clear in list(rows.items()):
        for part in counted.nesting.nested_nodes(node).values():
            if part not in now.clear_nodes:
                rows.setdefault(part, clear._replace(hit=clear.hit._replace(node=part)))
    for node, clear in sorted(rows.items(), key=lambda each: -each[1].wrote_us):
        for moved in counted.with_moved_columns([node], forward=True) - now.clear_nodes:
            rows.setdefault(moved, clear._replace(hit=clear.hit._replace(node=moved)))
    until: dict[ColumnPlace, int] = {graph.columns[node]: clear.wrote_us for node, clear in rows.items()}
    ways = {node: clear.hit for node, clear in rows.items()} | now.hits_by_node
    if not counted.may_include_earlier:
        return now._replace(last_clear_write_us=until)
    known = {(each.dataset, each.key) for each in now.columns}
    with_rows = counted.with_earlier_writes()
    wide = (
        find_surface(graph, tagged, whole, with_rows, rows, tagged_elsewhere=tagged_elsewhere)
        if rows or with_rows.differs_from(counted)
        else now
    )
    found = [_surface_column(graph, clear.hit, "once_exposed") for clear in rows.values()]
    for each in wide.columns:
        if each.exposure == "exposed" and each.hit is not None:
            until.setdefault((each.dataset, each.key), writes.report_times(each.hit.edge_set)[1])
        found.append(each._replace(exposure="once_exposed") if each.exposure == "exposed" else each)
    more = [
        each._replace(earlier=True)
        for each in found
        if (each.dataset, each.key) not in known and each.dataset not in counted.dropped_datasets
    ]
    return MaskingSurface([*_with_doubts(now, wide, until), *more], wide.hits_by_node | ways, now.clear_nodes, until)


def _with_doubts(
    now: MaskingSurface, wide: MaskingSurface, until: Mapping[ColumnPlace, int]
) -> Iterator[SurfaceColumn]:
    """Yield the columns that newest executions reach. A masked column becomes unknown if earlier writes cause this.

    now: the surface of current and newest executions. wide: the surface with earlier writes.
    until: the columns with clear rows, which stay masked.
    """
    unknown = {(each.dataset, each.key): each for each in wide.columns if each.exposure == "unknown"}
    for each in now.columns:
        place = each.dataset, each.key
        is_doubted = each.exposure == "masked" and place in unknown and place not in until
        yield unknown[place]._replace(earlier=True) if is_doubted else each


def find_surface(
    graph: Graph,
    tagged: Collection[int],
    whole: Collection[int],
    counted: CountedEdges,
    rows: Collection[int] = (),
    *,
    tagged_elsewhere: bool = False,
) -> MaskingSurface:
    """Return every column that values of the tagged columns reach or may reach (rules 8.1 to 8.3).

    tagged: the nodes of tagged columns.
    whole: datasets with the tag and without known columns.
    rows: the nodes of other columns that contain clear rows. They count as reached.
    tagged_elsewhere: whether lineage outside this part of the graph mentions a column with the tag (rule 8.2 g).
    """
    sources = counted.with_moved_columns(counted.nesting.add_nested_columns({*tagged, *rows}), forward=True)
    clearly = FrontierSearch(
        graph,
        sources,
        counted,
        forward=True,
        allowed=allowed_transformations(graph, "value", masked=False),
        follow_possible=False,
    )
    exposed = _run_search(clearly)
    allowed = allowed_transformations(graph, "value", masked=True)
    if clearly.possible_hits or allowed != allowed_transformations(graph, "value", masked=False):
        over_masks = FrontierSearch(graph, sources, counted, forward=True, allowed=allowed)
        direct = _run_search(over_masks)
    else:
        over_masks, direct = clearly, exposed  # no edge masks, so a second walk would find the same
    unknown = _UnknownColumns(graph, counted, {*exposed, *sources}, frozenset(whole))
    unsettled = [hit for hit in clearly.possible_hits if hit.node not in exposed]
    found = unknown.find({*direct, *rows}, {*exposed, *sources}, unsettled, tagged_elsewhere=tagged_elsewhere)
    columns = [_surface_column(graph, hit, "exposed") for hit in clearly.with_chosen_edges(exposed.values())]
    columns += found.values()
    columns += (
        _surface_column(graph, hit, "masked")
        for hit in over_masks.with_chosen_edges([hit for node, hit in direct.items() if node not in exposed])
        if graph.columns[hit.node] not in found
    )
    shown = [each for each in columns if each.dataset not in counted.dropped_datasets]
    return MaskingSurface(shown, direct | exposed, {*exposed, *sources})


def _run_search(search: FrontierSearch) -> dict[int, Hit]:
    found: dict[int, Hit] = {}
    while search.frontier:
        found.update((hit.node, hit) for hit in search.advance())
    return found


def _surface_column(graph: Graph, hit: Hit, exposure: Exposure) -> SurfaceColumn:
    dataset, key = graph.columns[hit.node]
    return SurfaceColumn(dataset, key, exposure, hit, None)


class _UnknownColumns:
    """Finds the unknown columns (rule 8.2) and the columns downstream of them, which are unknown, too.

    known: the exposed and tagged nodes, which do not become unknown.
    whole: datasets with the tag and without known columns.
    """

    def __init__(self, graph: Graph, counted: CountedEdges, known: set[int], whole: frozenset[int]):
        self._graph = graph
        self._counted = counted
        self._known = known
        self._whole_datasets = whole
        self._found: dict[ColumnPlace, SurfaceColumn] = {}
        self._handled_datasets: set[int] = set()
        self._nodes_to_follow: dict[int, set[int]] = {}
        self._followed: set[ColumnPlace] = set()

    def find(
        self, reached: Collection[int], clear: Collection[int], unsettled: Iterable[Hit], *, tagged_elsewhere: bool
    ) -> dict[ColumnPlace, SurfaceColumn]:
        """Return the unknown columns.

        reached: the nodes that DIRECT edges reach, with or without masks.
        clear: the exposed and tagged nodes.
        unsettled: hits that may be exposed, depending on nested columns (rule 12).
        tagged_elsewhere: whether lineage outside this part of the graph mentions a column with the tag (rule 8.2 g).
        """
        dataset_of = self._graph.dataset_of
        for hit in unsettled:
            self._add_hit(hit)
        for dataset in {dataset_of[node] for node in reached}:
            self._add(dataset, self._unmentioned(dataset), None)
        for dataset in {*self._whole_datasets, *(dataset_of[node] for node in clear)}:
            self._add_written_from(dataset)
        if self._whole_datasets or reached or clear or tagged_elsewhere:
            self._add_unfollowed()
        while len(self._followed) < len(self._found):
            for column in [column for column in self._found if column not in self._followed]:
                self._followed.add(column)
                self._follow_column(*column)
        return self._found

    def _unmentioned(self, dataset: int) -> tuple[str, ...]:
        known = self._counted.unmentioned_columns
        if dataset not in known:
            known[dataset] = tuple(self._find_unmentioned(dataset))
        return known[dataset]

    def _find_unmentioned(self, dataset: int) -> Iterator[str]:
        """Yield the columns of a dataset for which no current writer accounts.

        A writer that accounts for a struct around a column, or for a column nested in it, accounts for the column, too.
        """
        graph, key_of = self._graph, self._counted.nesting.columns_of(dataset).key
        named: set[str | None] = set()
        for each in (dataset, *self._counted.lifetimes.moved_datasets(dataset, forward=False)):
            for number in graph.writers_by_dataset.get(each, ()):
                if self._counted.live_mask[number]:
                    lineage = graph.edge_sets[number][1]
                    sure = (edge for edge in lineage.edges if edge.source not in lineage.doubtful_sources)
                    accounted_keys = {*lineage.sourceless_columns, *(edge.target for edge in sure)}.difference(
                        lineage.unaccounted_columns
                    )
                    named.update(accounted_keys if each == dataset else [key and key_of(key) for key in accounted_keys])
        above = self._counted.nesting.struct_keys_around
        around = {parent for key in named if key for parent in above(dataset, key)}
        return (
            key
            for key in self._columns(dataset)
            if key not in named and key not in around and named.isdisjoint(above(dataset, key))
        )

    def _add_written_from(self, dataset: int) -> None:
        """Add the columns that runs may have written from any column of a dataset (rule 8.2 a to d and f)."""
        if dataset in self._handled_datasets:
            return
        self._handled_datasets.add(dataset)
        graph = self._graph
        for onward in self._counted.lifetimes.moved_datasets(dataset, forward=True):
            self._add_written_from(onward)
        for number in graph.possibly_open.intersection(graph.edge_sets_reading(dataset)):
            _, lineage = graph.edge_sets[number]
            output = graph.dataset_number(lineage.output) if lineage.output is not None else None
            if output is None or not self._counted.is_counted(number):
                continue
            if graph.is_opaquely_written(number, dataset):
                self._add_all(output, number)
                continue
            if lineage.has_column_lineage and graph.is_opaque(number, dataset):
                self._add(output, self._unmentioned(output), number)
            if graph.may_fill_unaccounted(number, dataset):
                self._add_unaccounted(output, lineage, number)
            self._add(output, graph.columns_that_may_mean(number, dataset), number)
        for number in sorted(self._counted.attempted.intersection(graph.attempts_reading(dataset))):
            written = graph.edge_sets[number][1].output
            if written is not None and graph.attempt_may_have_written(number, dataset):
                self._add_attempted(graph.dataset_number(written) or 0, number)

    def _add_unfollowed(self) -> None:
        """Add the columns that a source job feeds if no event reports a dataset that the job reads (rule 8.2 g)."""
        graph = self._graph
        for number in sorted(graph.unfollowed_edge_sets):
            _, lineage = graph.edge_sets[number]
            output = graph.dataset_number(lineage.output) if lineage.output is not None else None
            counts = number in self._counted.attempted if lineage.attempt_state else self._counted.is_counted(number)
            if output is None or not counts:
                continue
            if lineage.attempt_state:
                self._add_attempted(output, number)
                continue
            if not lineage.has_column_lineage:
                self._add_all(output, number)
                continue
            self._add(output, self._unmentioned(output), number)
            if graph.may_write_anything(number):
                self._add_unaccounted(output, lineage, number)

    def _add_all(self, output: int, number: int) -> None:
        """Add all columns of an output, or the key None if no column of the output is known.

        Without a base list, the output may have more columns, which may have moved on with its names (rule 10.11).
        number: the edge set that may have written any value into these columns.
        """
        self._add(output, self._columns(output) or (None,), number)
        if self._counted.base_list_us(output) is None:
            self._add_moved(output, None, number)
        self._follow_also(output, self._graph.nodes_of(output))

    def _add_attempted(self, output: int, number: int) -> None:
        """Add all columns of the output of a run that did not complete, and the columns that its lineage names."""
        self._add_all(output, number)
        if self._columns(output):
            lineage = self._graph.edge_sets[number][1]
            targets = (edge.target for edge in lineage.edges if edge.target is not None)
            mentioned = (
                key for each in lineage.column_mentions if each.dataset == lineage.output for key in each.columns
            )
            named = {*targets, *mentioned, *lineage.sourceless_columns, *lineage.unaccounted_columns}
            self._add(output, sorted(named - {ALL_COLUMNS}), number)

    def _columns(self, dataset: int) -> Sequence[str]:
        """Return the keys of the columns of a dataset; empty if no event lists columns of the dataset.

        The result includes columns at the former locations of its rows (rule 12.9). If the dataset has a base list,
        only columns that lineage names at these locations after the list are included.
        """
        columns = self._counted.nesting.columns_of(dataset)
        if not columns.by_key:
            return ()
        own = self._own_columns(dataset)
        before = self._counted.lifetimes.moved_datasets(dataset, forward=False)
        if not before:
            return own
        base_us, named_since = self._counted.base_list_us(dataset), self._counted.columns_named_since
        there = (self._own_columns(each) if base_us is None else named_since(each, base_us) for each in before)
        moved = (columns.key(key) for keys in there for key in keys)
        return tuple(dict.fromkeys((*own, *moved)))

    def _own_columns(self, dataset: int) -> Sequence[str]:
        return (*self._counted.nesting.columns_of(dataset).by_key, *self._counted.unlisted_columns(dataset))

    def _add_unaccounted(self, output: int, lineage: OutputLineage, number: int) -> None:
        """Add the columns for which an edge set does not account, or the key None if these columns are not known."""
        if lineage.unaccounted_columns != (ALL_COLUMNS,):
            self._add(output, lineage.unaccounted_columns, number)
            return
        self._add(output, (None,), number)
        named = {*lineage.sourceless_columns, *(edge.target for edge in lineage.edges if edge.target is not None)}
        keys = self._graph.column_keys
        self._follow_also(output, [n for n in self._graph.nodes_of(output) if not is_related(keys[n], named)])

    def _follow_also(self, dataset: int, nodes: Collection[int]) -> None:
        """Record nodes of a dataset to follow when the search continues from the dataset with the key None."""
        known = self._nodes_to_follow.setdefault(dataset, set())
        if not known.issuperset(nodes):
            known.update(nodes)
            self._followed.discard((dataset, None))

    def _add(self, dataset: int, keys: Iterable[str | None], number: int | None) -> None:
        for key in keys:
            if key is None and dataset in self._whole_datasets:
                continue
            node = None if key is None else self._graph.find_node(dataset, key)
            if node not in self._known and (dataset, key) not in self._found:
                self._found[dataset, key] = SurfaceColumn(dataset, key, "unknown", None, number)
                self._add_moved(dataset, key, number)

    def _add_moved(self, dataset: int, key: str | None, number: int | None) -> None:
        """Add the column with the same name at each location to which a name of the dataset moved (rule 10.11)."""
        nesting = self._counted.nesting
        for onward in self._counted.lifetimes.moved_datasets(dataset, forward=True):
            if key is None:
                self._add(onward, self._columns(onward) or (None,), number)
                self._follow_also(onward, self._graph.nodes_of(onward))
            else:
                same = nesting.counterparts_after_move(self._graph.get_or_add_node(dataset, key), onward)
                self._add(onward, [self._graph.column_keys[each.node] for each in same], number)

    def _add_hit(self, hit: Hit) -> None:
        place = self._graph.columns[hit.node]
        if hit.node not in self._known and place not in self._found:
            self._found[place] = SurfaceColumn(*place, "unknown", hit, None)

    def _follow_column(self, dataset: int, key: str | None) -> None:
        self._add_written_from(dataset)
        self._add(dataset, self._unmentioned(dataset), None)
        graph = self._graph
        starts = list(self._nodes_to_follow.get(dataset, ())) if key is None else [graph.get_or_add_node(dataset, key)]
        search = FrontierSearch(
            graph,
            starts,
            self._counted,
            forward=True,
            allowed=allowed_transformations(graph, "value", masked=False),
            may_return=True,  # edges may connect columns that the key None represents
        )
        for hit in search.advance():
            self._add_hit(hit)
