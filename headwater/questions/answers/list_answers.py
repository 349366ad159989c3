"""Answers that list what the lake holds: events, rejections, refusals, facets; newest first."""

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from headwater.questions.answers.answer_parts import AnswerStruct, Count, Displayed, Job, ListAnswer, Time


class StoredEvent(AnswerStruct):
    """A stored event; `body` as it was sent, without secrets, None where the lake has it no more."""

    event_id: str
    epoch: str = field(name="incarnation")  # what lakes and clients have called it from the first
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
    """What was acknowledged but is no event; a gap or hole goes up to `to_sequence` and has no body.

    origin: the file and line that it was taken from, by who took files in.
    """

    epoch: str = field(name="incarnation")  # what lakes and clients have called it from the first
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
    """A stored event that the index could not take: `too_slow`, `kills_index`, or the name of an error."""

    event_id: str
    epoch: str = field(name="incarnation")  # what lakes and clients have called it from the first
    partition: str
    sequence: Count
    received_at: Time
    set_aside_at: Time
    reason: str
    message: str


class SetAsideEvents(ListAnswer):
    """Events that the index tries again when it is built anew."""

    items: list[SetAsideEvent]


class RefusedRequest(AnswerStruct):
    """Refusals of one kind within half a second."""

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
    """Requests and items that were not taken."""

    items: list[RefusedRequest]


class FacetItem(AnswerStruct, kw_only=True):
    """A facet, as its producer sent it, of a run (`runId`), or of a job or dataset (`namespace`, `name`)."""

    runId: str | UnsetType = UNSET  # noqa: N815
    namespace: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    eventTime: Time | None  # noqa: N815
    facet: Any


class Facets(ListAnswer):
    """The newest value of a facet for each run, job or dataset."""

    items: list[FacetItem]


class ProducerSetup(AnswerStruct):
    """What to copy for a producer, and where it goes."""

    id: str
    title: str
    where: str
    text: str


class ProducerSetups(AnswerStruct):
    """How producers are pointed at this Headwater; `event` is a body that may be posted to try it."""

    items: list[ProducerSetup]
    event: str


ChangedThing = Literal["dataset", "column", "owner", "tag", "job", "sql", "code"]
ChangeWord = Literal["added", "removed", "changed", "not_listed"]


class ChangeItem(Displayed):
    """What came, went or changed of a dataset or a job: `before` and `after` are names, types, owners, tags or texts.

    not_listed: no run writes the dataset, and the newest lists of all jobs that read it lack the column.
    time: of the event that first said so; run: which brought it, null where none did or none can be told.
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
    """What changed beside lineage; `from` and `to` are the moments that were meant, null: now; counts: of all."""

    from_: Time = field(name="from")
    to: Time | None
    counts: dict[str, int]
    items: list[ChangeItem]
