"""JSON as producers really send it: strict where a mistake loses data, lenient where it only looks odd.

msgspec refuses lone surrogates and numbers beyond a double; both occur in accepted events (docs/events.md, flags), so
each has its way back here. Python's own `json` never sees a body: it takes NaN, a BOM and UTF-16.
"""

import json
import re
import sys
from typing import Any

import msgspec

from headwater.errors import InvalidEvent

MAX_NESTING = 512

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def repair_surrogates(text: bytes) -> bytes:
    r"""Replace each escaped lone surrogate (`\ud800` without its half) by the escaped replacement character.

    Returns the very same object when there is none.
    """
    if b"\\" not in text or (b"\\ud" not in text and b"\\uD" not in text):
        return text  # searching one byte is 40 times as fast as searching three
    repaired = _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], text)
    return text if repaired == text else repaired


def decode(text: bytes) -> Any:
    """Decode one JSON value that the receiver accepted; a number beyond a double becomes the largest double.

    Raises InvalidEvent (reason `not_json`) when even the lenient way finds no JSON value.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_odd(text)


def check_nesting(body: bytes) -> None:
    """Raise InvalidEvent (reason `nesting`) if arrays and objects nest deeper than 512.

    Counting brackets is an upper bound that costs 0.3 ns a byte; only bodies above it are walked.
    """
    # `replace` searches with memchr, `count` looks at each byte: a third of the time in Python 3.11
    brackets = 2 * len(body) - len(body.replace(b"{", b"")) - len(body.replace(b"[", b""))
    if brackets <= MAX_NESTING:
        return
    depth = deepest = 0
    for bracket in _STRING.sub(b"", body).translate(None, _NOT_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > MAX_NESTING:
        raise InvalidEvent(
            "nesting", f"The JSON nests {deepest} levels deep; at most {MAX_NESTING} are read.", "Flatten the event."
        )


def repeats_keys(text: bytes, value: Any) -> bool:
    """Tell whether an object of a JSON text names a member twice, so that its decoded value holds less than it."""
    return _STRING.sub(b"", text).count(b":") > _members(value)


def _members(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_members, value.values()))
    return sum(map(_members, value)) if isinstance(value, list) else 0


def _decode_odd(text: bytes) -> Any:
    try:
        return json.loads(
            repair_surrogates(text).decode(), parse_float=_finite, parse_int=_finite_int, parse_constant=_refuse
        )
    except RecursionError as error:
        raise InvalidEvent("nesting", "The JSON nests too deep to be read.", "Flatten the event.") from error
    except ValueError as error:
        raise InvalidEvent("not_json", f"Not JSON: {error}.", "Send one JSON object as UTF-8.") from error


def _finite(digits: str) -> float:
    number = float(digits)
    return max(-sys.float_info.max, min(number, sys.float_info.max))


def _finite_int(digits: str) -> int | float:
    return int(digits) if len(digits) < 400 else _finite(digits)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
