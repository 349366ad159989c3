"""Answers about edges: what reaches what, why, since when, and what of it is not known."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from headwater.lineage.rules.declared_writes import RewriteSource
from headwater.questions.answers.answer_parts import (
    AnswerStruct,
    Column,
    Count,
    Dataset,
    Displayed,
    Job,
    ListAnswer,
    MaskedOnTheWay,
    Mode,
    PathStep,
    StepTransformation,
    Stop,
    Time,
    Via,
)
from headwater.questions.answers.health_answers import About, NotRefreshed
from headwater.questions.answers.run_detail_answers import RunStatistics


class ReachedColumn(Column):
    """A column that lineage reaches; `path` only if asked for.

    earlier: every way to it is over an earlier execution; last_seen: when the last step of this way
    was last reported, else null. presumed_retired: every way to it is over a job that is presumed retired (rule 6.12);
    such columns come last.
    """

    distance: int
    masked: MaskedOnTheWay
    read_before_recreation: bool
    via: Via
    in_schema: bool
    earlier: bool
    last_seen: Time | None
    presumed_retired: bool | UnsetType = UNSET
    path: list[PathStep] | UnsetType = UNSET


class Reach(AnswerStruct):
    """What a column ends up in, or is made of."""

    column: Column
    mode: Mode
    columns: list[ReachedColumn]
    stops: list[Stop]
    truncated: bool


class PathAnswer(AnswerStruct):
    """Whether one column reaches another, and how."""

    from_: Column = field(name="from")
    to: Column
    mode: Mode
    reaches: bool
    path: list[PathStep]
    stops: list[Stop]


class EdgeReason(AnswerStruct):
    """A job that makes an edge; written: what its newest run counted at the output, null where it did not say."""

    job: Job
    origin: str
    transformations: list[StepTransformation]
    runs: Count
    first_seen: Time | None
    last_seen: Time | None
    rows_confirmed: bool = field(name="landed")
    newest_run: str | None
    sql: str | UnsetType | None = UNSET
    written: RunStatistics | UnsetType | None = UNSET


class EdgeAnswer(AnswerStruct):
    """Why an edge is there."""

    from_: Column = field(name="from")
    to: Column
    items: list[EdgeReason]


class DiffItem(AnswerStruct):
    """An edge that came, went, or changed in being masked."""

    change: Literal["added", "removed", "changed"]
    from_: Column = field(name="from")
    to: Column
    type: Literal["DIRECT", "INDIRECT"]
    masked: bool
    job: Job


class Diff(ListAnswer):
    """What changed between two moments."""

    added: Count
    removed: Count
    changed: Count
    items: list[DiffItem]


class TimelineItem(AnswerStruct):
    """An edge that appeared, ended or changed in being masked, or a drop of the dataset.

    masked: the job masks the edge; with `changed` since then, with `ended` until then.
    """

    time: Time
    change: Literal["appeared", "ended", "changed", "dropped"]
    job: Job
    from_: Column | None = field(name="from")
    to: Column
    masked: bool


class Timeline(ListAnswer):
    """When the lineage of a dataset changed."""

    dataset: Dataset
    items: list[TimelineItem]


class CoverageItem(Displayed, kw_only=True):
    """A dataset or a job without column lineage; unread: why nothing, or not all, follows from the SQL of its jobs."""

    kind: Literal["dataset", "job"]
    namespace: str
    dataset: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    reason: str
    unread: list[str]


class Coverage(ListAnswer):
    """What lineage does not cover; hidden: system tables that were left out."""

    datasets: dict[str, int]
    jobs: dict[str, int]
    items: list[CoverageItem]
    hidden: Count


class AskedRun(AnswerStruct):
    """A run, and the run that it is part of: itself where it is part of none."""

    id: str
    job: Job
    state: str
    execution: str
    started: Time | None
    ended: Time | None


class OtherRun(AnswerStruct):
    """A run beside the asked one; time: of its newest event."""

    id: str
    time: Time | None
    job: Job


class ChildRun(OtherRun):
    """A run that is part of the asked one."""

    state: str


class FilesOfRun(Dataset, kw_only=True):
    """A dataset, or files of one folder, extension and schema under one name such as `raw/*.csv`; files: how many."""

    files: Annotated[int, Meta(gt=1)] | UnsetType = UNSET


class ReadByRun(FilesOfRun):
    """What a run read, and the run that had written it: of files the newest of these runs."""

    written_by: OtherRun | None


class WrittenByRun(FilesOfRun):
    """What a run wrote, and the runs that read it before the next write.

    unread: why nothing, or not all, follows from the run's SQL, where its lineage leaves columns open. rewrite: the run
    replaced all rows, as its events report, as a Delta commit proves that `headwater reconcile` read, or as
    `rewrites.yaml` declares; left out if the run replaced none or a part of them.
    """

    read_by: list[OtherRun]
    unread: str | None
    rewrite: RewriteSource | UnsetType = UNSET


class ErrorCause(AnswerStruct):
    """An exception of a chain: what it says, and the lines that tell more of it, such as its frames.

    telling: of these the few next to where it was raised: the first of Java, the last of Python.
    """

    what: str
    telling: list[str]
    trace: list[str]
    lines_left_out: Count


class RunError(AnswerStruct):
    """What a facet says of an error: `of` the run, or only of the extraction of its lineage, then of which task.

    causes: the exceptions of its stack trace, the one that was the cause of all others first.
    """

    facet: str
    of: Literal["run", "extraction"]
    message: str
    task: str | None
    causes: list[ErrorCause]


class FailedTest(AnswerStruct):
    """A test that failed in a run, as `test` or `dataQualityAssertions` describe it."""

    facet: str
    dataset: Dataset | None
    name: str
    column: str | None
    severity: str | None
    description: str | None
    expected: str | None
    actual: str | None


class RunLineage(AnswerStruct):
    """What a run read and wrote, the runs that are part of it, why it failed, its SQL, and what it did not refresh."""

    run: AskedRun
    errors: list[RunError]
    failed_tests: list[FailedTest]
    sql: str | None
    about: About
    not_refreshed: list[NotRefreshed]
    reads: list[ReadByRun]
    writes: list[WrittenByRun]
    children: list[ChildRun]
    truncated: bool
