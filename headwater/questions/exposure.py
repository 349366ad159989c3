"""The masking surface as an answer: where tagged columns end up, and how."""

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

from msgspec import UNSET, structs

from headwater.errors import NotKnown
from headwater.events.times import iso
from headwater.lineage.edges.current_candidates import SILENT
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.tags import has_tag
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.run_derivation import weight_of
from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.time.snapshot import Snapshot
from headwater.lineage.walks.exposed_until import Writes
from headwater.lineage.walks.masking_surface import Surfaced, surface_with_rows
from headwater.lineage.walks.tagged_columns import tagged_columns, tagged_until
from headwater.lineage.walks.wave import Hit
from headwater.nearest_names import NEAREST, nearest
from headwater.paging import ListPage, RowOrder
from headwater.questions.answers.answer_parts import Column, Job, StepTransformation
from headwater.questions.answers.column_answers import Exposures, Surface, SurfaceItem, SurfaceVia
from headwater.questions.attempts import unfinished_runs
from headwater.questions.removed_events import doubted, removal, removed_day
from headwater.questions.showing import former_location
from headwater.questions.shown import Shown
from headwater.questions.subjects import Subject, find_column, find_dataset, nodes_in

Place = tuple[str, str, str]
"""Namespace, dataset and key of a column."""

ONCE_EXPOSED = "once_exposed"
_RANK = {"exposed": 0, ONCE_EXPOSED: 1, "unknown": 2, "masked": 3}
TAGGED = "tagged"
FED_BY_JOB = "fed by a job of which no event reports what it reads"
NOBODY_SAYS, NOT_COVERED = "no writer accounts for this column", "written without column lineage"
NOT_COMPLETED = "a run that did not complete may have written it (wait for its end, or run the job again)"
NOT_NAMED, NOT_MASKED = "written by a job whose lineage does not name it", "no write of it is known to mask"


class TaggedSources(NamedTuple):
    """What is tagged: columns by node, and datasets tagged as such whose columns nobody knows."""

    nodes: list[int]
    whole: list[int]


class Exposed(NamedTuple):
    """A moment's masking surface, for a question by tag with the tagged columns themselves.

    until: until when masked columns were written in the clear (us).
    """

    sources: TaggedSources
    columns: list[Surfaced]
    ways: Mapping[int, Hit]
    until: Mapping[tuple[int, str | None], int]
    presumed: Set[int] = frozenset()

    def exposed_until(self, column: Surfaced) -> int | None:
        """Return until when rows were written in the clear that may still be there (us), of what is not exposed."""
        return None if column.exposure == "exposed" else self.until.get((column.dataset, column.key))

    def exposed(self, snapshot: Snapshot) -> set[Place]:
        """Return the columns whose values can be read."""
        return {_place(snapshot, each) for each in self.columns if each.exposure == "exposed"}


def look_for(
    snapshot: Snapshot, rules: UserRules, counted: CountedEdges, *, tag: str, source: Subject | None
) -> Exposed:
    """Find where the columns with a tag, or one source column, are readable, masked, or may be either.

    A question by tag also returns the tagged columns; a source column without a tag is only the start.
    Raises NotKnown for a tag or a column that is not there.
    """
    sources = _one(snapshot, rules, counted, source) if source else tagged_sources(snapshot, rules, counted, tag)
    writes = Writes(snapshot.seen, snapshot.rows_until)
    found = surface_with_rows(snapshot.graph, sources.nodes, sources.whole, counted, writes)
    emptied = _emptied(snapshot, counted)
    if emptied:
        found = found._replace(columns=[each for each in found.columns if each.dataset not in emptied])
    if source:
        return Exposed(sources, _known(snapshot, found.columns), found.ways, found.until, counted.presumed)
    own = tagged_columns(
        snapshot.graph, sources.nodes, sources.whole, counted, base_us=snapshot.base_us, seen=snapshot.seen
    )
    own = [each for each in own if each.dataset not in emptied]
    own_until = tagged_until(snapshot.graph, own, writes)
    columns = _known(snapshot, [*own, *found.columns])
    return Exposed(sources, columns, found.ways, {**found.until, **own_until}, counted.presumed)


def _known(snapshot: Snapshot, columns: list[Surfaced]) -> list[Surfaced]:
    return columns if snapshot.removed_before_us is None else list(doubted(columns))


def _emptied(snapshot: Snapshot, counted: CountedEdges) -> set[int]:
    """Return the former locations of which no write has left rows (rule 8): they are not on the surface."""
    graph, moved = snapshot.graph, snapshot.naming.moved
    return {
        number
        for location in (moved.former_locations() if moved.any else ())
        for number in graph.generations.get(location, ())
        if _is_emptied(snapshot, counted, number)
    }


