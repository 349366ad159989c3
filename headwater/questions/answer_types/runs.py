"""Details of a run, and the readers of a dataset."""

from typing import Literal

from headwater.questions.answer_types.common import AnswerStruct, Count, Dataset, Job, TaskRun, Time
from headwater.questions.answer_types.health import Owner

Side = Literal["read", "written"]


class RunLink(AnswerStruct):
    """An address in a run's facets.

    href: the same address if a rule allows a link, else null, and it is shown as text.
    """

    title: str
    text: str
    href: str | None


class RunStatistics(Dataset):
    """Counts of a run at a dataset; null if the run did not report them."""

    side: Side
    rows: Count | None
    bytes: Count | None
    files: Count | None


class RunDetails(AnswerStruct):
    """Details from a run's events. started_by: a user. application: the run's id in its own system.

    task: the task or DAG, if Airflow started the run.
    """

    id: str
    started_by: str | None
    application: str | None
    attempt: Count | None
    nominal_start: str | None
    nominal_end: str | None
    engine: str | None
    links: list[RunLink]
    statistics: list[RunStatistics]
    task: TaskRun | None


class DailyReads(AnswerStruct):
    """The number of runs that read a dataset on a day (UTC)."""

    day: str
    runs: Count


class ReaderItem(AnswerStruct):
    """A job that reads a dataset, with its owners and the users who started it, if its newest runs name them."""

    job: Job
    runs: Count
    users: list[str]
    last_read: Time | None
    owners: list[Owner]


class Exposure(AnswerStruct):
    """A dashboard, notebook or application that reads a dbt model, as dbt declares it. Its reads send no events.

    id: its unique id in the dbt project. type: for example `dashboard`. address: as declared. href: the same address
    if a rule allows a link, else null. owner: the owner that dbt sends, or null.
    """

    id: str | None
    name: str
    type: str | None
    address: str | None
    href: str | None
    owner: str | None


class Readers(AnswerStruct):
    """The readers of a dataset by day, by week (dated by its Monday) and by job. totalCount: number of jobs.

    exposures: further readers that dbt declares.
    """

    dataset: Dataset
    runs: Count
    days: list[DailyReads]
    weeks: list[DailyReads]
    items: list[ReaderItem]
    totalCount: Count  # noqa: N815
    truncated: bool
    exposures: list[Exposure]
