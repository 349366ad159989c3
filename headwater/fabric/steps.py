"""One thing that a workspace shall have, whether it has it, and what puts it there."""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from headwater.errors import WrongSetting


class StepState(StrEnum):
    """What was found; all but `there` can be put there, unless it is `blocked`."""

    THERE = "there"
    MISSING = "missing"
    DIFFERS = "differs"
    BLOCKED = "blocked"


class WorkspaceStep(NamedTuple):
    """One thing. note: what to know, or who must allow it; put: makes it so, None where nobody but a person can.

    then: what is to be done by a person when it was put.
    """

    what: str
    state: StepState
    note: str = ""
    put: Callable[[], None] | None = None
    then: str = ""


class Done(NamedTuple):
    """What became of a step."""

    what: str
    state: str
    note: str


def deploy(steps: Iterable[WorkspaceStep]) -> Iterator[Done]:
    """Put what is not there, in order, and yield each as it is done; raises WrongSetting at what nobody can put."""
    for step in steps:
        if step.state is StepState.THERE:
            yield Done(step.what, "unchanged", step.note)
        elif step.put is None:
            raise WrongSetting(f"{step.what}: {step.note}")
        else:
            step.put()
            yield Done(step.what, "made" if step.state is StepState.MISSING else "changed", step.then)


def look(steps: Iterable[WorkspaceStep]) -> Iterator[Done]:
    """Yield what is there and what is not, and put nothing."""
    for step in steps:
        yield Done(step.what, str(step.state), step.note)
