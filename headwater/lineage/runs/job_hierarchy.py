"""Rules 3.2 to 3.4: the levels of jobs (statement, application, task, DAG), and how jobs fold into their ancestors."""

from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple, get_args

from headwater.lineage.names.dataset_name import Name

Granularity = Literal["statement", "job", "application", "task", "dag"]
"""The levels of jobs, from fine to coarse."""

_LEVELS = get_args(Granularity)
_SAID: dict[str, Granularity] = {
    **dict.fromkeys(("SQL_JOB", "RDD_JOB", "QUERY", "COMMAND", "MODEL", "SNAPSHOT", "SEED", "TEST"), "statement"),
    "JOB": "job",
    "APPLICATION": "application",
    "TASK": "task",
    "DAG": "dag",
}
"""The level of a job by the `jobType.jobType` that Spark, dbt, Flink and Airflow send."""

_ABOVE: dict[Granularity, Granularity] = {
    "statement": "application", "job": "task", "application": "task", "task": "dag", "dag": "dag",
}  # fmt: skip
_HIGHEST = 32
"""The maximum number of ancestors that are followed."""

Fold = Callable[[Name], Name]
"""(key of a job) → key of the job that represents it"""


class Started(NamedTuple):
    """The position of a job in the hierarchy, by its newest run.

    kind: its `jobType.jobType`, empty without one; parent: the job of the parent run; root: the job of the root run,
    None if that is the parent or the job itself.
    """

    kind: str = ""
    parent: Name | None = None
    root: Name | None = None


class Ancestor(NamedTuple):
    """A job, or one of its ancestors, with its level."""

    job: Name
    level: Granularity


def as_it_is(job: Name) -> Name:
    """Return the job itself: no folding."""
    return job


def ancestors(job: Name, started: Callable[[Name], Started]) -> list[Ancestor]:
    """Return a job and its ancestors, the nearest first.

    A job without a known type is one level above the job that it started. A root that no parent leads to is a DAG.
    """
    found = [Ancestor(job, _said(started(job)) or "statement")]
    root = None
    while len(found) <= _HIGHEST:
        here = started(found[-1].job)
        root = here.root or root
        if here.parent is None or any(each.job == here.parent for each in found):
            break
        found.append(Ancestor(here.parent, _said(started(here.parent)) or _ABOVE[found[-1].level]))
    if root is not None and all(each.job != root for each in found):
        found.append(Ancestor(root, _said(started(root)) or "dag"))
    return found


def folding(granularity: Granularity, started: Callable[[Name], Started]) -> Fold:
    """Return the function that folds a job into its nearest ancestor of a level, else into the highest one below it."""
    asked = _LEVELS.index(granularity)

    @cache
    def fold(job: Name) -> Name:
        folded = job
        for each in ancestors(job, started):
            level = _LEVELS.index(each.level)
            if level <= asked:
                folded = each.job
            if level >= asked:
                break
        return folded

    return fold if asked else as_it_is


def _said(told: Started) -> Granularity | None:
    return _SAID.get(told.kind.upper())
