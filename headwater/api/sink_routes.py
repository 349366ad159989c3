"""Questions and commands for sinks. Agents can only list sinks."""

from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import msgspec
from msgspec import Meta, field

from headwater.common.paging import ListPage
from headwater.questions import parameter_groups as _parameter_groups  # noqa: F401 - registers how a ListPage is read
from headwater.questions import parameters as p
from headwater.questions.answer_types.columns import NameStep
from headwater.questions.answer_types.common import AnswerStruct, Count, ListAnswer, Time
from headwater.questions.declaring import Help, question
from headwater.questions.moments import Microseconds

if TYPE_CHECKING:
    from headwater.sinks.control.service import SinkService


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
    """All sinks. problem: error in the sinks file; `items` are then the sinks that are still running."""

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


class SinkSources(Protocol):
    """Sources of answers about sinks."""

    @property
    def sinks(self) -> "SinkService":
        """The sinks."""


Name = Annotated[str, Help("Name of the sink in sinks.yml.")]
NewPosition = Annotated[str, Help("New position: `start`, `now`, a time (ISO 8601), or PARTITION:SEQUENCE.")]
EventOrRun = Annotated[str, Help("Id of an event or of a run. Of an alert sink: id of an incident, or `now`.")]
Until = Annotated[Microseconds | None, Help("Only events received before this time.")]
MaxDeadLetters = Annotated[int, Help("Maximum number of dead letters, oldest first.", most=999_999_999)]


@question("sinks")
def sinks(sources: SinkSources) -> SinksAnswer:
    """List sinks with state, lag behind the lake, delivered and failed events, and the next attempt."""
    return msgspec.convert(sources.sinks.list_sinks(), SinksAnswer)


@question("sinks/{sink}/failures", called="failures")
def failures(sources: SinkSources, *, sink: Name, page: ListPage) -> SinkFailures:
    """List the dead letters of a sink, oldest first: events that its target rejected, with reasons."""
    return msgspec.convert(sources.sinks.failures(sink, page), SinkFailures)


@question("sinks/{sink}/preview", called="preview")
def preview(sources: SinkSources, *, sink: Name, of: EventOrRun) -> SinkPreview:
    """Show the exact payloads for an event, a run or an incident without sending them."""
    return msgspec.convert(sources.sinks.preview(sink, of), SinkPreview)


@question("sinks/{sink}/losses", called="losses", reads_lake=True)
def losses(
    sources: SinkSources, *, sink: Name, run: p.RunOf = None, since: p.Since = None, until: Until = None,
    limit: p.Listed = 1_000,
) -> SinkLosses:  # fmt: skip
    """List information that the target of a sink cannot store, for a run or for the newest events that it forwards."""
    from headwater.sinks.losses import LossSelection  # noqa: PLC0415 - only this answer loads sink targets

    found = sources.sinks.losses(sink, LossSelection(run, since, until, limit))
    return msgspec.convert(found, SinkLosses)


@question("sinks/{sink}/names", called="names")
def names(sources: SinkSources, *, sink: Name, namespace: p.SentNamespace, name: p.SentName) -> SinkNames:
    """Explain the type and qualified name of a dataset in Purview, rule by rule."""
    return msgspec.convert(sources.sinks.explain_dataset_name(sink, namespace, name), SinkNames)


@question("sinks/{sink}/check", called="check", method="POST", role="admin")
def check(sources: SinkSources, *, sink: Name) -> SinkChecked:
    """Connect to the target of a sink and authenticate, without sending events. Reports what is missing."""
    return msgspec.convert(sources.sinks.check_connection(sink), SinkChecked)


@question("sinks/{sink}/test", called="test", method="POST", role="admin")
def send_test(sources: SinkSources, *, sink: Name) -> SinkChecked:
    """Send a test message to each destination of an alert sink."""
    return msgspec.convert(sources.sinks.send_test(sink), SinkChecked)


@question("sinks/{sink}/pause", called="pause", method="POST", role="admin")
def pause(sources: SinkSources, *, sink: Name) -> SinkItem:
    """Pause a sink. It keeps its position."""
    return msgspec.convert(sources.sinks.set_paused(sink, is_paused=True), SinkItem)


@question("sinks/{sink}/resume", called="resume", method="POST", role="admin")
def resume(sources: SinkSources, *, sink: Name) -> SinkItem:
    """Resume a paused sink at its position."""
    return msgspec.convert(sources.sinks.set_paused(sink, is_paused=False), SinkItem)


@question("sinks/{sink}/reset", called="reset", method="POST", role="admin")
def reset(sources: SinkSources, *, sink: Name, to: NewPosition) -> SinkReset:
    """Set the position of a sink. It delivers all later events, including those delivered before."""
    return msgspec.convert(sources.sinks.reset_position(sink, to), SinkReset)


@question("sinks/{sink}/redrive", called="redrive", method="POST", role="admin")
def redrive(sources: SinkSources, *, sink: Name, limit: MaxDeadLetters = 999_999_999) -> SinkRedriven:
    """Send dead letters of a sink again, and remove those that the target accepts."""
    return msgspec.convert(sources.sinks.redrive_dead_letters(sink, limit), SinkRedriven)
