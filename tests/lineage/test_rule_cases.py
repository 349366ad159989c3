"""Hand-written cases of the lineage rules, checked with every judge, with events in order and shuffled with
repetitions.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from tests.reference.world_events import START_US, Json, deliver
from tests.rule_cases import (
    accounts,
    airflow,
    assets,
    attempts,
    fed_by_jobs,
    feeding_jobs,
    generations,
    masking,
    moved,
    nested,
    opaque,
    periods,
    plain,
    retired,
    rewriting,
    selecting,
    settled,
    spellings,
    sql,
    unlisted,
    unused,
)
from tests.rule_cases.case import Ask, Case
from tests.rule_cases.events import tagging
from tests.rule_cases.index_judge import Index
from tests.rule_cases.judges import Judge, Memory, Oracle
from tests.rule_cases.sample import sample_cases

PARTS = (
    attempts,
    generations,
    moved,
    opaque,
    accounts,
    fed_by_jobs,
    feeding_jobs,
    unlisted,
    airflow,
    assets,
    nested,
    masking,
    rewriting,
    retired,
    periods,
    unused,
    selecting,
    settled,
    plain,
    spellings,
    sql,
)
CASES = [case for part in PARTS for case in part.CASES]
TOPICS = {case.name: part.__name__ for part in PARTS for case in part.CASES}
"""The module of each case, by the name of the case."""

SAMPLE = {case.name for case in sample_cases(CASES, TOPICS)}
SAMPLED = [pytest.param(case, id=case.name, marks=() if case.name in SAMPLE else pytest.mark.long) for case in CASES]
"""All cases. In `make test`, the reference and the index answer only the sample."""

TAGGED_AT = 3500  # seconds: after the events of every case and before the first receipt


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    assert_answered(case, Memory)


@pytest.mark.slow
@pytest.mark.parametrize("case", SAMPLED)
def test_the_reference_answers_a_case(case: Case) -> None:
    assert_answered(case, Oracle)


@pytest.mark.slow
@pytest.mark.parametrize("case", SAMPLED)
def test_the_index_takes_a_case_in_another_order(case: Case) -> None:
    """Shuffled events prove more. Only long tests use the original order."""
    assert wrong_answers(case, shuffled(case), Index) == [], case.doubt


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_index_takes_a_case_in_order(case: Case) -> None:
    assert wrong_answers(case, list(case.events), Index) == [], case.doubt


def test_names_of_cases_are_told_apart() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 150


def assert_answered(case: Case, judge: type[Judge]) -> None:
    assert wrong_answers(case, list(case.events), judge) == [], case.doubt
    assert wrong_answers(case, shuffled(case), judge) == [], "the order or repetition of events changes the answer"


def wrong_answers(case: Case, events: list[Json], judge: type[Judge]) -> list[str]:
    """Return the judge's answers that differ from those of the case."""
    as_of_us = None if case.as_of is None else START_US + int(case.as_of * 1_000_000)
    tags, by_tag = tagged(case)
    with judge(deliver([*events, *tags]), as_of_us) as seen:
        asks = [ask for ask in (*case.asks, *by_tag) if ask.kind in judge.answers]
        return [each for ask in asks for each in differences(ask, seen.answer(ask))]


def tagged(case: Case) -> tuple[list[Json], list[Ask]]:
    """Return events that tag each column with a surface question, and the same questions by tag.

    Each event has its own tag and producer, so it does not replace other tags.
    """
    second = TAGGED_AT if case.as_of is None else case.as_of
    asked = list(enumerate(ask for ask in case.asks if ask.kind == "surface" and not ask.tag))
    tags = [tagging(second, ask.about, f"asked {n}", by=f"https://example.org/tags/{n}") for n, ask in asked]
    return tags, [Ask("surface", f"#asked {number}", ask.expected) for number, ask in asked]


def differences(ask: Ask, found: Any) -> list[str]:
    expected = ask.expected
    if isinstance(expected, Mapping):
        is_open = {key for key, value in expected.items() if value == "?"}
        found, expected = ({key: each[key] for key in each.keys() - is_open} for each in (found, expected))
    shown = f"{ask.kind} {ask.about}{' ' + ask.mode if ask.mode != 'value' else ''}{' strict' if ask.strict else ''}"
    return [] if found == expected else [f"{shown}: {in_order(found)}, not {in_order(expected)}"]


def in_order(answer: Any) -> Any:
    return dict(sorted(answer.items())) if isinstance(answer, Mapping) else sorted(answer)


def shuffled(case: Case) -> list[Json]:
    """Return the events in random order, some of them twice."""
    chance = Random(case.name)
    return chance.sample(case.events, len(case.events)) + chance.sample(case.events, len(case.events) // 2)
