"""Moments as they are asked for: a time, a day, or a word for what happened then, which an index must look up."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, NewType

from headwater.errors import WrongQuestion
from headwater.events.times import parse_time

Microseconds = NewType("Microseconds", int)
"""A moment, since 1970 UTC; asked for as text, ISO 8601."""

WRITTEN = "ISO 8601, UTC without a zone; + is %2B."
WORDS = "Or yesterday (its first second, UTC), last_green:JOB, deploy, deploy:VERSION, run:ID."

_WORD = re.compile(r"(?:(last_green|run|deploy):(.+)|(deploy))", re.DOTALL)


class Moment(NamedTuple):
    """A time in us, UTC; or None, and a word with what it is of: `last_green` a job, `deploy` a version, `run` a run.

    `deploy` of nothing is the newest.
    """

    time_us: int | None
    word: str = ""
    of: str = ""

    def fixed_us(self) -> int:
        """Return the time; raises WrongQuestion for a word, where no index is at hand that could tell."""
        if self.time_us is None:
            raise WrongQuestion(f"{self.word!r} is known where there is an index. Here write a time.")
        return self.time_us


def read_moment(parameter: str, text: str) -> Moment:
    """Read a moment that was asked for; raises WrongQuestion naming the parameter."""
    if found := _WORD.fullmatch(text):
        return Moment(None, found[1] or found[3], found[2] or "")
    if text == "yesterday":
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return Moment(int((today - timedelta(days=1)).timestamp()) * 1_000_000)
    return Moment(moment_us(parameter, text, f" {WORDS}"))


def moment_us(parameter: str, text: str, or_else: str = "") -> Microseconds:
    """Read a time that was asked for; raises WrongQuestion naming the parameter."""
    snapshot, _ = parse_time(text)
    if snapshot is None:
        hint = " In a URL + is written %2B." if " " in text else ""
        raise WrongQuestion(f"{parameter}={text[:40]!r} is no time. Write it like 2026-03-01T12:00:00Z.{hint}{or_else}")
    return Microseconds(snapshot)
