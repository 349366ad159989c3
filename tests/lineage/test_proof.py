"""Removing information from an event never makes an answer safer, whatever the producer omits."""

import json
from collections.abc import Sequence
from itertools import cycle
from random import Random

import pytest

from tests.lineage.test_reference import canonical
from tests.proof.campaign import OPERATORS, Tally, Variant, judged, smallest, variant_of, variants
from tests.proof.event_edits import Mutation
from tests.proof.index_campaign import campaign_of
from tests.proof.judges import MemoryJudge, ReferenceJudge
from tests.proof.open_points import open_kinds, open_pairs
from tests.proof.ranks import QUESTIONS, Answers, Asked, Column, Mentions, Reached, unsafe_answers
from tests.proof.reports import report
from tests.proof.streams import Stream, questions_about, recordings, stream
from tests.reference.records import Delivered
from tests.reference.world_events import Json, at, deliver, facet, run_event, uuid
from tests.rule_cases.events import done, table, writes

pytestmark = pytest.mark.slow

FEW, MANY = range(50), range(50, 5000)
ALIKE = (9010, 9020, 9030, 9037, 9040, 9132, 9200, 9259)
"""Worlds of which the reference and the rules once answered differently."""
ENOUGH = 0.02
"""The minimum share of an operator's variants that must change an answer, so that the operator is useful."""
OFTEN = 5
"""So many of the first 80 worlds have what an operator removes."""
NOTHING = Asked((), ())


@pytest.mark.parametrize("judge", ["reference", "index"])
def test_no_answer_is_safer_than_the_events_prove(judge: str) -> None:
    tally = campaign_of(judge, FEW)
    assert [str(violations[0]) for violations in tally.violations.values()] == [], f"\n{tally}"


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("judge", ["reference", "index"])
def test_no_answer_is_safer_in_any_of_many_worlds(judge: str) -> None:
    tally = campaign_of(judge, MANY)
    assert_safe(tally)
    assert judge != "reference" or open_pairs() <= tally.violations.keys(), (
        "the violations no longer occur: remove them from open.toml"
    )
    assert [operator for operator in OPERATORS if tally.effective[operator] < ENOUGH * tally.variants[operator]] == []


def test_reference_and_rules_give_the_same_answers_and_stops() -> None:
    for number in ALIKE:
        events = deliver(stream(number).events)
        asked, was = questions_about(stream(number).events, Random(f"operators {number}")), Mentions(events)
        ours, theirs = ReferenceJudge().answers(events, asked), MemoryJudge().answers(events, asked)
        assert (ours.unused, ours.surface) == (theirs.unused, theirs.surface), number
        for question in ("impact", "upstream"):
            answers = zip(getattr(asked, question), getattr(ours, question), getattr(theirs, question), strict=True)
            for column, one, other in answers:
                name = was.bound(canonical(*column[:2]))
                if not (other.is_refused or was.is_end_of_a_name(name) or was.is_alias(name)):
                    assert one == other, (number, question, column)


def test_open_kinds_are_told_apart_and_known() -> None:
    assert len(open_pairs()) == len(open_kinds())
    assert {kind.operator for kind in open_kinds()} <= OPERATORS.keys()
    assert {kind.question for kind in open_kinds()} <= set(QUESTIONS)


def test_half_of_the_worlds_are_recorded_and_every_recording_is_among_them() -> None:
    names = [stream(number).name for number in range(100)]
    assert sum(not name.startswith("generated") for name in names) == len(names) / 2
    assert len(set(names) & recordings().keys()) > len(recordings()) / 2


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_applies_often_and_leaves_its_events_as_they_are(operator: str) -> None:
    applied = 0
    for number in range(80):
        if applied == OFTEN:
            break
        world = stream(number)
        before = json.dumps(world.events)
        variant = variant_of(number, operator, world)
        assert json.dumps(world.events) == before
        if variant:
            applied += 1
            assert variant.mutation.after != world.events
            assert variant.mutation == getattr(variant_of(number, operator), "mutation", None)
    assert applied == OFTEN


def test_a_violation_shrinks_to_few_events_that_still_show_it() -> None:
    judge = Careless()
    found = (each for variant in variants(FEW) for each in judged(variant, judge)[0])
    violation = next(each for each in found if len(each.variant.stream.events) > 8)
    smaller = smallest(violation, judge)
    assert smaller.unsafe.key == violation.unsafe.key
    assert len(smaller.variant.stream.events) < len(violation.variant.stream.events)
    assert violation.unsafe.subject in report(smaller)


