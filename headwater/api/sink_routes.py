"""What is asked and ordered of sinks, declared as questions are; the agents' tools have the list alone."""

from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec

from headwater.api.shapes import sink_shapes
from headwater.paging import ListPage
from headwater.questions import parameters as p
from headwater.questions.declaring import Help, question
from headwater.questions.moments import Microseconds

if TYPE_CHECKING:
    from headwater.sinks.operating.sink_desk import SinkDesk


class SinkSources(Protocol):
    """What is asked of sinks is asked of this."""

    @property
    def sinks(self) -> "SinkDesk":
        """The sinks."""


Name = Annotated[str, Help("Name of the sink in sinks.yml.")]
Place = Annotated[str, Help("`start`, `now`, a time (ISO 8601), or PARTITION:SEQUENCE.")]
EventOrRun = Annotated[str, Help("Id of an event, or of a run.")]
Until = Annotated[Microseconds | None, Help("Only what was received before this.")]
SentAgain = Annotated[int, Help("At most so many of them, oldest first.", most=999_999_999)]


@question("sinks")
def sinks(sources: SinkSources) -> sink_shapes.SinksAnswer:
    """List sinks: state, lag behind the lake in events and seconds, delivered, failed, next try."""
    return msgspec.convert(sources.sinks.listed(), sink_shapes.SinksAnswer)


@question("sinks/{sink}/failures", called="failures")
def failures(sources: SinkSources, *, sink: Name, page: ListPage) -> sink_shapes.SinkFailures:
    """List what a sink's target refused for good, and why; the oldest first."""
    return msgspec.convert(sources.sinks.failures(sink, page), sink_shapes.SinkFailures)


@question("sinks/{sink}/preview", called="preview")
def preview(sources: SinkSources, *, sink: Name, of: EventOrRun) -> sink_shapes.SinkPreview:
    """Show exactly what would be sent of an event or a run; nothing is sent."""
    return msgspec.convert(sources.sinks.preview(sink, of), sink_shapes.SinkPreview)


@question("sinks/{sink}/losses", called="losses", reads_lake=True)
def losses(
    sources: SinkSources, *, sink: Name, run: p.RunOf = None, since: p.Since = None, until: Until = None,
    limit: p.Listed = 1_000,
) -> sink_shapes.SinkLosses:  # fmt: skip
    """Say what a sink's target cannot hold: of a run, or of the newest events that its filter lets by."""
    from headwater.sinks.losses.sink_loss_report import Looked  # noqa: PLC0415 - no other answer needs a sink's target

    found = sources.sinks.losses(sink, Looked(run, since, until, limit))
    return msgspec.convert(found, sink_shapes.SinkLosses)


@question("sinks/{sink}/names", called="names")
def names(sources: SinkSources, *, sink: Name, namespace: p.SentNamespace, name: p.SentName) -> sink_shapes.SinkNames:
    """Explain which type and qualified name a dataset gets in Purview, and which rules did what."""
    return msgspec.convert(sources.sinks.names(sink, namespace, name), sink_shapes.SinkNames)


@question("sinks/{sink}/check", called="check", method="POST", role="admin")
def check(sources: SinkSources, *, sink: Name) -> sink_shapes.SinkChecked:
    """Connect to a sink's target and authenticate; no event is sent. Says what is missing."""
    return msgspec.convert(sources.sinks.check(sink), sink_shapes.SinkChecked)


@question("sinks/{sink}/pause", called="pause", method="POST", role="admin")
def pause(sources: SinkSources, *, sink: Name) -> sink_shapes.SinkItem:
    """Let a sink stand still; it keeps its place."""
    return msgspec.convert(sources.sinks.paused(sink, is_paused=True), sink_shapes.SinkItem)


@question("sinks/{sink}/resume", called="resume", method="POST", role="admin")
def resume(sources: SinkSources, *, sink: Name) -> sink_shapes.SinkItem:
    """Let a paused sink go on where it stood."""
    return msgspec.convert(sources.sinks.paused(sink, is_paused=False), sink_shapes.SinkItem)


@question("sinks/{sink}/reset", called="reset", method="POST", role="admin")
def reset(sources: SinkSources, *, sink: Name, to: Place) -> sink_shapes.SinkReset:
    """Let a sink go on from another place; what it delivered behind that place is delivered again."""
    return msgspec.convert(sources.sinks.reset(sink, to), sink_shapes.SinkReset)


@question("sinks/{sink}/redrive", called="redrive", method="POST", role="admin")
def redrive(sources: SinkSources, *, sink: Name, limit: SentAgain = 999_999_999) -> sink_shapes.SinkRedriven:
    """Send what was refused for good once more; what goes through is dead no more."""
    return msgspec.convert(sources.sinks.redrive(sink, limit), sink_shapes.SinkRedriven)
