"""What the events of a run say beside lineage, and who reads a dataset."""

from typing import Literal

from headwater.questions.answers.answer_parts import AnswerStruct, Count, Dataset, Job, Time

Side = Literal["read", "written"]


class RunLink(AnswerStruct):
    """An address in a run's facets; href: the same where a rule lets it be followed, else null: it is shown as text."""

    title: str
    text: str
    href: str | None


class RunStatistics(Dataset):
    """What a run counted at a dataset; null: it did not say."""

    side: Side
    rows: Count | None
    bytes: Count | None
    files: Count | None


class RunDetails(AnswerStruct):
    """What a run's events say of it. started_by: a user; application: the id by which its own system knows it."""

    id: str
    started_by: str | None
    application: str | None
    attempt: Count | None
    nominal_start: str | None
    nominal_end: str | None
    engine: str | None
    links: list[RunLink]
    statistics: list[RunStatistics]


class DailyReads(AnswerStruct):
    """Runs of a day (UTC) that read a dataset."""

    day: str
    runs: Count


class ReaderItem(AnswerStruct):
    """A job that reads a dataset, the users who started it, where its newest runs say so."""

    job: Job
    runs: Count
    users: list[str]
    last_read: Time | None


class Readers(AnswerStruct):
    """Who reads a dataset: by day, by week (of its Monday), by job; totalCount: of jobs."""

    dataset: Dataset
    runs: Count
    days: list[DailyReads]
    weeks: list[DailyReads]
    items: list[ReaderItem]
    totalCount: Count  # noqa: N815
    truncated: bool
