"""One event's bytes as JSON: strict, and with a reason a person understands where it is none."""

import json
import re
from typing import Any, NoReturn

import msgspec

from headwater.errors import InvalidEvent

_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def decode_event(text: bytes) -> dict[str, Any]:
    """Decode the JSON of one event, strictly.

    Raises InvalidEvent if it is not UTF-8, not JSON, nested too deep, or no object.
    """
    if text.startswith(_BYTE_ORDER_MARKS):
        raise InvalidEvent("byte-order-mark", "begins with a byte order mark, expected UTF-8 without one")
    event = _decoded(text)
    if not isinstance(event, dict):
        raise InvalidEvent("no-object", "is JSON, but no object, expected one OpenLineage event")
    return event


def _decoded(text: bytes) -> object:
    try:
        return msgspec.json.decode(text)
    except UnicodeDecodeError as error:
        raise InvalidEvent("not-utf8", "is not UTF-8, as JSON must be") from error
    except RecursionError as error:
        raise InvalidEvent("too-deep", "is nested too deep to be read") from error
    except msgspec.MsgspecError as error:
        return _decoded_with_surrogates(text, error)


def _decoded_with_surrogates(text: bytes, error: msgspec.MsgspecError) -> object:
    r"""Decode what msgspec refuses only for half a surrogate pair (`\ud800`), which JSON allows."""
    try:
        if b"\\ud" in text.lower():
            return json.loads(text.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        pass  # the first reason is the better one
    raise InvalidEvent("not-json", f"cannot be read as JSON: {_reason(text, str(error))}") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _reason(text: bytes, message: str) -> str:
    """Turn msgspec's `(byte 17)` into a line and column."""
    found = re.search(r"\(byte (\d+)\)", message)
    if found is None:
        return message
    before = text[: int(found[1])]
    column = len(before) - before.rfind(b"\n")
    line = before.count(b"\n") + 1
    where = f"line {line}, column {column}" if b"\n" in text.strip() else f"column {column}"
    return message.replace(found[0], f"({where})")
