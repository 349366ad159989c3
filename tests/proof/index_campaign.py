"""Apply operators to worlds and check many variants with one index, which costs less than one index for each."""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from headwater.lineage.snapshots.as_of import AsOf, View
from headwater.questions.unused import verdicts_answer
from tests.index.test_reference import indexed
from tests.proof.campaign import EACH, JUDGES, Tally, Variant, Violation, campaign
from tests.proof.judges import SURFACE_FIRST, USE_FIRST, WHOLE, all_exposures, exposure_of, folded, reached, spelt
from tests.proof.placing import by_world, moved_events, plain, portable_variants, prefixed
from tests.proof.ranks import Answers, Asked, Column, Reached, unsafe_answers
from tests.reference.records import Delivered
from tests.reference.world_events import RECEIPT_US, Json, event_id
from tests.reference.worlds import prefix

TOGETHER = 40
"""Number of variants in one index."""
MOST_AT_ONCE = 120
"""Maximum number of events in one batch of the index."""


class _Placed(NamedTuple):
    """A variant, and the prefixes of its world before and after the operator."""

    variant: Variant
    before: str
    after: str


def campaign_of(judge: str, numbers: Iterable[int], each: int = EACH) -> Tally:
    """Check the variants of worlds with the judge of the given name. Variants of the index judge share index files."""
    return campaign_in_index(numbers, each) if judge == "index" else campaign(numbers, JUDGES[judge], each)


def campaign_in_index(numbers: Iterable[int], each: int = EACH) -> Tally:
    """Compare the answers of shared indexes for the variants of worlds."""
    tally, waiting = Tally(), list[Variant]()
    for variant in portable_variants(numbers, each):
        waiting.append(variant)
        if len(waiting) == TOGETHER:
            _judge(waiting, tally)
            waiting.clear()
    _judge(waiting, tally)
    return tally


def _judge(variants: Sequence[Variant], tally: Tally) -> None:
    placed = list(_placed(variants))
    worlds = {each.before: each.variant.stream.events for each in placed}
    worlds.update((each.after, each.variant.mutation.after) for each in placed)
    events = [each for world, own in worlds.items() for each in _delivered(moved_events(own, world))]
    with (
        indexed(events, Random(len(events)), most_at_once=MOST_AT_ONCE) as open_views,
        open_views.open_view(AsOf()) as here,
    ):
        answers = _Worlds(here)
        for each in placed:
            variant = each.variant
            before, after = (
                answers.about(world, asked)
                for world, asked in ((each.before, variant.asked), (each.after, variant.asked_after))
            )
            unsafe = unsafe_answers(variant.asked, before, after, variant.stream.events, variant.mutation)
            tally.add(variant, [Violation(variant, found) for found in unsafe], is_effective=before != after)


def _placed(variants: Sequence[Variant]) -> Iterator[_Placed]:
    """Give each variant a prefix. Variants of one world share the prefix of the unchanged world."""
    places: dict[int, str] = {}
    for number, variant in enumerate(variants):
        before = places.setdefault(variant.number, prefix(2 * number))
        yield _Placed(variant, before, prefix(2 * number + 1))


def _delivered(events: Iterable[Json]) -> list[Delivered]:
    return [Delivered(each, RECEIPT_US + n * 1_000_000, event_id(each)) for n, each in enumerate(events)]


class _Worlds:
    """The answers of an index about each of its worlds."""

    def __init__(self, here: View) -> None:
        self._here = here
        used = verdicts_answer(here.snapshot, here.rules, here.counted_edges, asked=None, page=WHOLE)
        self._used = by_world(used.items)
        self._shown = by_world(all_exposures(here.snapshot, here.rules, here.counted_edges))

    def about(self, world: str, asked: Asked) -> Answers:
        used = ((plain(spelt(each), world), each.verdict) for each in self._used.get(world, ()))
        shown = ((plain(spelt(each), world), exposure_of(each)) for each in self._shown.get(world, ()))
        return Answers(
            folded(used, USE_FIRST),
            folded(shown, SURFACE_FIRST),
            [self._reached(column, world, asked, forward=True) for column in asked.impact],
            [self._reached(column, world, asked, forward=False) for column in asked.upstream],
        )

    def _reached(self, column: Column, world: str, asked: Asked, *, forward: bool) -> Reached:
        there = (prefixed(column[0], world), *column[1:])
        found = reached(self._here.snapshot, self._here.counted_edges, there, asked.mode, forward=forward)
        return Reached(
            frozenset(plain(each, world) for each in found.columns),
            frozenset(plain(each, world) for each in found.stops),
        )
