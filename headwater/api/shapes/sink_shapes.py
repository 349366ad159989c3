"""Answers about sinks: what each does, what it gave up, what became of an order."""

from typing import Annotated, Literal

from msgspec import Meta, field

from headwater.questions.answers.answer_parts import AnswerStruct, Count, ListAnswer, Time
from headwater.questions.answers.column_answers import NameStep


class SinkLag(AnswerStruct):
    """What the lake has and a sink has not taken: events, and the age of the oldest in seconds."""

    events: Count
    seconds: Annotated[float, Meta(ge=0)]


class SinkItem(AnswerStruct):
    """A sink: what it does, what became of its events; `failed` are its dead letters now."""

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
    """Every sink; `problem`: what is wrong with the file of sinks. Then they are those that still run."""

    problem: str | None
    items: list[SinkItem]


class SinkFailure(AnswerStruct):
    """An event that a sink's target refused for good."""

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
    """Where a sink goes on: behind these sequence numbers, by partition; those not named begin at their start."""

    sink: str
    begins_behind: dict[str, Count]


class SinkRedriven(AnswerStruct):
    """What became of dead letters; `gone`: their events are no longer in the lake."""

    delivered: Count
    refused: Count
    gone: Count


class SinkChecked(AnswerStruct):
    """What a target says to who connects."""

    sink: str
    found: str


class SinkPayload(AnswerStruct):
    """What would be sent of an event; `unfit`: why nothing is."""

    event_id: str
    unfit: str | None
    payload: str


class SinkPreview(AnswerStruct):
    """What would be sent."""

    items: list[SinkPayload]


class SinkLoss(AnswerStruct):
    """Things that a target does not hold, or in part: how many, in how many runs and declarations.

    None of those that did not occur: `name` then is a pattern, as the target declares it.
    """

    part: str
    name: str
    held: Literal["part", "not"]
    things: Count
    runs: Count
    why: str


class SinkLosses(AnswerStruct):
    """What a sink's target cannot hold of so many events; `left_out`: kept back by the sink's filter."""

    sink: str
    type: str
    events: Count
    left_out: Count
    first: Time | None
    last: Time | None
    truncated: bool
    items: list[SinkLoss]


class SinkNames(AnswerStruct):
    """What a dataset is called in a catalog; `items`: what led from its name as sent to its canonical one."""

    type: str
    qualified_name: str
    shown: str
    rule: str
    why: str
    items: list[NameStep]
