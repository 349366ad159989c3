"""Answers about hierarchies: the tree of runs, and the graph of jobs with data flow and control flow."""

from msgspec import field

from headwater.lineage.runs.job_hierarchy import Granularity
from headwater.questions.answers.answer_parts import AnswerStruct, Count, Dataset, Job, Time


class HierarchyRun(AnswerStruct):
    """A run in the tree.

    state UNREPORTED: other runs name it, but it sent no event. children: number of its child runs.
    """

    id: str
    job: Job | None
    state: str
    started: Time | None
    ended: Time | None
    durationMs: Count | None  # noqa: N815
    children: Count


class Hierarchy(AnswerStruct):
    """A run with its ancestors, outermost first, the number of its descendants by state, and a page of them by time."""

    run: HierarchyRun
    ancestors: list[HierarchyRun]
    states: dict[str, int]
    items: list[HierarchyRun]
    totalCount: Count  # noqa: N815
    truncated: bool


class JobNode(Job):
    """A job at the requested granularity.

    jobs: number of jobs it represents. distance: negative if upstream of the requested job.
    """

    level: Granularity
    jobs: Count
    distance: int | None


class DataFlow(AnswerStruct):
    """Datasets that one of `nodes` writes and another reads: their number, and the first ones."""

    from_: Count = field(name="from")
    to: Count
    datasets: Count
    first: list[Dataset]


class DataHub(Dataset):
    """A dataset that many of `nodes` write and many read. Each writer feeds each reader except itself.

    `dataFlow` omits its pairs, except those of the requested job.
    """

    writers: list[Count]
    readers: list[Count]


class ControlFlow(AnswerStruct):
    """One of `nodes` waits for another, as their orchestrator reports. No data needs to flow between them."""

    from_: Count = field(name="from")
    to: Count
    type: str | None
    rule: str | None


class JobGraph(AnswerStruct):
    """Jobs with their data flow and control flow."""

    granularity: Granularity
    nodes: list[JobNode]
    dataFlow: list[DataFlow]  # noqa: N815
    hubs: list[DataHub]
    controlFlow: list[ControlFlow]  # noqa: N815
    totalCount: Count  # noqa: N815
    truncated: bool
