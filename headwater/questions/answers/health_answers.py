"""Answers about health: what is written when it should be, what is not, what waits for it; and whose it is."""

from typing import Literal

from headwater.questions.answers.answer_parts import AnswerStruct, Count, Dataset, Displayed, Job, Time

Status = Literal["failed", "late", "stale", "ok", "unknown"]


class HealthRun(AnswerStruct):
    """A run; time: when it was heard of last. LOST: it never ended. error: of one that failed, what its facets say."""

    id: str
    job: Job
    state: str
    time: Time | None
    error: str | None


class HealthItem(Displayed):
    """How a dataset or a job fares.

    last_success: the newest write of a dataset, or run of a job, that completed, by run `success_run`.
    usual_seconds: the rhythm of these; due: when the next was to be expected; late_seconds: how long ago that was.
    waits_for: of what is `stale`, the datasets upstream that failed or are late, the nearest first.
    rows, rows_before: of a dataset that its newest write emptied, 0, and the rows of the newest write that had some.
    failed_with: of a job in the list of all, the jobs above it whose failed runs are the parents of its failed run.
    """

    kind: Literal["dataset", "job"]
    namespace: str
    name: str
    status: Status
    reason: str
    last_success: Time | None
    success_run: str | None
    last_run: HealthRun | None
    usual_seconds: float | None
    due: Time | None
    late_seconds: float | None
    waits_for: list[Dataset]
    failed_with: list[Job]
    rows: Count | None
    rows_before: Count | None


class Owner(AnswerStruct):
    """Somebody who answers for something."""

    name: str
    type: str | None


class CodeSource(AnswerStruct):
    """Where the code of a job lies, as its producer says."""

    url: str
    type: str | None
    path: str | None
    version: str | None


class AboutTag(AnswerStruct):
    """A tag of a dataset, a job or a run."""

    key: str
    value: str


class About(AnswerStruct):
    """What producers say of something beside lineage."""

    description: str | None
    owners: list[Owner]
    source: CodeSource | None
    tags: list[AboutTag]


class NotRefreshed(Dataset):
    """A dataset that was not written since something failed or was due; distance: edges away, 0 what was to be written.

    is_written_since: it was, by another run, be it with what was there before.
    """

    distance: Count
    last_success: Time | None
    is_written_since: bool


class HealthAnswer(AnswerStruct):
    """How one dataset or job fares, or all that do not fare well, the worst first; statuses: how many of each.

    about, not_refreshed: of one alone; what lies downstream of it and has not been written since.
    never_written: of a dataset, runs name it as their output, and none of them has completed.
    failed_runs: of a dataset that was never written, its newest runs that failed or are lost.
    """

    items: list[HealthItem]
    statuses: dict[Status, int]
    about: About | None
    not_refreshed: list[NotRefreshed]
    never_written: bool
    failed_runs: list[HealthRun]
    totalCount: Count  # noqa: N815
    truncated: bool


class HealthOfShown(AnswerStruct):
    """How those fare that are drawn; what is not known is left out."""

    items: list[HealthItem]
