"""Findings of `headwater doctor`, and the loop that runs its checks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from headwater.common.errors import HeadwaterError, ServerRefusal

Level = Literal["problem", "warning"]


class Finding(NamedTuple):
    """A problem or warning that a check reports.

    level: `problem` if events or answers are lost, `warning` if the state may be intended. message: what happened and
    why. remedy: what the user can do.
    """

    check: str
    level: Level
    message: str
    remedy: str


class Check(NamedTuple):
    """A check. find: yields findings; a HeadwaterError that it raises is reported as a problem."""

    name: str
    find: Callable[[], Iterable[Finding]]


_AGAIN = "Run `headwater doctor` again afterwards."
"""Remedy of a finding that was an error: the message of the error already says what to do."""


def run_checks(checks: Sequence[Check]) -> Iterator[Finding]:
    """Yield the findings of all checks. Several checks that raise the same error yield one finding."""
    known: set[tuple[str, str]] = set()
    for check in checks:
        for found in _findings_of_check(check):
            if (found.message, found.remedy) not in known:
                known.add((found.message, found.remedy))
                yield found


def error_finding(check: str, error: HeadwaterError) -> Finding:
    """Return an error of Headwater as a finding."""
    if isinstance(error, ServerRefusal):
        return Finding(check, "problem", str(error.body["error"]), str(error.body.get("fix") or _AGAIN))
    return Finding(check, "problem", str(error), _AGAIN)


def _findings_of_check(check: Check) -> Iterator[Finding]:
    try:
        yield from check.find()
    except HeadwaterError as error:
        yield error_finding(check.name, error)
