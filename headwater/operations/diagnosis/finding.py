"""Findings of `headwater doctor`, and the loop that runs its checks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from headwater.common.errors import HeadwaterError, ServerRefusal

Level = Literal["problem", "warning"]


class Finding(NamedTuple):
    """What a check found. level: a problem loses events or answers; a warning may be intended.

    message: what happened and why. remedy: what to do.
    """

    check: str
    level: Level
    message: str
    remedy: str


class Check(NamedTuple):
    """A check. find: yields findings, and may raise HeadwaterError, which is a problem."""

    name: str
    find: Callable[[], Iterable[Finding]]


def counted(count: int, what: str) -> str:
    """Return a number with its noun: `1 event`, `2 events`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


_AGAIN = "Run `headwater doctor` again afterwards."
"""The remedy is part of the message of an error."""


def run_checks(checks: Sequence[Check]) -> Iterator[Finding]:
    """Yield the findings of all checks. An error that several checks raise is one finding."""
    known: set[tuple[str, str]] = set()
    for check in checks:
        for found in _findings(check):
            if (found.message, found.remedy) not in known:
                known.add((found.message, found.remedy))
                yield found


def error_finding(check: str, error: HeadwaterError) -> Finding:
    """Return an error of Headwater as a finding."""
    if isinstance(error, ServerRefusal):
        return Finding(check, "problem", str(error.body["error"]), str(error.body.get("fix") or _AGAIN))
    return Finding(check, "problem", str(error), _AGAIN)


def _findings(check: Check) -> Iterator[Finding]:
    try:
        yield from check.find()
    except HeadwaterError as error:
        yield error_finding(check.name, error)
