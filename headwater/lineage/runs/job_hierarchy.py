"""Rule 3, part of: a statement belongs to an application, that to a task, that to a DAG; how jobs fold into those."""

from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple, get_args

from headwater.lineage.names.dataset_name import Name

Granularity = Literal["statement", "job", "application", "task", "dag"]
"""From the finest to the coarsest."""

_LEVELS = get_args(Granularity)
_SAID: dict[str, Granularity] = {
    **dict.fromkeys(("SQL_JOB", "RDD_JOB", "QUERY", "COMMAND", "MODEL", "SNAPSHOT", "SEED", "TEST"), "statement"),
    "JOB": "job",
    "APPLICATION": "application",
    "TASK": "task",
    "DAG": "dag",
}
"""By `jobType.jobType`, as Spark, dbt, Flink and Airflow say it."""

_ABOVE: dict[Granularity, Granularity] = {
    "statement": "application", "job": "task", "application": "task", "task": "dag", "dag": "dag",
}  # fmt: skip
_HIGHEST = 32
"""Ancestors that are looked at."""

Fold = Callable[[Name], Name]
"""From the key of a job to the key of the job that stands for it."""


class Started(NamedTuple):
    """What is known of a job beside its lineage, by its newest run.

    kind: its `jobType.jobType`, empty where it says none; parent: the job of the run that it is part of; root: the
    first of that chain where it is neither the parent nor the job itself.
    """

    kind: str = ""
    parent: Name | None = None
    root: Name | None = None


class Ancestor(NamedTuple):
    """A job, or one that it is part of."""

    job: Name
    level: Granularity


def as_it_is(job: Name) -> Name:
    """Fold nothing."""
    return job


def ancestors(job: Name, started: Callable[[Name], Started]) -> list[Ancestor]:
    """Return a job and what it is part of, the nearest first.

    What says nothing of itself is one level above what it started; a root that is known by its name alone is a DAG.
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
    """Return what folds jobs: into the nearest ancestor of a level, else into the highest that is below it."""
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
