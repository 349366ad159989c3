"""Answers about what is part of what: runs as a tree, jobs as a graph of data flow and control flow."""

from msgspec import field

from headwater.lineage.runs.job_hierarchy import Granularity
from headwater.questions.answers.answer_parts import AnswerStruct, Count, Dataset, Job, Time


class HierarchyRun(AnswerStruct):
    """A run in the tree; state UNREPORTED: others name it, and it sent no event. children: how many are part of it."""

    id: str
    job: Job | None
    state: str
    started: Time | None
    ended: Time | None
    durationMs: Count | None  # noqa: N815
    children: Count


class Hierarchy(AnswerStruct):
    """A run, what it is part of (the outermost first), what is part of it: states of all, a page of them by time."""

    run: HierarchyRun
    ancestors: list[HierarchyRun]
    states: dict[str, int]
    items: list[HierarchyRun]
    totalCount: Count  # noqa: N815
    truncated: bool


class JobNode(Job):
    """A job at the asked granularity; jobs: how many it stands for; distance below 0: before the asked one."""

    level: Granularity
    jobs: Count
    distance: int | None


class DataFlow(AnswerStruct):
    """One of `nodes` writes what another reads: so many datasets, the first of them."""

    from_: Count = field(name="from")
    to: Count
    datasets: Count
    first: list[Dataset]


class DataHub(Dataset):
    """A dataset that many of `nodes` write and many read: each of these writers feeds each reader but itself.

    Its pairs are no `dataFlow`, but for those of the job that was asked for.
    """

    writers: list[Count]
    readers: list[Count]


class ControlFlow(AnswerStruct):
    """One of `nodes` waits for another, as their orchestrator says; no data need pass."""

    from_: Count = field(name="from")
    to: Count
    type: str | None
    rule: str | None


class JobGraph(AnswerStruct):
    """Jobs, and what passes between them: data, and control apart from it."""

    granularity: Granularity
    nodes: list[JobNode]
    dataFlow: list[DataFlow]  # noqa: N815
    hubs: list[DataHub]
    controlFlow: list[ControlFlow]  # noqa: N815
    totalCount: Count  # noqa: N815
    truncated: bool