def _is_emptied(snapshot: Snapshot, counted: CountedEdges, number: int) -> bool:
    graph, name = snapshot.graph, snapshot.graph.names[number]
    writers = [each for each in graph.fed_by.get(number, ()) if weight_of(graph.sets[each][1]) > SILENT]
    if not writers or counted.attempted.intersection(graph.attempts_at.get(number, ())):
        return False
    return all(
        graph.sets[each][0].layer == "observed" and snapshot.rows_until(name, snapshot.seen(each).last_us) != EVER_US
        for each in writers
    )


def exposures(
    snapshot: Snapshot, found: Exposed, *, tag: str, page: ListPage, but: Set[Place] | None = None,
    only: str | None = None,
) -> Surface:  # fmt: skip
    """Answer with a masking surface.

    but: columns exposed before; then only what is exposed beside them. only: list an exposure, `once_exposed` also for
    what newest executions mask and earlier ones wrote in the clear, or `tagged` for the columns that have the tag
    themselves.
    """
    show, shown = Shown(snapshot, found.presumed), found.columns
    if but is not None:
        shown = [each for each in shown if each.exposure == "exposed" and _place(snapshot, each) not in but]
    words = Counter(word for each in shown for word in _words(each, found))
    cut = _order(snapshot, show, found).cut(
        (each for each in shown if only is None or only in _words(each, found)), page
    )
    return Surface(
        tag,
        [Column(*show.place(node)) for node in found.sources.nodes if _is_shown(snapshot, node)],
        [_item(snapshot, show, each, found) for each in cut.rows],
        Exposures(**{word: words[word] for word in (*_RANK, TAGGED)}),
        events_removed_before=removed_day(snapshot) or UNSET,
        **cut.told,
    )


def _order(snapshot: Snapshot, show: Shown, found: Exposed) -> RowOrder[Surfaced]:
    def via(each: Surfaced) -> SurfaceVia | None:
        return _item(snapshot, show, each, found).via

    def job(each: Surfaced) -> str | None:
        last = via(each)
        return last.job.name if last else None

    def came_from(each: Surfaced) -> str | None:
        last = via(each)
        return last.dataset or None if last else None

    return RowOrder(
        "surface",
        {
            "exposure": lambda each: 2 * _RANK[each.exposure] + (not each.tagged),
            "exposed_until": lambda each: found.until.get((each.dataset, each.key)),
            "namespace": lambda each: _place(snapshot, each)[0],
            "dataset": lambda each: _place(snapshot, each)[1],
            "column": lambda each: each.key,
            "from": came_from,
            "job": job,
        },
        "exposure",
        lambda each: (*_place(snapshot, each), each.dataset),
        ties=4,
        texts=lambda each: (*_place(snapshot, each), came_from(each), job(each)),
    )


def _words(each: Surfaced, found: Exposed) -> tuple[str, ...]:
    """Return all words that a column counts under."""
    once = each.exposure in _STILL_THERE and (each.dataset, each.key) in found.until
    return (each.exposure, *([ONCE_EXPOSED] if once else []), *([TAGGED] if each.tagged else []))


_STILL_THERE = ("masked", "unknown")
"""States of newest executions beside which `exposed_until` tells of rows that were written in the clear."""


def _is_shown(snapshot: Snapshot, node: int) -> bool:
    """Tell whether a source is the one that people see: of several generations of a name the newest."""
    number = snapshot.graph.columns[node].dataset
    return number == snapshot.counted().lifetimes.newest(snapshot.graph.names[number].plain)


def _place(snapshot: Snapshot, each: Surfaced) -> Place:
    return (*snapshot.graph.names[each.dataset].parts, each.key or "")


def _one(snapshot: Snapshot, rules: UserRules, counted: CountedEdges, source: Subject) -> TaggedSources:
    dataset = find_dataset(snapshot, rules.names, source)
    key = None if source.column is None else find_column(snapshot, dataset, source.column)
    found = [_of(snapshot, counted, number, key) for number in counted.lifetimes.of(dataset)]
    nodes = [node for each in found for node in each.nodes]
    return TaggedSources(_with_moved(counted, nodes), [number for each in found for number in each.whole])


