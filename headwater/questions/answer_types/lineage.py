"""Answers about edges: impact, upstream, paths, reasons, changes and gaps."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from headwater.lineage.rules.applied_rules import RewriteEvidence
from headwater.questions.answer_types.common import (
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
from headwater.questions.answer_types.health import About, NotRefreshed, OwnedDataset
from headwater.questions.answer_types.runs import RunStatistics


class ReachedColumn(Column):
    """A column that lineage reaches. `path` is only set if requested.

    earlier: every path to it uses an earlier execution. last_seen: time of the last report of the last step, null
    unless `earlier`.
    presumed_retired: every path to it uses a job that is presumed retired (rule 6.12); such columns come last.
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
    """The columns downstream or upstream of a column.

    owners: the owners of the first 200 datasets in the answer: the requested one, those of the columns, and those in
    `onward` of the stops. Datasets without an owner are left out.
    """

    column: Column
    mode: Mode
    columns: list[ReachedColumn]
    stops: list[Stop]
    truncated: bool
    owners: list[OwnedDataset]


class PathAnswer(AnswerStruct):
    """Whether one column reaches another, and the path."""

    from_: Column = field(name="from")
    to: Column
    mode: Mode
    reaches: bool
    path: list[PathStep]
    stops: list[Stop]


class EdgeReason(AnswerStruct):
    """A job that makes an edge.

    written: the row, byte and file counts of its newest run at the output, null if it reported none.
    """

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
    """The jobs that make an edge."""

    from_: Column = field(name="from")
    to: Column
    items: list[EdgeReason]


class DiffItem(AnswerStruct):
    """An edge that was added or removed, or that started or stopped masking."""

    change: Literal["added", "removed", "changed"]
    from_: Column = field(name="from")
    to: Column
    type: Literal["DIRECT", "INDIRECT"]
    masked: bool
    job: Job


class Diff(ListAnswer):
    """Changes of edges between two moments."""

    added: Count
    removed: Count
    changed: Count
    items: list[DiffItem]


class TimelineItem(AnswerStruct):
    """An edge that appeared, ended, or started or stopped masking, or a drop of the dataset.

    masked: whether the job masks the edge: for `changed`, since this time; for `ended`, until this time.
    """

    time: Time
    change: Literal["appeared", "ended", "changed", "dropped"]
    job: Job
    from_: Column | None = field(name="from")
    to: Column
    masked: bool


class Timeline(ListAnswer):
    """The history of the lineage into a dataset."""

    dataset: Dataset
    items: list[TimelineItem]


class CoverageItem(Displayed, kw_only=True):
    """A dataset or a job without column lineage. unread: why the SQL of its jobs was not used, or only a part of it."""

    kind: Literal["dataset", "job"]
    namespace: str
    dataset: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    reason: str
    unread: list[str]


class Coverage(ListAnswer):
    """Datasets and jobs without column lineage. hidden: number of omitted system tables."""

    datasets: dict[str, int]
    jobs: dict[str, int]
    items: list[CoverageItem]
    hidden: Count


class AskedRun(AnswerStruct):
    """The requested run. execution: the run that it is part of, or itself."""

    id: str
    job: Job
    state: str
    execution: str
    started: Time | None
    ended: Time | None


class OtherRun(AnswerStruct):
    """A related run. time: of its newest event."""

    id: str
    time: Time | None
    job: Job


class ChildRun(OtherRun):
    """A child run of the requested run."""

    state: str


class FilesOfRun(Dataset, kw_only=True):
    """A dataset, or files of one folder, extension and schema under one name such as `raw/*.csv`.

    files: their number.
    """

    files: Annotated[int, Meta(gt=1)] | UnsetType = UNSET


class ReadByRun(FilesOfRun):
    """An input of a run, and the run that had written it; for several files, the newest of these runs."""

    written_by: OtherRun | None


class WrittenByRun(FilesOfRun):
    """An output of a run, and the runs that read it before the next write.

    unread: why the SQL of the run was not used, or only a part of it, if its lineage leaves columns open.
    rewrite: set if the run replaced all rows: `reported` by its events, `committed` by a Delta commit that `headwater
    reconcile` read, or `declared` in `rewrites.yaml`.
    """

    read_by: list[OtherRun]
    unread: str | None
    rewrite: RewriteEvidence | UnsetType = UNSET


class ErrorCause(AnswerStruct):
    """An exception in a chain: its text and its stack trace.

    telling: the lines closest to where it was raised: the first ones in Java, the last ones in Python.
    """

    what: str
    telling: list[str]
    trace: list[str]
    lines_left_out: Count


class RunError(AnswerStruct):
    """An error in a facet.

    of: `run`, or `extraction` if only the extraction of lineage failed. task: the task of the extraction.

    causes: the exceptions of the stack trace, root cause first.
    """

    facet: str
    of: Literal["run", "extraction"]
    message: str
    task: str | None
    causes: list[ErrorCause]


class FailedTest(AnswerStruct):
    """A failed test of a run, from the facet `test` or `dataQualityAssertions`."""

    facet: str
    dataset: Dataset | None
    name: str
    column: str | None
    severity: str | None
    description: str | None
    expected: str | None
    actual: str | None


class RunLineage(AnswerStruct):
    """Inputs, outputs, child runs, errors and SQL of a run, and the datasets that it did not refresh."""

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
