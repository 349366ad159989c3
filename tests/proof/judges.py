"""The implementations that answer questions about a list of events: the reference, the rules in memory, and
the index.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from headwater.common.errors import NeverWritten, NotKnown, WrongQuestion
from headwater.common.paging import ListPage
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.as_of import AsOf
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.snapshots.whole_rewrites import WINDOW_US
from headwater.lineage.traversal.impact import Mode
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Bounds, Subject
from headwater.questions.surface import find_surface, surface_answer
from headwater.questions.unused import verdicts_answer
from tests.index.test_reference import indexed
from tests.lineage.test_reference import canonical
from tests.proof.event_edits import folded_column
from tests.proof.ranks import TAG, Answers, Asked, Column, Folded, Reached
from tests.reference import questions, stops
from tests.reference.generations import NEVER
from tests.reference.records import Delivered
from tests.reference.solver import Reference
from tests.support.data.lineage_world import LineageWorld

FAR, WHOLE = Bounds(depth=1000, limit=10_000), ListPage(limit=10_000)


class Judge:
    """Answers the questions of the proof."""

    name: str

    @abstractmethod
    def answers(self, events: Sequence[Delivered], asked: Asked, as_of_us: int | None = None) -> Answers: ...


class ReferenceJudge(Judge):
    """The brute-force implementation of the rules."""

    name = "reference"

    def answers(self, events: Sequence[Delivered], asked: Asked, as_of_us: int | None = None) -> Answers:
        lineage = Reference(events, canonical=canonical, as_of_us=as_of_us, window_us=WINDOW_US)
        tagged = questions.tagged(lineage, TAG)
        until = questions.exposed_until(lineage, tagged)
        shown = {
            column: "once exposed" if exposure == "once_exposed" or column in until else exposure
            for column, exposure in questions.surface(lineage, tagged).items()
        }
        own = questions.tagged_until(lineage, tagged)
        shown |= {
            column: "tagged" if exposure == "exposed" else "once exposed" if column in own else exposure
            for column, exposure in questions.tagged_states(lineage, tagged).items()
        }
        return Answers(
            folded(questions.unused(lineage).items(), USE_FIRST),
            folded(shown.items(), SURFACE_FIRST),
            [self._reached(lineage, column, asked.mode, forward=True) for column in asked.impact],
            [self._reached(lineage, column, asked.mode, forward=False) for column in asked.upstream],
        )

    def _reached(self, lineage: Reference, column: Column, mode: Mode, *, forward: bool) -> Reached:
        name = lineage.names.bound(*canonical(*column[:2]), NEVER)
        ask = questions.impact if forward else questions.upstream
        found: Iterable[Any] = ask(lineage, *name, column[2] or "", mode)
        ends = stops.of_impact if forward else stops.of_upstream
        return Reached(frozenset(map(fold, found)), frozenset(ends(lineage, *name, column[2] or "", mode)))


class MemoryJudge(Judge):
    """Headwater's rules, applied to all events at once."""

    name = "memory"

    def answers(self, events: Sequence[Delivered], asked: Asked, as_of_us: int | None = None) -> Answers:
        world = LineageWorld(events, as_of_us=as_of_us, window_us=WINDOW_US)
        return answers_of(world.scene, UserRules(), world.counted, asked)


class IndexJudge(Judge):
    """The index on disk, which receives the events in small batches."""

    name = "index"

    def answers(self, events: Sequence[Delivered], asked: Asked, as_of_us: int | None = None) -> Answers:
        with (
            indexed(list(events), Random(len(events))) as open_views,
            open_views.open_view(AsOf(as_of_us=as_of_us)) as here,
        ):
            return answers_of(here.snapshot, here.rules, here.counted_edges, asked)


def answers_of(snapshot: Snapshot, rules: UserRules, counted: CountedEdges, asked: Asked) -> Answers:
    """Ask Headwater the questions."""
    used = verdicts_answer(snapshot, rules, counted, asked=None, page=WHOLE).items
    return Answers(
        folded(((spelt(each), each.verdict) for each in used), USE_FIRST),
        folded(((spelt(each), exposure_of(each)) for each in all_exposures(snapshot, rules, counted)), SURFACE_FIRST),
        [reached(snapshot, counted, column, asked.mode, forward=True) for column in asked.impact],
        [reached(snapshot, counted, column, asked.mode, forward=False) for column in asked.upstream],
    )


def reached(snapshot: Snapshot, counted: CountedEdges, column: Column, mode: Mode, *, forward: bool) -> Reached:
    asked, names = Subject(*column), default_rules()
    try:
        found = reach_answer(snapshot, names, asked, counted, forward=forward, mode=mode, bounds=FAR)
    except NeverWritten:
        stops = frozenset({snapshot.resolve(names.canonical(*column[:2])).parts})
        return Reached(stops=stops, is_refused=True)
    except (NotKnown, WrongQuestion):
        return Reached(is_refused=True)
    return Reached(
        frozenset(column_of(each) for each in found.columns),
        frozenset((stop.namespace, stop.dataset) for stop in found.stops),
    )


def all_exposures(snapshot: Snapshot, rules: UserRules, counted: CountedEdges) -> Sequence[Any]:
    """Return the surface of the tag, or nothing if no column has it."""
    try:
        looked = find_surface(snapshot, rules, counted, tag=TAG, source=None)
    except NotKnown:
        return ()
    return surface_answer(snapshot, looked, tag=TAG, page=WHOLE).items


def exposure_of(item: Any) -> str:
    """Return the state of a column. Rows written in the clear take precedence over later masking."""
    if item.tagged and item.exposure == "exposed":
        return "tagged"
    once = item.exposure == "once_exposed" or (item.exposure != "exposed" and item.exposed_until)
    return "once exposed" if once else str(item.exposure)


USE_FIRST = ("used", "unknown", "unused")
SURFACE_FIRST = ("tagged", "exposed", "once exposed", "unknown", "masked")


def folded(answers: Iterable[tuple[Any, str]], order: tuple[str, ...]) -> Folded:
    """Return answers by folded column. If columns differ only in spelling, the higher-ranked answer counts."""
    found = Folded()
    for column, answer in answers:
        key = fold(column)
        name, own = (column[-1] or "").casefold(), found.spelt.setdefault(key, {})
        own[name] = min(answer, own.get(name, answer), key=order.index)
        found[key] = min(answer, found.get(key, answer), key=order.index)
    return found


def spelt(item: Any) -> Column:
    return item.namespace, item.dataset, item.column


def column_of(item: Any) -> Column:
    return fold(spelt(item))


def fold(column: Any) -> Column:
    return (column[0], column[1], None if column[-1] is None else folded_column(column[-1]))
