"""Answers about sinks."""

from typing import Annotated, Literal

from msgspec import Meta, field

from headwater.questions.answers.answer_parts import AnswerStruct, Count, ListAnswer, Time
from headwater.questions.answers.column_answers import NameStep


class SinkLag(AnswerStruct):
    """Events that a sink has not processed yet: their number, and the age of the oldest in seconds."""

    events: Count
    seconds: Annotated[float, Meta(ge=0)]


class SinkItem(AnswerStruct):
    """A sink with its state and the numbers of its events. failed: number of current dead letters."""

    name: str
    type: str
    state: str
    behind: SinkLag
    delivered: Count
    left_out: Count
    failed: Count
    trouble: str | None
    next_try: Time | None


class SinksAnswer(AnswerStruct):
    """All sinks. problem: error in the file of sinks; `items` are then the sinks that are still running."""

    problem: str | None
    items: list[SinkItem]


class SinkFailure(AnswerStruct):
    """A dead letter: an event that the target of a sink rejected permanently."""

    sink: str
    log: str
    epoch: str = field(name="incarnation")
    partition: str
    sequence: Count
    received_at: Time
    event_id: str
    run_id: str | None
    reason: str
    attempts: Count
    failed_at: Time


class SinkFailures(ListAnswer):
    """Dead letters, oldest first."""

    items: list[SinkFailure]


class SinkReset(AnswerStruct):
    """The new position of a sink: it continues after these sequence numbers, by partition.

    Partitions that are not listed start from the beginning.
    """

    sink: str
    begins_behind: dict[str, Count]


class SinkRedriven(AnswerStruct):
    """The result of sending dead letters again. gone: events that are no longer in the lake."""

    delivered: Count
    refused: Count
    gone: Count


class SinkChecked(AnswerStruct):
    """The result of connecting to a target."""

    sink: str
    found: str


class SinkPayload(AnswerStruct):
    """The payload for an event. unfit: why the event is not sent."""

    event_id: str
    unfit: str | None
    payload: str


class SinkPreview(AnswerStruct):
    """The payloads that would be sent."""

    items: list[SinkPayload]


class SinkLoss(AnswerStruct):
    """A kind of information that a target does not store, or stores in part.

    things: number of occurrences; runs: number of runs and declarations with them. If there are none, `name` is a
    pattern that the target declares.
    """

    part: str
    name: str
    held: Literal["part", "not"]
    things: Count
    runs: Count
    why: str


class SinkLosses(AnswerStruct):
    """The losses of a sink in a number of events. left_out: events that the filter of the sink excludes."""

    sink: str
    type: str
    events: Count
    left_out: Count
    first: Time | None
    last: Time | None
    truncated: bool
    items: list[SinkLoss]


class SinkNames(AnswerStruct):
    """The name of a dataset in a catalog. items: the steps from the name as sent to the canonical name."""

    type: str
    qualified_name: str
    shown: str
    rule: str
    why: str
    items: list[NameStep]
