"""Types that many answers share, and the type of errors."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.lineage.edges.output_lineage import EdgeOrigin


class AnswerStruct(Struct, forbid_unknown_fields=True):
    """Base class of answers and their parts. Unknown members are not allowed."""


Mode = Literal["value", "any"]
Count = Annotated[int, Meta(ge=0)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
MaskedOnTheWay = Annotated[bool, Meta(description="Every path between it and the requested column has a masking step.")]
"""Describes the path, never the column itself: in an upstream answer, an unmasked source may be masked on the way."""


class ListAnswer(AnswerStruct, kw_only=True):
    """One page of a list.

    totalCount: number of matching items on all pages. truncated: more items exist. next: the `cursor` of the next page,
    null on the last page.
    """

    totalCount: Count  # noqa: N815 - for compatibility
    truncated: bool
    next: str | None


class Displayed(AnswerStruct, kw_only=True):
    """An object that may be a dataset. display_name: its display name, omitted if it equals the canonical name."""

    display_name: str | UnsetType = UNSET


class Dataset(Displayed):
    """A dataset by its canonical name. display_name: its display name, omitted if it equals the canonical name."""

    namespace: str
    dataset: str


class Job(AnswerStruct):
    """A job."""

    namespace: str
    name: str


class TaskRun(AnswerStruct):
    """What Airflow reports about the run of a task, or of a DAG without `task`.

    group: the id of the task group. map_index: the position of a mapped task. attempt: starts at 1. retries: the number
    of attempts after the first that the task allows. run_type: of the DAG run, such as `scheduled`, `manual` or
    `backfill`. owner: of the task, else of the DAG, as sent. Missing values are null.
    """

    dag: str
    task: str | None
    group: str | None
    map_index: Count | None
    attempt: Count | None
    retries: Count | None
    run_type: str | None
    owner: str | None


class Column(Dataset):
    """A column; null means the whole dataset."""

    column: str | None


class StepTransformation(AnswerStruct):
    """The transformation of a step."""

    type: Literal["DIRECT", "INDIRECT"]
    subtype: str | None
    masking: bool
    description: str | None


class Via(Column):
    """The last step into a column: its source, job, transformation and origin.

    doubtful: the producer reports the step from a name that the SQL of its run explains differently (rule 4.10), so it
    proves neither masking nor that a column is unused.
    presumed_retired: the job is presumed retired (rule 6.12).
    """

    job: Job
    transformation: StepTransformation
    origin: EdgeOrigin
    doubtful: bool | UnsetType = UNSET
    presumed_retired: bool | UnsetType = UNSET


class PathStep(Column):
    """A column on a path, and the step into it."""

    via: Via


class PossibleLink(Dataset):
    """A dataset that `job` writes without an input or reads without an output, in a run of the same application."""

    job: Job
    application: str


class UnfinishedRun(AnswerStruct):
    """A run that did not complete, the newest of its job with the same lineage.

    state: RUNNING (or lost), FAIL or ABORT.
    """

    run: str
    job: Job
    state: str
    time: Time | None


class FormerLocation(AnswerStruct):
    """The name that a location had last, and the time since which this name means another location (rule 2.4)."""

    namespace: str
    name: str
    since: Time


class JobUnread(AnswerStruct):
    """The reason why the SQL of a job was not used, or only a part of it."""

    job: Job
    reason: str


StopReason = Literal["no_columns", "no_input", "no_output", "not_completed", "events_removed"]


class Stop(Dataset):
    """A dataset at which column lineage stops because `jobs` do not report enough.

    reason: `no_columns`: table lineage continues to `onward`; `no_input`: the jobs write the dataset and report no
    input; `no_output`: they read it and report no output; `not_completed`: `runs` that read or write it did not
    complete, so their effect is unknown; `events_removed`: events before `events_removed_before` (a day, UTC) were
    removed, so more lineage may have existed.
    unread: why the SQL of a job was not used, or only a part of it. may_be_connected: datasets of the same application
    at which lineage may continue.
    """

    reason: StopReason
    onward: list[Dataset]
    jobs: list[Job]
    unread: list[str]
    may_be_connected: list[PossibleLink]
    runs: list[UnfinishedRun]
    events_removed_before: str | UnsetType = UNSET


class Error(AnswerStruct):
    """An error.

    error: what happened. field: the parameter. fix: what to do. nearest: names similar to an unknown one.

    behind: waiting events may contain the name; the age of the oldest one in seconds.
    """

    error: str
    field: str | None
    fix: str
    nearest: list[str] | UnsetType = UNSET
    behind: Annotated[float, Meta(gt=0)] | UnsetType = UNSET
