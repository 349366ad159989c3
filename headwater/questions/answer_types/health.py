"""Answers about the health of datasets and jobs: failed, late, stale, and whom to contact."""

from typing import Literal

from headwater.questions.answer_types.common import AnswerStruct, Count, Dataset, Displayed, Job, Time

Status = Literal["failed", "late", "stale", "ok", "unknown"]


class HealthRun(AnswerStruct):
    """A run. time: of its newest event. state LOST: it never ended. error: of a failed run, from its facets."""

    id: str
    job: Job
    state: str
    time: Time | None
    error: str | None


class HealthItem(Displayed):
    """The health of a dataset or a job.

    last_success: the newest completed write of a dataset, or completed run of a job, by run `success_run`.
    usual_seconds: the usual interval. due: the time at which the next write or run was expected. late_seconds: the
    delay since then.
    waits_for: for `stale`, the upstream datasets that failed or are late, nearest first.
    rows, rows_before: if the newest write emptied the dataset, 0 and the row count of the newest write that had rows.
    failed_with: for a job in the list of all, the jobs of the failed parent runs of its failed run.
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
    """An owner of a dataset or a job.

    source: `rules` for owners.yaml, `facet` for what producers send, `job` for an owner of a job that writes the
    dataset.
    """

    name: str
    type: str | None
    source: Literal["rules", "facet", "job"] = "facet"


class OwnedDataset(Dataset):
    """A dataset with its owners."""

    owners: list[Owner]


class CodeSource(AnswerStruct):
    """The location of the code of a job, as its producer reports it."""

    url: str
    type: str | None
    path: str | None
    version: str | None


class AboutTag(AnswerStruct):
    """A tag of a dataset, a job or a run."""

    key: str
    value: str


class About(AnswerStruct):
    """Description, owners, code location and tags."""

    description: str | None
    owners: list[Owner]
    source: CodeSource | None
    tags: list[AboutTag]


class NotRefreshed(Dataset):
    """A dataset that was not written since a failure or a due time.

    distance: number of edges, 0 for an expected output.

    is_written_since: another run has written it since, possibly with old data.
    """

    distance: Count
    last_success: Time | None
    is_written_since: bool


class HealthAnswer(AnswerStruct):
    """The health of one dataset or job, or a list of everything that is failed, late or stale, worst first.

    statuses: number of items for each status. about, not_refreshed: only for one dataset or job; the datasets
    downstream that have not been written since.
    never_written: runs name the dataset as their output, but none of them has completed. failed_runs: its newest failed
    or lost runs in that case.
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
    """The health of datasets and jobs in a graph. Those with unknown health are omitted."""

    items: list[HealthItem]
