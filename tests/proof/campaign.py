"""Apply operators to worlds and find the answers that became safer. `python -m bench.proof` prints the table."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from tests.proof.additions import ADDITIONS
from tests.proof.event_edits import Mutation, Operator
from tests.proof.judges import IndexJudge, Judge, MemoryJudge, ReferenceJudge
from tests.proof.ranks import QUESTIONS, Answers, Asked, Unsafe, unsafe_answers
from tests.proof.removals import REMOVALS
from tests.proof.shrinking import shrunk
from tests.proof.streams import Stream, questions_about, stream
from tests.reference.world_events import Json, deliver

OPERATORS: dict[str, Operator] = {**REMOVALS, **ADDITIONS}
JUDGES: dict[str, Judge] = {judge.name: judge for judge in (ReferenceJudge(), MemoryJudge(), IndexJudge())}
EACH = 2
"""The number of operators for each world, applied separately."""


class Variant(NamedTuple):
    """A world after one operator."""

    number: int
    operator: str
    stream: Stream
    mutation: Mutation
    asked: Asked

    @property
    def asked_after(self) -> Asked:
        """The questions about the mutated events. They use the catalog name of a table that moved."""
        moved, catalog = self.mutation.moved, self.mutation.catalog
        return self.asked.under({moved[0]: catalog}) if moved and catalog else self.asked


class Violation(NamedTuple):
    """An answer that a mutation made safer."""

    variant: Variant
    unsafe: Unsafe

    @property
    def kind(self) -> tuple[str, str]:
        return self.variant.operator, self.unsafe.question

    def __str__(self) -> str:
        variant, unsafe = self.variant, self.unsafe
        places = ", ".join(map(str, variant.mutation.where))
        return (
            f"{variant.operator} in world {variant.number} ({variant.stream.name}), events {places}: "
            f"{variant.mutation.what}\n  {unsafe.question} {unsafe.subject}: {unsafe.before}, then {unsafe.after}"
        )


@dataclass
class Tally:
    """The number of variants by operator, the number that changed an answer, and the answers that became safer."""

    variants: Counter[str] = field(default_factory=Counter)
    effective: Counter[str] = field(default_factory=Counter)
    violations: dict[tuple[str, str], list[Violation]] = field(default_factory=lambda: defaultdict(list))

    def add(self, variant: Variant, found: Sequence[Violation], *, is_effective: bool) -> None:
        self.variants[variant.operator] += 1
        self.effective[variant.operator] += is_effective
        for kind in {each.kind for each in found}:
            self.violations[kind].append(next(each for each in found if each.kind == kind))

    def __str__(self) -> str:
        lines = [f"{'operator':24}{'variants':>9}{'effective':>10}" + "".join(f"{each:>10}" for each in QUESTIONS)]
        for operator in OPERATORS:
            counts = [len(self.violations.get((operator, question), ())) for question in QUESTIONS]
            lines.append(
                f"{operator:24}{self.variants[operator]:9}{self.effective[operator]:10}"
                + "".join(f"{count or '-':>10}" for count in counts)
            )
        return "\n".join(lines)


def variants(numbers: Iterable[int], each: int = EACH) -> Iterator[Variant]:
    """Yield the worlds with the given numbers after applicable operators, drawn deterministically from the number."""
    for number in numbers:
        world, chance = stream(number), Random(f"operators {number}")
        asked = questions_about(world.events, chance)
        applied = 0
        for operator in chance.sample(sorted(OPERATORS), len(OPERATORS)):
            if applied < each and (variant := variant_of(number, operator, world, asked)):
                applied += 1
                yield variant


def variant_of(number: int, operator: str, world: Stream | None = None, asked: Asked | None = None) -> Variant | None:
    """Return the world of a number after one operator, which is always the same, or None if the operator does not
    apply.
    """
    world = world or stream(number)
    asked = asked or questions_about(world.events, Random(f"operators {number}"))
    mutation = OPERATORS[operator](world.events, Random(f"{operator} {number}"))
    return Variant(number, operator, world, mutation, asked) if mutation else None


def judged(variant: Variant, judge: Judge, before: Answers | None = None) -> tuple[list[Violation], bool]:
    """Return the answers that became safer, and whether any answer changed."""
    before = before or judge.answers(deliver(variant.stream.events), variant.asked)
    after = judge.answers(variant.mutation.delivered, variant.asked_after)
    found = unsafe_answers(variant.asked, before, after, variant.stream.events, variant.mutation)
    return [Violation(variant, each) for each in found], before != after


def campaign(numbers: Iterable[int], judge: Judge, each: int = EACH) -> Tally:
    """Compare the answers for the variants of worlds."""
    tally, known = Tally(), (-1, Answers())
    for variant in variants(numbers, each):
        if known[0] != variant.number:
            known = variant.number, judge.answers(deliver(variant.stream.events), variant.asked)
        found, is_effective = judged(variant, judge, known[1])
        tally.add(variant, found, is_effective=is_effective)
    return tally


def smallest(violation: Violation, judge: Judge) -> Violation:
    """Reduce a violation to the smallest number of events in which it still occurs."""
    variant = violation.variant

    def stays(events: Sequence[Json], after: Sequence[Json | None]) -> Unsafe | None:
        mutation = Mutation(after, (), variant.mutation.what, variant.mutation.moved, variant.mutation.catalog)
        smaller = variant._replace(stream=Stream(variant.stream.name, list(events)), mutation=mutation)
        found, _ = judged(smaller, judge)
        return next((each.unsafe for each in found if each.unsafe.key == violation.unsafe.key), None)

    changed_runs = _runs_with_less(variant)
    events, after = shrunk(
        variant.stream.events,
        variant.mutation.events,
        lambda *pair: stays(*pair) is not None,
        lambda event: "run" in event and event["run"]["runId"].lower() in changed_runs,
    )
    where = tuple(n for n, each in enumerate(after) if n >= len(events) or each != events[n])
    mutation = Mutation(after, where, variant.mutation.what, variant.mutation.moved, variant.mutation.catalog)
    smaller = variant._replace(stream=Stream(variant.stream.name, events), mutation=mutation)
    return Violation(smaller, stays(events, after) or violation.unsafe)


def _runs_with_less(variant: Variant) -> set[str]:
    """Return the runs that a removal changed. Dropping their events would remove more than the operator did."""
    if variant.operator not in REMOVALS:
        return set()
    events, after = variant.stream.events, variant.mutation.events
    return {was["run"]["runId"].lower() for was, now in zip(events, after, strict=False) if was != now and "run" in was}


def smallest_of_each(kinds: Mapping[tuple[str, str], list[Violation]], judge: Judge) -> Iterator[Violation]:
    """Yield a reduced violation of each kind, the smallest of a few."""
    for _, found in sorted(kinds.items()):
        few = sorted(found, key=lambda each: len(each.variant.stream.events))[:3]
        yield min((smallest(each, judge) for each in few), key=lambda each: len(each.variant.mutation.events))