def _of(snapshot: Snapshot, counted: CountedEdges, number: int, key: str | None) -> TaggedSources:
    """Return a column with what is nested in it, or all of a dataset, also columns that no edge mentions."""
    if key is not None:
        return TaggedSources(nodes_in(snapshot, counted, number, key), [])
    keys = snapshot.columns(snapshot.graph.names[number]).by_key
    every = dict.fromkeys([snapshot.graph.node_for(number, each) for each in keys])
    return TaggedSources(list(every | dict.fromkeys(snapshot.graph.nodes_of(number))), [] if keys else [number])


def tagged_sources(snapshot: Snapshot, rules: UserRules, counted: CountedEdges, key: str) -> TaggedSources:
    """Return what holds a tag, by facets or by the tags file; raises NotKnown with the tags there are."""
    nodes: dict[int, None] = {}
    whole: dict[int, None] = {}
    known: set[str] = set()
    for dataset, column, tag in all_tags(snapshot, rules):
        known.add(tag[0])
        for number in counted.lifetimes.generations(dataset) if has_tag(*tag, key) else ():
            named = None if column is None else snapshot.columns(snapshot.graph.names[number]).key(column)
            found = _of(snapshot, counted, number, named)
            nodes.update(dict.fromkeys(found.nodes))
            whole.update(dict.fromkeys(found.whole))
    if not any(each.casefold() == key.casefold() for each in known):
        near = nearest(key, known) or sorted(known)[:NEAREST]
        come_from = f"Tags come from `tags` facets and from the file {rules.tags_file}."
        raise NotKnown("tag", key, near, come_from, removal(snapshot))
    return TaggedSources(_with_moved(counted, list(nodes)), list(whole))


def _with_moved(counted: CountedEdges, nodes: list[int]) -> list[int]:
    """Return tagged columns with those that hold their values after a name moved (rule 10.11)."""
    every = counted.nesting.whole(set(nodes))
    return [*nodes, *sorted(counted.moved_on(every, forward=True) - every)]


def all_tags(snapshot: Snapshot, rules: UserRules) -> Iterator[tuple[Name, str | None, tuple[str, str]]]:
    """Yield (dataset, column or None, (key, value)) of each tag, by facets or by the tags file.

    A tag also holds in the other locations that the names of its dataset have meant.
    """
    for dataset, column, tag in _own_tags(snapshot, rules):
        for location in (dataset, *snapshot.naming.moved.others(dataset)):
            yield location, column, tag


def _own_tags(snapshot: Snapshot, rules: UserRules) -> Iterator[tuple[Name, str | None, tuple[str, str]]]:
    for dataset, tags in snapshot.tags().items():
        yield from ((dataset, tag.column, (tag.key, tag.value)) for tag in tags)
    if rules.tags:
        for dataset in snapshot.datasets():
            for column in (None, *snapshot.shown_columns(dataset).names):
                for tag in rules.tags_of(*dataset.parts, column):
                    yield dataset, column, tag


def _item(snapshot: Snapshot, show: Shown, each: Surfaced, found: Exposed) -> SurfaceItem:
    graph = snapshot.graph
    until = found.exposed_until(each)
    how: StepTransformation | str = NOT_MASKED if each.tagged else NOBODY_SAYS
    name = graph.names[each.dataset]
    column = None if each.key is None else snapshot.columns(name).shown(each.key)
    source = Column(*name.parts, column) if each.tagged else None
    via: SurfaceVia | None = None
    if each.hit is not None:
        reached = show.via(each.hit)
        how, via = reached.transformation, SurfaceVia(**structs.asdict(reached))
        source = source or Column(*show.place(_source(each.hit, found.ways)))
    elif each.opaque is not None:
        output, lineage = graph.sets[each.opaque]
        carried = NOT_NAMED if each.tagged else _LEFT_OUT
        how = NOT_COMPLETED if lineage.attempt else carried if lineage.carries else NOT_COVERED
        if each.opaque in graph.unfollowed and not each.tagged:
            how = FED_BY_JOB
        runs = unfinished_runs(snapshot, [each.opaque])
        via = SurfaceVia(
            job=Job(*snapshot.job(output.job).parts), unread=lineage.unread or UNSET, not_completed=runs or UNSET
        )
    former = former_location(snapshot.naming, name)
    return SurfaceItem(
        *name.parts, column, each.exposure, each.tagged, iso(until), how, source, via, each.earlier, former
    )


_LEFT_OUT = "its job does not say what feeds this column"


def _source(hit: Hit, ways: Mapping[int, Hit]) -> int:
    """Follow parents back to where the walk began; what is unknown begins at itself."""
    parent, seen = hit.parent, {hit.node}
    while parent not in seen and (before := ways.get(parent)) is not None:
        seen.add(parent)
        parent = before.parent
    return parent
