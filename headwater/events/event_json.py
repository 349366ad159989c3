"""Decodes the JSON of one event, with errors for the author of the file."""

import re
from typing import Any

import msgspec

from headwater.common.errors import InvalidEvent
from headwater.events.decode import decode
from headwater.events.envelope import check_utf8


def decode_event(text: bytes) -> dict[str, Any]:
    """Decode the JSON of one event.

    Raises InvalidEvent if it is not UTF-8, not JSON (with line and column), nested too deeply, or not an object.
    """
    check_utf8(text)
    try:
        event = decode(text)
    except InvalidEvent as error:
        raise InvalidEvent(error.reason, _where(text) or error.what, error.fix) from error
    if not isinstance(event, dict):
        raise InvalidEvent("not_an_object", "The JSON is not an object.", "Write one OpenLineage event.")
    return event


def _where(text: bytes) -> str | None:
    """Convert msgspec's `(byte 17)` to a line and column."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        found = re.search(r"\(byte (\d+)\)", str(error))
        if found:
            before = text[: int(found[1])]
            column = len(before) - before.rfind(b"\n")
            lines = before.count(b"\n") + 1
            line = f"line {lines}, " if b"\n" in text.strip() else ""
            return f"The text is not valid JSON: {str(error).replace(found[0], f'({line}column {column})')}."
    except RecursionError:
        pass
    return None
