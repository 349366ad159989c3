"""Isolate unexpected exceptions of targets: an event that a target cannot handle never blocks other events.

HeadwaterErrors, which describe known faults of other systems, are raised unchanged, and the caller retries.
"""

import logging
import traceback
import unicodedata
from collections.abc import Callable, Hashable, Sequence

from headwater.common.errors import HeadwaterError
from headwater.events.position import Source
from headwater.sinks.interface.shape import Outcome, Payload, SinkEvent, Target, retry_all

log = logging.getLogger(__name__)

_MAX_MESSAGE = 500
"""Maximum number of characters of an exception's message, because the message may quote a whole event."""

_FRAME = '  File "'
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

MaskSecrets = Callable[[str], str]
"""Replaces secrets in a text with `***`."""


def convert_guarded(
    convert: Callable[[Sequence[SinkEvent]], list[Payload]],
    events: Sequence[SinkEvent],
    unit_of: Callable[[SinkEvent], Hashable],
    mask_secrets: MaskSecrets,
) -> list[Payload]:
    """Convert events; if that fails, split them by unit until only the events of failing units are marked as unfit.

    unit_of: returns the key of events that must be converted together, such as the events of a run.
    """
    try:
        return convert(events)
    except HeadwaterError:
        raise
    except Exception as error:
        units = [*dict.fromkeys(map(unit_of, events))]
        if len(units) == 1:
            reason = log_unexpected_error(error, "Converting", mask_secrets)
            return [Payload(event, b"", reason) for event in events]
        first = {*units[: len(units) // 2]}
        halves = [[event for event in events if (unit_of(event) in first) is wanted] for wanted in (True, False)]
        return [payload for half in halves for payload in convert_guarded(convert, half, unit_of, mask_secrets)]


def escape_control_characters(text: str) -> str:
    """Escape the control, format and line-break characters of a text that a target sent.

    Otherwise a target could forge log lines or send control sequences to a terminal.
    """
    return "".join(
        each if unicodedata.category(each) not in _UNSAFE else each.encode("unicode_escape").decode() for each in text
    )


def event_position(event: SinkEvent) -> tuple[Source, int]:
    """Return the source and the sequence number of an event."""
    return event.source, event.head.sequence


def deliver_guarded(target: Target, payloads: Sequence[Payload], mask_secrets: MaskSecrets) -> Outcome:
    """Try once to deliver payloads; an unexpected exception counts as an error response to these payloads."""
    try:
        return target.deliver(payloads)
    except HeadwaterError:
        raise
    except Exception as error:
        reason = log_unexpected_error(error, "Delivering", mask_secrets)
        target.close()  # a request may be half sent, so the next attempt needs a new connection
        return retry_all(len(payloads), reason, blames_event=True)


def log_unexpected_error(error: Exception, action: str, mask_secrets: MaskSecrets) -> str:
    """Log an exception with its traceback, and return a message of one line; secrets are masked in both texts."""
    log.error("%s failed with an unexpected error. Report this.\n%s", action, mask_secrets(_escaped_traceback(error)))
    message = escape_control_characters(mask_secrets(str(error))[:_MAX_MESSAGE])
    return f"{action} failed with {type(error).__name__}: {message}"


def _escaped_traceback(error: Exception) -> str:
    """Return a traceback, with each exception message escaped to one line, because it may quote what a target sent."""
    return "\n".join(
        line if line.startswith(_FRAME) else escape_control_characters(line)
        for line in (each.strip("\n") for each in traceback.format_exception(error))
    )
