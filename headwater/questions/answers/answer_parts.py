"""Parts of many answers, and what a refusal looks like."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.lineage.edges.origins import Origin


class AnswerStruct(Struct, forbid_unknown_fields=True):
    """An answer, or a part of one, has these members and no others."""


Mode = Literal["value", "any"]
Count = Annotated[int, Meta(ge=0)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
MaskedOnTheWay = Annotated[bool, Meta(description="Every way between it and the asked column has a step that masks.")]
"""Of the way, never of the column: upstream a plaintext source may be behind a step that masks."""


class ListAnswer(AnswerStruct, kw_only=True):
    """A page of a list, beside its `items`.

    totalCount: of all items that were asked for, on all pages; truncated: there are more; next: the `cursor` of the
    next page, null on the last.
    """

    totalCount: Count  # noqa: N815 - as answers have had it from the first
    truncated: bool
    next: str | None


class Displayed(AnswerStruct, kw_only=True):
    """A thing that may be a dataset; display_name: its display name, left out where it is the canonical name."""

    display_name: str | UnsetType = UNSET


class Dataset(Displayed):
    """A dataset by its canonical name; display_name: the name that people know, left out where it is the same."""

    namespace: str
    dataset: str


class Job(AnswerStruct):
    """A job."""

    namespace: str
    name: str


class Column(Dataset):
    """A column; null stands for the whole dataset."""

    column: str | None


class StepTransformation(AnswerStruct):
    """What a step does to a value."""

    type: Literal["DIRECT", "INDIRECT"]
    subtype: str | None
    masking: bool
    description: str | None


class Via(Column):
    """The last step to a column: from where, by which job, how, and who says so.

    doubtful: the producer reports the step from a name that the SQL of its run explains otherwise (rule 4.10), so it
    proves neither masking nor that a column is unused. presumed_retired: the job is presumed retired (rule 6.12).
    """

    job: Job
    transformation: StepTransformation
    origin: Origin
    doubtful: bool | UnsetType = UNSET
    presumed_retired: bool | UnsetType = UNSET


class PathStep(Column):
    """A column on a way, and how it was reached."""

    via: Via


class PossibleLink(Dataset):
    """A dataset that `job` writes without an input or reads without an output, in a run of the same application."""

    job: Job
    application: str


class UnfinishedRun(AnswerStruct):
    """The newest run of a job that reports the same and did not complete; state: RUNNING (or lost), FAIL or ABORT."""

    run: str
    job: Job
    state: str
    time: Time | None


class FormerLocation(AnswerStruct):
    """The name that a location had last, and since when that means another one (rule 2.4)."""

    namespace: str
    name: str
    since: Time


class JobUnread(AnswerStruct):
    """Why nothing, or not all, follows from the SQL of a job."""

    job: Job
    reason: str


StopReason = Literal["no_columns", "no_input", "no_output", "not_completed", "events_removed"]


class Stop(Dataset):
    """A dataset at which column lineage stops because of what `jobs` do not report.

    reason: `no_columns`: lineage of whole tables goes on to `onward`; `no_input`: the jobs write the dataset and report
    no input; `no_output`: they read it and report no output; `not_completed`: `runs` that read or write it did not
    complete, so it is not known what they did; `events_removed`: events before `events_removed_before` (a day, UTC)
    were removed, so more lineage may have existed.
    unread: why nothing, or not all, follows from a job's SQL; may_be_connected: where lineage may go on within an
    application.
    """

    reason: StopReason
    onward: list[Dataset]
    jobs: list[Job]
    unread: list[str]
    may_be_connected: list[PossibleLink]
    runs: list[UnfinishedRun]
    events_removed_before: str | UnsetType = UNSET


class Error(AnswerStruct):
    """Why a request was not answered: what, where, what to do; for a name nobody knows the nearest ones.

    behind: events wait that may know the name; the age of the oldest in seconds.
    """

    error: str
    field: str | None
    fix: str
    nearest: list[str] | UnsetType = UNSET
    behind: Annotated[float, Meta(gt=0)] | UnsetType = UNSET
