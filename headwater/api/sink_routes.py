"""Questions and commands for sinks. Agents can only list sinks."""

from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec

from headwater.api.shapes import sink_shapes
from headwater.common.paging import ListPage
from headwater.questions import composed as _composed  # noqa: F401 - registers how a ListPage is read
from headwater.questions import parameters as p
from headwater.questions.declaring import Help, question
from headwater.questions.moments import Microseconds

if TYPE_CHECKING:
    from headwater.sinks.operating.sink_service import SinkService


class SinkSources(Protocol):
    """Sources of answers about sinks."""

    @property
    def sinks(self) -> "SinkService":
        """The sinks."""


Name = Annotated[str, Help("Name of the sink in sinks.yml.")]
NewPosition = Annotated[str, Help("New position: `start`, `now`, a time (ISO 8601), or PARTITION:SEQUENCE.")]
EventOrRun = Annotated[str, Help("Id of an event or of a run.")]
Until = Annotated[Microseconds | None, Help("Only events received before this time.")]
MaxDeadLetters = Annotated[int, Help("Maximum number of dead letters, oldest first.", most=999_999_999)]


@question("sinks")
def sinks(sources: SinkSources) -> sink_shapes.SinksAnswer:
    """List sinks with state, lag behind the lake, delivered and failed events, and the next attempt."""
    return msgspec.convert(sources.sinks.list_sinks(), sink_shapes.SinksAnswer)


@question("sinks/{sink}/failures", called="failures")
def failures(sources: SinkSources, *, sink: Name, page: ListPage) -> sink_shapes.SinkFailures:
    """List the dead letters of a sink, oldest first: events that its target rejected, with reasons."""
    return msgspec.convert(sources.sinks.failures(sink, page), sink_shapes.SinkFailures)


@question("sinks/{sink}/preview", called="preview")
def preview(sources: SinkSources, *, sink: Name, of: EventOrRun) -> sink_shapes.SinkPreview:
    """Show the exact payloads for an event or a run without sending them."""
    return msgspec.convert(sources.sinks.preview(sink, of), sink_shapes.SinkPreview)


@question("sinks/{sink}/losses", called="losses", reads_lake=True)
def losses(
    sources: SinkSources, *, sink: Name, run: p.RunOf = None, since: p.Since = None, until: Until = None,
    limit: p.Listed = 1_000,
) -> sink_shapes.SinkLosses:  # fmt: skip
    """List information that the target of a sink cannot store, for a run or for the newest events that it forwards."""
    from headwater.sinks.losses.sink_loss_report import LossSelection  # noqa: PLC0415 - only this answer loads sink targets

    found = sources.sinks.losses(sink, LossSelection(run, since, until, limit))
    return msgspec.convert(found, sink_shapes.SinkLosses)


@question("sinks/{sink}/names", called="names")
def names(sources: SinkSources, *, sink: Name, namespace: p.SentNamespace, name: p.SentName) -> sink_shapes.SinkNames:
    """Explain the type and qualified name of a dataset in Purview, rule by rule."""
    return msgspec.convert(sources.sinks.names(sink, namespace, name), sink_shapes.SinkNames)


@question("sinks/{sink}/check", called="check", method="POST", role="admin")
def check(sources: SinkSources, *, sink: Name) -> sink_shapes.SinkChecked:
    """Connect to the target of a sink and authenticate, without sending events. Reports what is missing."""
    return msgspec.convert(sources.sinks.check(sink), sink_shapes.SinkChecked)


@question("sinks/{sink}/pause", called="pause", method="POST", role="admin")
def pause(sources: SinkSources, *, sink: Name) -> sink_shapes.SinkItem:
    """Pause a sink. It keeps its position."""
    return msgspec.convert(sources.sinks.set_paused(sink, is_paused=True), sink_shapes.SinkItem)


@question("sinks/{sink}/resume", called="resume", method="POST", role="admin")
def resume(sources: SinkSources, *, sink: Name) -> sink_shapes.SinkItem:
    """Resume a set_paused sink at its position."""
    return msgspec.convert(sources.sinks.set_paused(sink, is_paused=False), sink_shapes.SinkItem)


@question("sinks/{sink}/reset", called="reset", method="POST", role="admin")
def reset(sources: SinkSources, *, sink: Name, to: NewPosition) -> sink_shapes.SinkReset:
    """Set the position of a sink. It delivers all later events, including those delivered before."""
    return msgspec.convert(sources.sinks.reset(sink, to), sink_shapes.SinkReset)


@question("sinks/{sink}/redrive", called="redrive", method="POST", role="admin")
def redrive(sources: SinkSources, *, sink: Name, limit: MaxDeadLetters = 999_999_999) -> sink_shapes.SinkRedriven:
    """Send dead letters of a sink again, and remove those that the target accepts."""
    return msgspec.convert(sources.sinks.redrive(sink, limit), sink_shapes.SinkRedriven)
