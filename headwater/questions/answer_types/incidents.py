"""Answers about incidents: causes of failures and of late or broken data, what they affect, and whom to contact."""

from typing import Literal

from headwater.questions.answer_types.common import AnswerStruct, Count, Dataset, Displayed, Job, Time
from headwater.questions.answer_types.health import Owner

IncidentKind = Literal[
    "run.failed", "run.lost", "test.failed", "dataset.late", "producer.silent", "dataset.emptied",
    "schema.changed", "volume.unusual",
]  # fmt: skip
IncidentState = Literal["open", "resolved"]
Severity = Literal["error", "warning"]
SubjectKind = Literal["dataset", "job", "namespace"]


class IncidentSubject(Displayed):
    """The job, dataset or namespace to which the cause belongs.

    name: empty for a namespace. column, test: of a failed test.
    """

    kind: SubjectKind
    namespace: str
    name: str
    column: str | None
    test: str | None


class IncidentError(AnswerStruct):
    """An error of a failed run.

    message: its first line. frame: the line of the stack trace that is closest to the failure.
    """

    message: str
    frame: str | None


class IncidentRun(AnswerStruct):
    """A failed run of an incident. state: FAIL, or LOST if it never ended. time: when it ended or was lost."""

    id: str
    job: Job
    state: Literal["FAIL", "LOST"]
    time: Time | None


class IncidentDataset(Dataset):
    """A dataset that is not up to date because of an incident. distance: number of edges from the cause."""

    distance: Count


class Incident(AnswerStruct):
    """A root cause with everything that follows from it.

    id: depends only on the kind, the subject and the first cause. opened: when the first failed run ended, or when a
    late write was due. detected: when the rule of its kind first applied, for a late write after the grace period.
    resolved: null while it is open. due: of the kinds that the clock opens. columns: those that
    left the dataset of a `schema.changed`. summary: a sentence for people. failures: the failed runs, first one first;
    failureCount counts all. affected: the datasets that are not up to date, nearest first; affectedCount counts all.
    owners: of the subject and of the affected datasets.
    downstreamOwners: those among them that own only datasets at a distance above 0. tags: `KEY` or `KEY=VALUE` of the
    subject and of the affected datasets at distance 0. downstreamTags: the other tags of the affected datasets.
    """

    id: str
    kind: IncidentKind
    severity: Severity
    state: IncidentState
    subject: IncidentSubject
    opened: Time
    detected: Time
    resolved: Time | None
    due: Time | None
    columns: list[str]
    summary: str
    error: IncidentError | None
    failures: list[IncidentRun]
    failureCount: Count  # noqa: N815 - as totalCount
    affected: list[IncidentDataset]
    affectedCount: Count  # noqa: N815
    owners: list[Owner]
    downstreamOwners: list[Owner]  # noqa: N815
    tags: list[str]
    downstreamTags: list[str]  # noqa: N815


class Incidents(AnswerStruct):
    """The incidents that were open at some time between two moments, open ones first, then the worst.

    since, until: the two moments. kinds: number of incidents of each kind.
    """

    since: Time
    until: Time
    items: list[Incident]
    kinds: dict[IncidentKind, int]
    totalCount: Count  # noqa: N815 - for compatibility
    truncated: bool
