"""Lists of datasets, jobs, runs, events, rejected events, refused requests and facets."""

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from headwater.questions.answer_types.common import (
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


class StoredEvent(AnswerStruct):
    """A stored event. body: as sent, without secrets; null if the lake no longer contains it."""

    event_id: str
    epoch: str = field(name="incarnation")  # stored and public name
    partition: str
    sequence: Count
    received_at: Time
    event_time: Time | None
    event_kind: Literal["RUN", "JOB", "DATASET"]
    event_type: str | None
    run_id: str | None
    job_namespace: str | None
    job_name: str | None
    producer: str | None
    flags: list[str] | None
    body: str | None


class Events(ListAnswer):
    """Stored events."""

    items: list[StoredEvent]


class RejectedEvent(AnswerStruct):
    """An acknowledged item that is not a valid event. A gap or hole extends to `to_sequence` and has no body.

    origin: the source file and line, if the item came from a file.
    """

    epoch: str = field(name="incarnation")  # stored and public name
    partition: str
    sequence: Count
    to_sequence: Count
    received_at: Time
    reason: str
    field: str | None
    message: str | None
    http: str | None
    body: str | None
    origin: str | None


class RejectedEvents(ListAnswer):
    """Quarantined events, gaps and holes."""

    items: list[RejectedEvent]


class SetAsideEvent(AnswerStruct):
    """A stored event that the index could not process. reason: `too_slow`, `kills_index`, or the name of an error."""

    event_id: str
    epoch: str = field(name="incarnation")  # stored and public name
    partition: str
    sequence: Count
    received_at: Time
    set_aside_at: Time
    reason: str
    message: str


class SetAsideEvents(ListAnswer):
    """Events that the index skipped. It tries them again when it is rebuilt."""

    items: list[SetAsideEvent]


class RefusedRequest(AnswerStruct):
    """Refused requests with the same reason within half a second."""

    received_at: Time
    status: int
    reason: str
    route: str
    key: str | None
    field: str | None
    message: str | None
    user_agent: str | None
    first_at: Time | None
    count: Count


class RefusedRequests(ListAnswer):
    """Refused requests and items."""

    items: list[RefusedRequest]


class FacetItem(AnswerStruct, kw_only=True):
    """A facet as sent, of a run (`runId`), or of a job or dataset (`namespace`, `name`)."""

    runId: str | UnsetType = UNSET  # noqa: N815
    namespace: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    eventTime: Time | None  # noqa: N815
    facet: Any


class Facets(ListAnswer):
    """The newest value of a facet for each run, job or dataset."""

    items: list[FacetItem]


class ProducerSetup(AnswerStruct):
    """Configuration to copy for a producer. where: where to paste it."""

    id: str
    title: str
    where: str
    text: str


class ProducerSetups(AnswerStruct):
    """Configuration of all producers. event: a body that can be posted as a test."""

    items: list[ProducerSetup]
    event: str


ChangedThing = Literal["dataset", "column", "owner", "tag", "job", "sql", "code"]
ChangeWord = Literal["added", "removed", "changed", "not_listed"]


class ChangeItem(Displayed):
    """A change of a dataset or a job. before, after: names, types, owners, tags or texts.

    not_listed: no run writes the dataset, and the newest lists of all its readers lack the column.
    time: of the first event with the change. run: the run of this event, null if it has none or the run is unknown.
    """

    change: ChangeWord
    thing: ChangedThing
    of: Literal["dataset", "job"]
    namespace: str
    name: str
    column: str | None
    before: str | None
    after: str | None
    time: Time
    run: str | None
    job: Job | None


class Changes(ListAnswer):
    """Changes of schemas, owners, tags, jobs and SQL.

    from, to: the resolved moments, null for now. counts: over all items.
    """

    from_: Time = field(name="from")
    to: Time | None
    counts: dict[str, int]
    items: list[ChangeItem]
