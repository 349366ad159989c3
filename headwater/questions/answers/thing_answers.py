"""Answers that list what there is: datasets, jobs, runs."""

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
    """A job, who owns it, what sends its events, and how it fared last.

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
    """A dataset, who owns it, and when it was written last, by which job and how that fared last.

    tags: its own and those of its columns; columns: how many, null where nobody says. former: the name that meant it,
    where no name does any more.
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
    """A run; last_event: when something was heard of it last; duration in seconds."""

    id: str
    job: Job
    state: str
    processing: str
    started: Time | None
    ended: Time | None
    last_event: Time
    duration: float | None


class Choices(AnswerStruct):
    """What a list can be narrowed to, and to how many items, most first; at most 200 of each, of all there are."""

    namespaces: dict[str, int]
    owners: dict[str, int]
    tags: dict[str, int]
    states: dict[str, int]


class Datasets(ListAnswer):
    """Datasets by the names they go by now.

    hidden: system tables among those asked for, which were left out; former_hidden: locations that no name means any
    more, which were.
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
