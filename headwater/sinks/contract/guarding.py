"""What a target does that nobody foresaw: an event that it fails at is given up by itself, and stops no other one.

A fault of the outside world that is known is a HeadwaterError, and waited for by whoever called.
"""

import logging
import traceback
import unicodedata
from collections.abc import Callable, Hashable, Sequence

from headwater.errors import HeadwaterError
from headwater.events.position import Source
from headwater.sinks.contract.sink_shape import Outcome, Payload, SinkEvent, Target, whole_again

log = logging.getLogger(__name__)

_LONGEST = 500
"""Characters of an exception: it may quote a whole event."""

_FRAME = '  File "'
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

Hide = Callable[[str], str]
"""Takes secrets out of a text."""


def convert_guarded(
    convert: Callable[[Sequence[SinkEvent]], list[Payload]],
    events: Sequence[SinkEvent],
    unit_of: Callable[[SinkEvent], Hashable],
    hide: Hide,
) -> list[Payload]:
    """Convert events; of a unit that its conversion fails at, which is looked for by halves, all events are unfit.

    unit_of: what cannot be converted apart, such as the events of a run.
    """
    try:
        return convert(events)
    except HeadwaterError:
        raise
    except Exception as error:
        units = [*dict.fromkeys(map(unit_of, events))]
        if len(units) == 1:
            said = say_unforeseen(error, "Converting", hide)
            return [Payload(event, b"", said) for event in events]
        first = {*units[: len(units) // 2]}
        halves = [[event for event in events if (unit_of(event) in first) is wanted] for wanted in (True, False)]
        return [payload for half in halves for payload in convert_guarded(convert, half, unit_of, hide)]


def one_line(text: str) -> str:
    """Return a text that a target sent with its control, format and line-break characters escaped.

    It may otherwise forge lines of the log or drive a terminal.
    """
    return "".join(
        each if unicodedata.category(each) not in _UNSAFE else each.encode("unicode_escape").decode() for each in text
    )


def place(event: SinkEvent) -> tuple[Source, int]:
    """Return where an event stands."""
    return event.source, event.head.sequence


def deliver_guarded(target: Target, payloads: Sequence[Payload], hide: Hide) -> Outcome:
    """Make one attempt; what it fails at unforeseen counts as what a target fails at that answers."""
    try:
        return target.deliver(payloads)
    except HeadwaterError:
        raise
    except Exception as error:
        said = say_unforeseen(error, "Delivering", hide)
        target.close()  # whatever was on its way: the next attempt connects anew
        return whole_again(len(payloads), said, blames_event=True)


def say_unforeseen(error: Exception, doing: str, hide: Hide) -> str:
    """Write an exception with its traceback into the log; returns it in a line. Neither holds a secret."""
    log.error("%s failed at something unforeseen. Report this.\n%s", doing, hide(_traceback(error)))
    return f"{doing} failed at {type(error).__name__}: {one_line(hide(str(error))[:_LONGEST])}"


def _traceback(error: Exception) -> str:
    """Return a traceback whose messages, which may quote what a target sent, have one line each."""
    return "\n".join(
        line if line.startswith(_FRAME) else one_line(line)
        for line in (each.strip("\n") for each in traceback.format_exception(error))
    )
