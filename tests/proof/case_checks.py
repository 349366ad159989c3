"""The inputs in `cases/` and their correct answers from `cases.toml`."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from tests.lineage.test_reference import canonical
from tests.proof.event_edits import folded_column
from tests.proof.judges import Judge
from tests.proof.ranks import Answers, Asked, Column, Mentions, Reached, leads
from tests.reference.names import Name
from tests.reference.records import Delivered
from tests.reference.world_events import dataset, dataset_event, facet
from tests.support.data.lineage_world import as_recorded

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Check:
    """A question about a case, and its correct answers."""

    text: str
    question: str
    about: Column
    allowed: tuple[str, ...]
    other: Column | None = None
    as_of_us: int | None = None

    @property
    def asked(self) -> Asked:
        own = (self.about,)
        return Asked(own if self.question == "impact" else (), own if self.question == "upstream" else ())


@dataclass(frozen=True)
class LineageCase:
    """An input and its questions. rules: the rules of the specification on which the answers depend."""

    name: str
    delivered: tuple[Delivered, ...]
    rules: tuple[int, ...]
    checks: tuple[Check, ...]

    def wrong_answers(self, judge: Judge) -> list[str]:
        return [found for check in self.checks if (found := _wrong(check, self.delivered, judge))]


@cache
def lineage_cases() -> tuple[LineageCase, ...]:
    told = tomllib.loads((FOLDER / "cases.toml").read_text("utf-8"))
    return tuple(
        LineageCase(
            name, _delivered(name, case.get("tags", ())), tuple(case["rules"]), tuple(map(_check, case["checks"]))
        )
        for name, case in told.items()
    )


def _delivered(name: str, tags: Sequence[str]) -> tuple[Delivered, ...]:
    lines = (FOLDER / "cases" / f"{name}.ndjson").read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    last = max(event["eventTime"] for event in events)
    for number, tagged in enumerate(tags):
        namespace, named, column = tagged.split()
        tag = facet(tags=[{"key": "pii", "value": "true", "source": "USER", "field": column}])
        about = dataset((namespace, named), tags=tag)
        events.append(dataset_event(last, about, f"https://example.org/tags/{number}"))
    return tuple(as_recorded(events))


def _check(text: str) -> Check:
    words, as_of_us = text.split(), None
    if words[0].startswith("asOf="):
        as_of_us = int(datetime.fromisoformat(words.pop(0).removeprefix("asOf=")).timestamp()) * 1_000_000
    question, namespace, name, column, allowed, *other = words
    end = (other[0], other[1], folded_column(other[2])) if other else None
    return Check(text, question, (namespace, name, column), tuple(allowed.split("|")), end, as_of_us)


def _wrong(check: Check, delivered: Sequence[Delivered], judge: Judge) -> str | None:
    """Return the judge's answer if it is wrong, else None."""
    mentions = Mentions([each for each in delivered if check.as_of_us is None or each.time_us <= check.as_of_us])
    answer = _answer(check, judge.answers(delivered, check.asked, check.as_of_us), mentions)
    return None if answer in check.allowed else f"{check.text}: {answer}"


def _answer(check: Check, answers: Answers, mentions: Mentions) -> str:
    about = _bound(check.about, mentions)
    if check.question == "unused":
        return answers.unused.get(about, "none")
    if check.question == "surface":
        return answers.surface.get(about, "absent").replace(" ", "-")
    assert check.other, check.text
    found: Reached = getattr(answers, check.question)[0]
    end = _bound(check.other, mentions)
    if end in found.columns:
        return "reaches"
    stops = any(leads(check.question, stop, {end[:2]}, mentions) for stop in found.stops)
    return "stops" if stops and "not" not in check.allowed else "not"


def _bound(column: Column, mentions: Mentions) -> Column:
    name: Name = mentions.bound(canonical(*column[:2]))
    return (*name, folded_column(column[2] or ""))
