"""What is observed of a dataset, as far as a data contract speaks of it."""

from msgspec import field

from headwater.questions.answers.answer_parts import (
    AnswerStruct,
    Column,
    Count,
    Dataset,
    Job,
    MaskedOnTheWay,
    StepTransformation,
    Time,
)
from headwater.questions.answers.health_answers import Owner, Status


class Broke(AnswerStruct):
    """The run that made something as it is, null where an event of no run did, or no run is known; and when."""

    run: str | None
    time: Time | None
    job: Job | None


class ContractSource(Dataset):
    """A column that another is made of, by value.

    distance: 1 feeds the column itself; into: what it feeds on the way; steps: what is done to it there; masked: every
    way from it to the column masks; since: the newest run that made the shortest way as it is.
    """

    column: str
    distance: Count
    into: Column
    job: Job
    steps: list[StepTransformation]
    masked: MaskedOnTheWay
    since: Broke


class ContractTag(AnswerStruct):
    """A tag of a dataset or a column; since: what put it there."""

    key: str
    value: str
    since: Broke


class ContractExposure(AnswerStruct):
    """A tag whose values a column may hold though it does not carry it: `exposed`, `unknown` or `masked`."""

    tag: str
    exposure: str
    since: Broke


class ContractColumn(AnswerStruct):
    """A column of the newest schema; type: as sent; changed: the run that gave it this type.

    readers_only: only lists of readers name it, in a dataset of which a complete list of columns is known.
    """

    name: str
    type: str | None
    description: str | None
    tags: list[ContractTag]
    exposures: list[ContractExposure]
    sources: list[ContractSource]
    changed: Broke
    readers_only: bool = False


class EndedStep(AnswerStruct):
    """A step between two columns that counts no more, with the run that ended it."""

    from_: Column = field(name="from")
    into: Column
    ended: Broke


class EndedColumn(AnswerStruct):
    """A column that the newest schema has no more, with the run whose schema was the first without it."""

    name: str
    ended: Broke


class NotListedColumn(AnswerStruct):
    """A column that no job lists any more that reads the dataset, which no run writes.

    listed: when a list last had it; since: the run with whose list no newest list has it.
    """

    name: str
    listed: Time
    since: Broke


class EndedTag(AnswerStruct):
    """A tag that was taken back; column: null where it was on the dataset."""

    column: str | None
    key: str
    ended: Broke


class ContractWriter(AnswerStruct):
    """A job that writes the dataset; since: its first run that did.

    opaque: since when its runs no more say which columns they write of which, null while they do.
    """

    job: Job
    since: Broke
    opaque: Broke | None


class ContractService(AnswerStruct):
    """How a dataset is served, by observation.

    usual_seconds, longest_seconds: between two writes, where it has a rhythm; age_seconds: of the newest completed
    write; rows: that said it wrote; newest: its run; failed: the run that failed since.
    """

    status: Status
    reason: str
    usual_seconds: Count | None
    longest_seconds: Count | None
    age_seconds: float | None
    rows: Count | None
    newest: Broke
    failed: Broke | None


class ContractFacts(AnswerStruct):
    """All that a contract of a dataset is made of and held against.

    dropped: what dropped it, null while it is there; renamed: what gave it another name, `called`, under which it
    goes on; truncated: columns or sources were left out.
    """

    dataset: Dataset
    dropped: Broke | None
    renamed: Broke | None
    called: Dataset | None
    description: str | None
    owners: list[Owner]
    owned: Broke
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
