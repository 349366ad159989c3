"""Steps of a deployment: what a workspace needs, whether it exists, and how to create it."""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from headwater.common.errors import WrongSetting


class StepState(StrEnum):
    """The result of a check; every state except `there` can be fixed by applying the step, unless it is `blocked`."""

    THERE = "there"
    MISSING = "missing"
    DIFFERS = "differs"
    BLOCKED = "blocked"


class WorkspaceStep(NamedTuple):
    """One step. note: information, or who must allow it; apply: applies the step, None if only a person can do it.

    follow_up: what a person must do afterwards.
    """

    what: str
    state: StepState
    note: str = ""
    apply: Callable[[], None] | None = None
    follow_up: str = ""


class StepResult(NamedTuple):
    """The result of a step."""

    what: str
    state: str
    note: str


def deploy(steps: Iterable[WorkspaceStep]) -> Iterator[StepResult]:
    """Apply the steps in order and yield the results; raises WrongSetting at a step that only a person can do."""
    for step in steps:
        if step.state is StepState.THERE:
            yield StepResult(step.what, "unchanged", step.note)
        elif step.apply is None:
            raise WrongSetting(f"{step.what}: {step.note}")
        else:
            step.apply()
            yield StepResult(step.what, "made" if step.state is StepState.MISSING else "changed", step.follow_up)


def check_steps(steps: Iterable[WorkspaceStep]) -> Iterator[StepResult]:
    """Yield the state of each step without applying it."""
    for step in steps:
        yield StepResult(step.what, str(step.state), step.note)