@pytest.mark.parametrize(
    ("before", "after", "is_safe"),
    [
        ("used", "unknown", True), ("used", "unused", False), ("used", None, False), ("unknown", "unused", False),
        ("unused", "unused", True), ("unused", "used", True), ("unused", None, False),
    ],
)  # fmt: skip
def test_use_may_become_unknown_but_never_unused(before: str, after: str | None, *, is_safe: bool) -> None:
    events = [done(1, 1, table("a", "x"))]
    column: Column = ("s3://lake", "a", "x")
    unused = {} if after is None else {column: after}
    found = unsafe_answers(NOTHING, Answers({column: before}), Answers(unused), events, Mutation(events, (), ""))
    assert bool(found) != is_safe


@pytest.mark.parametrize(
    ("before", "after", "is_safe"),
    [
        ("exposed", "once exposed", True), ("exposed", "unknown", True), ("exposed", "masked", False),
        ("unknown", "absent", False), ("once exposed", "masked", False), ("masked", "masked", True),
        ("masked", "absent", False),
    ],
)  # fmt: skip
def test_an_exposure_may_become_unknown_but_never_masked(before: str, after: str, *, is_safe: bool) -> None:
    events = [done(1, 1, table("a", "x"))]
    column: Column = ("s3://lake", "a", "x")
    surface = {} if after == "absent" else {column: after}
    was, now = Answers(surface={column: before}), Answers(surface=surface)
    assert bool(unsafe_answers(NOTHING, was, now, events, Mutation(events, (), ""))) != is_safe


@pytest.mark.parametrize(("stop", "is_safe"), [("a", True), ("b", True), ("c", False), (None, False)])
def test_a_returned_column_may_become_a_stop_that_leads_to_it(stop: str | None, *, is_safe: bool) -> None:
    events = [done(1, 1, writes("b", {"x": "a.x"}), of="a"), done(2, 2, writes("c", {"x": "b.x"}), of="b")]
    asked, column = Asked((("s3://lake", "a", "x"),), ()), ("s3://lake", "c", "x")
    stops = frozenset({("s3://lake", stop)} if stop else ())
    was, now = Answers(impact=[Reached(frozenset({column}))]), Answers(impact=[Reached(stops=stops)])
    assert bool(unsafe_answers(asked, was, now, events, Mutation(events, (), ""))) != is_safe


class Careless(MemoryJudge):
    """Answers "unused" for every column whose use is unknown."""

    def answers(self, events: Sequence[Delivered], asked: Asked, as_of_us: int | None = None) -> Answers:
        found = super().answers(events, asked, as_of_us)
        found.unused = {column: "unused" if told == "unknown" else told for column, told in found.unused.items()}
        return found


def assert_safe(tally: Tally) -> None:
    """Check that only kinds listed as open have violations."""
    found = {kind: violations for kind, violations in tally.violations.items() if kind not in open_pairs()}
    assert [str(violations[0]) for violations in found.values()] == [], f"\n{tally}"


def withdrawal(events: Sequence[Json]) -> Mutation:
    """Return the events with a comparison that reports, for each write, commits that replaced no rows or
    only a part.
    """
    written = [
        {"run": event["run"]["runId"], "namespace": each["namespace"], "name": each["name"], "proves": proves}
        for event in events
        if "run" in event
        for each, proves in zip(event.get("outputs") or [], cycle(("nothing", "part", "append")), strict=False)
    ]
    facets = {"headwater_commits": facet(commits=written)}
    told = run_event("COMPLETE", at(0), uuid(930), ("headwater", "reconcile/nightly"), run_facets=facets)
    return Mutation([*events, told], (len(events),), "commits replace no rows")


def test_what_commits_withdraw_makes_no_answer_safer() -> None:
    """All writes become overwrites, because a world rarely rewrites a table that it exposed before."""
    judge, effective = MemoryJudge(), 0
    for number in range(60):
        world = stream(number)
        events = [json.loads(json.dumps(event)) for event in world.events]
        for event in events[::2] if number % 2 else events[1::2]:
            for each in event.get("outputs") or []:
                overwrite = facet(lifecycleStateChange="OVERWRITE")
                each["facets"] = {"lifecycleStateChange": overwrite} | (each.get("facets") or {})
        variant = Variant(
            number, "withdraw", Stream(world.name, events), withdrawal(events), questions_about(events, Random(number))
        )
        found, is_effective = judged(variant, judge)
        assert found == [], found[0]
        effective += is_effective
    assert effective >= 3
