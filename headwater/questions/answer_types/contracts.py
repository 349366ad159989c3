"""Observed facts of a dataset, from which contracts are generated and against which they are checked."""

from msgspec import field

from headwater.questions.answer_types.common import (
    AnswerStruct,
    Column,
    Count,
    Dataset,
    Job,
    MaskedOnTheWay,
    StepTransformation,
    Time,
)
from headwater.questions.answer_types.health import Owner, Status


class RunReference(AnswerStruct):
    """The run that caused a state, and the time. run: null if the event had no run, or no run is known."""

    run: str | None
    time: Time | None
    job: Job | None


class ContractSource(Dataset):
    """A column upstream of another one, by value.

    distance: 1 for direct sources. into: the next column on the path. steps: the transformations of that step. masked:
    every path from the source to the column masks. since: the newest run that changed the shortest path.
    """

    column: str
    distance: Count
    into: Column
    job: Job
    steps: list[StepTransformation]
    masked: MaskedOnTheWay
    since: RunReference


class ContractTag(AnswerStruct):
    """A tag of a dataset or a column. since: the run that added it."""

    key: str
    value: str
    since: RunReference


class ContractExposure(AnswerStruct):
    """A tag whose values a column may contain although it does not have the tag: `exposed`, `unknown` or `masked`."""

    tag: str
    exposure: str
    since: RunReference


class ContractColumn(AnswerStruct):
    """A column of the newest schema. type: as sent. changed: the run that gave it this type.

    readers_only: the dataset has a complete list of columns without this one; only lists of its readers do.
    """

    name: str
    type: str | None
    description: str | None
    tags: list[ContractTag]
    exposures: list[ContractExposure]
    sources: list[ContractSource]
    changed: RunReference
    readers_only: bool = False


class EndedStep(AnswerStruct):
    """A step between two columns that no longer counts, with the run that ended it."""

    from_: Column = field(name="from")
    into: Column
    ended: RunReference


class EndedColumn(AnswerStruct):
    """A column that is missing in the newest schema, with the run that sent the first schema without it."""

    name: str
    ended: RunReference


class NotListedColumn(AnswerStruct):
    """A column of a dataset that no run writes and whose readers no longer list the column.

    listed: time of the last list with the column. since: the run whose list was the last of the readers' newest lists
    to lack it.
    """

    name: str
    listed: Time
    since: RunReference


class EndedTag(AnswerStruct):
    """A removed tag. column: null if the dataset had the tag."""

    column: str | None
    key: str
    ended: RunReference


class ContractWriter(AnswerStruct):
    """A job that writes the dataset. since: its first run that did.

    opaque: since when its runs report no column lineage, null if they report it.
    """

    job: Job
    since: RunReference
    opaque: RunReference | None


class ContractService(AnswerStruct):
    """Observed service levels of a dataset.

    usual_seconds, longest_seconds: between two writes, if there is a rhythm. age_seconds: age of the newest completed
    write. rows: number of rows that this write reported. newest: its run. failed: the run that failed since.
    """

    status: Status
    reason: str
    usual_seconds: Count | None
    longest_seconds: Count | None
    age_seconds: float | None
    rows: Count | None
    newest: RunReference
    failed: RunReference | None


class ContractFacts(AnswerStruct):
    """All observed facts of a dataset that a contract uses.

    dropped: the run that dropped the dataset, null if it exists. renamed: the run that renamed it, with the new name in
    `called`. truncated: columns or sources were omitted.
    """

    dataset: Dataset
    dropped: RunReference | None
    renamed: RunReference | None
    called: Dataset | None
    description: str | None
    owners: list[Owner]
    owned: RunReference
    tags: list[ContractTag]
    columns: list[ContractColumn]
    ended_columns: list[EndedColumn]
    ended_steps: list[EndedStep]
    ended_tags: list[EndedTag]
    influences: list[ContractSource]
    writers: list[ContractWriter]
    service: ContractService
    as_of: Time | None
    truncated: bool
    not_listed: list[NotListedColumn] = field(default_factory=list)
