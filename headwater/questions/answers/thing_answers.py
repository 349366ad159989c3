"""Lists of datasets, jobs and runs."""

from msgspec import UNSET, UnsetType

from headwater.questions.answers.answer_parts import (
    AnswerStruct,
    Count,
    Displayed,
    FormerLocation,
    Job,
    ListAnswer,
    Time,
)


class LastRun(AnswerStruct):
    """The last run of a job; duration in seconds."""

    id: str
    state: str
    started: Time | None
    ended: Time | None
    duration: float | None


class JobInList(Job):
    """A job with its owners, the integration that sends its events, and its last run.

    original_names: the newest names, at most 20, that the rules for jobs folded into this one.
    """

    owners: list[str]
    tags: list[str]
    integration: str | None
    processing: str | None
    last_seen: Time
    last_run: LastRun | None
    original_names: list[str]


class DatasetInList(Displayed):
    """A dataset with its owners, its last write and the job of that write.

    tags: its own and those of its columns. columns: their number, null if unknown. former: set if no name means the
    dataset any more.
    """

    namespace: str
    name: str
    owners: list[str]
    tags: list[str]
    columns: Count | None
    last_seen: Time
    last_written: Time | None
    job: Job | None
    integration: str | None
    last_run: LastRun | None
    former: FormerLocation | UnsetType = UNSET


class RunInList(AnswerStruct):
    """A run. last_event: time of its newest event. duration in seconds."""

    id: str
    job: Job
    state: str
    processing: str
    started: Time | None
    ended: Time | None
    last_event: Time
    duration: float | None


class Choices(AnswerStruct):
    """Values for the filters of a list, with the number of items, most frequent first, at most 200 each."""

    namespaces: dict[str, int]
    owners: dict[str, int]
    tags: dict[str, int]
    states: dict[str, int]


class Datasets(ListAnswer):
    """Datasets by their current names.

    hidden: number of matching system tables that were omitted. former_hidden: number of omitted former locations.
    """

    items: list[DatasetInList]
    hidden: Count
    former_hidden: Count
    choices: Choices


class Jobs(ListAnswer):
    """Jobs."""

    items: list[JobInList]
    choices: Choices


class Runs(ListAnswer):
    """Runs."""

    items: list[RunInList]
