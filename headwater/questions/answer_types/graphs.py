"""Answers for graphs: groups of tables, surroundings of a table, trees of runs, and the graph of jobs."""

from typing import Literal

from msgspec import field

from headwater.lineage.runs.jobs import JobLevel
from headwater.questions.answer_types.common import (
    AnswerStruct,
    Column,
    Count,
    Dataset,
    Displayed,
    Job,
    MaskedOnTheWay,
    Mode,
    TaskRun,
    Time,
)


class HierarchyRun(AnswerStruct):
    """A run in the tree.

    The state UNREPORTED means that other runs name the run, but it sent no event. children: number of its child runs.
    task: the task or DAG if Airflow started the run; null for other runs and for runs that are not among the newest of
    their job.
    """

    id: str
    job: Job | None
    state: str
    started: Time | None
    ended: Time | None
    durationMs: Count | None  # noqa: N815
    children: Count
    task: TaskRun | None


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

    jobs: number of jobs it represents. distance: negative if upstream of the requested job. group: the task group of
    an Airflow task.
    """

    level: JobLevel
    jobs: Count
    distance: int | None
    group: str | None


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

    granularity: JobLevel
    nodes: list[JobNode]
    dataFlow: list[DataFlow]  # noqa: N815
    hubs: list[DataHub]
    controlFlow: list[ControlFlow]  # noqa: N815
    totalCount: Count  # noqa: N815
    truncated: bool


Kind = Literal["group", "dataset"]
Level = Literal["namespace", "lakehouse", "schema", "none"]


class GraphNode(Displayed):
    """A group of datasets, or one dataset. inside: number of lineage edges between its own datasets."""

    id: str
    kind: Kind
    namespace: str
    name: str
    datasets: Count
    inside: Count


class GraphEdge(AnswerStruct):
    """The number of lineage edges between datasets of two nodes, and of the jobs that make them."""

    from_: str = field(name="from")
    to: str
    edges: Count
    jobs: Count


class GraphAnswer(AnswerStruct):
    """The graph of tables. totalCount: number of nodes. hidden: number of omitted system tables."""

    groups: Level
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    totalCount: Count  # noqa: N815
    hidden: Count
    truncated: bool


class LineageTable(Dataset):
    """A table around the requested one.

    distance: negative upstream. moreUp, moreDown: number of neighbours that are not shown.
    """

    columns: list[str]
    columnCount: Count  # noqa: N815
    distance: int
    columnLineage: bool  # noqa: N815
    moreUp: Count  # noqa: N815
    moreDown: Count  # noqa: N815


class LineageColumn(AnswerStruct):
    """A column related to the requested one. table: its position in `tables`."""

    table: Count
    column: str
    distance: int
    masked: MaskedOnTheWay


class ColumnEdge(AnswerStruct):
    """A step between two of `columns`. If it has several transformations, the most direct, unmasked one."""

    from_: Count = field(name="from")
    to: Count
    type: Literal["DIRECT", "INDIRECT"]
    subtype: str | None
    masked: bool


class TableEdge(AnswerStruct):
    """Jobs that lead from one of `tables` to another. columns: all of them report column lineage."""

    from_: Count = field(name="from")
    to: Count
    columns: bool
    jobs: list[Job]


class Neighbourhood(AnswerStruct):
    """The surroundings of a dataset or a column. hidden: number of omitted system tables next to the shown ones."""

    subject: Column
    mode: Mode
    tables: list[LineageTable]
    columns: list[LineageColumn]
    columnEdges: list[ColumnEdge]  # noqa: N815
    tableEdges: list[TableEdge]  # noqa: N815
    hidden: Count
    truncated: bool
