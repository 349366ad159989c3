"""Follow steps from a column forward and backward."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from tests.reference.nesting import Node, Step, Way

Steps = dict[Node, list[Step]]


def reached(steps: Iterable[Step], starts: Iterable[Node]) -> dict[Node, int]:
    """Return the reached columns with their distance in edges. A start is included only if a path leads back to it."""
    further, last = _by(steps, lambda step: step.source)
    found: dict[Node, int] = {}
    ends: dict[Node, int] = {}
    front, distance = set(starts), 0
    while front:
        distance += 1
        for step in _along(last, front):
            ends.setdefault(step.target, distance)
        front = {step.target for step in _along(further, front)} - found.keys()
        found |= dict.fromkeys(front, distance)
    return {node: min(each[node] for each in (found, ends) if node in each) for node in found.keys() | ends.keys()}


def carried(steps: Iterable[Step], starts: Iterable[Node]) -> set[Node]:
    """Return the reached columns from which paths continue, that is not only through their nested columns."""
    return set(reached((step for step in steps if step.way is not Way.CONTAINS), starts))


def reached_backwards(steps: Iterable[Step], starts: Iterable[Node]) -> dict[Node, int]:
    """Return the columns that reach the starts. A step that only contains its target can only be the last of a path."""
    further, last = _by(steps, lambda step: step.target)
    front = {step.source for step in [*_along(last, starts), *_along(further, starts)]}
    found = dict.fromkeys(front, 1)
    distance = 1
    while front:
        distance += 1
        front = {step.source for step in _along(further, front)} - found.keys()
        found |= dict.fromkeys(front, distance)
    return found


def _by(steps: Iterable[Step], end: Callable[[Step], Node]) -> tuple[Steps, Steps]:
    """Return the steps that continue a path and the steps that end it, both by one end of the step."""
    further: Steps = defaultdict(list)
    last: Steps = defaultdict(list)
    for step in steps:
        (last if step.way is Way.CONTAINS else further)[end(step)].append(step)
    return further, last


def _along(steps: Steps, front: Iterable[Node]) -> list[Step]:
    return [step for node in front for step in steps.get(node, ())]
