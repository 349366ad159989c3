"""Moments in questions: a time, a day, or a word for an event that an index must look up."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, NewType

from headwater.common.errors import WrongQuestion
from headwater.events.times import parse_time

Microseconds = NewType("Microseconds", int)
"""A time in microseconds since 1970 UTC; in requests, a text in ISO 8601."""

WRITTEN = "ISO 8601, UTC if it has no zone; write + as %2B in a URL."
WORDS = "Or yesterday (00:00 UTC), last_green:JOB, deploy, deploy:VERSION, run:ID."

_WORD = re.compile(r"(?:(last_green|run|deploy):(.+)|(deploy))", re.DOTALL)


class Moment(NamedTuple):
    """A time in us (UTC), or a word with its argument.

    time_us: the time, or None for a word. word, argument: `last_green` with a job, `deploy` with a version (empty for
    the newest), or `run` with a run id.
    """

    time_us: int | None
    word: str = ""
    argument: str = ""

    def fixed_us(self) -> int:
        """Return the time. Raises WrongQuestion for a word, because there is no index to look it up."""
        if self.time_us is None:
            raise WrongQuestion(f"{self.word!r} can only be resolved by an index, which is missing here. Write a time.")
        return self.time_us


def parse_moment(parameter: str, text: str) -> Moment:
    """Parse a moment. Raises WrongQuestion with the name of the parameter."""
    if found := _WORD.fullmatch(text):
        return Moment(None, found[1] or found[3], found[2] or "")
    if text == "yesterday":
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return Moment(int((today - timedelta(days=1)).timestamp()) * 1_000_000)
    return Moment(moment_us(parameter, text, f" {WORDS}"))


def moment_us(parameter: str, text: str, or_else: str = "") -> Microseconds:
    """Parse a time. Raises WrongQuestion with the name of the parameter."""
    snapshot, _ = parse_time(text)
    if snapshot is None:
        hint = " In a URL, write + as %2B." if " " in text else ""
        raise WrongQuestion(
            f"{parameter}={text[:40]!r} is not a time. Write it like 2026-03-01T12:00:00Z.{hint}{or_else}"
        )
    return Microseconds(snapshot)
