"""Secrets leave events before they reach the lake. What is looked for stands in `docs/redaction.md`.

`suspicious` reads raw text at memory speed and never overlooks what `redact` would change, so that clean events are
never walked. Names of columns stay: `redact` looks at values that are text, and lineage holds objects.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import re2

from headwater.events.redaction_names import FOLLOWED, NAME_ONLY, WORD, is_harmless, is_secret, is_secret_name
from headwater.events.redaction_rules import REDACTED, redact_text

T = TypeVar("T")

_FLAG = re.compile(r"--[\w.\-]+", re.ASCII)
_PAIRS = (("name", "value"), ("key", "value"), ("Name", "Value"), ("Key", "Value"))
_NAME = rf"(?:{WORD}|{NAME_ONLY})\d*"
_BETWEEN = r"(?:[\s'`]|\\[\x22\\nrtfb]|\\u00[01][0-9a-f])*"
_TRIGGERS = "|".join(
    [
        r"\\/|\\u00[2-7]",  # escapes that could hide any of the words below
        r"://[^\s/?#@:\x22]*:[0-9]*(?:[^0-9/?#;,\s\x22][^\s\x22]*)?@",
        r"jdbc:oracle:\w+:[^/\s\x22@:]*/[^\s\x22]*@",
        rf"{_NAME}\x22\s*:\s*\x22",
        rf"{_NAME}\x22.*\x22value\x22|\x22value\x22.*{_NAME}\x22",
        rf"{_NAME}{_BETWEEN}(?:[=:('`>]|%3D|\\\x22|</name>)",
        rf"--[\w.-]*{_NAME}",
        FOLLOWED,
        r"bearer(?:[\s%+]|\\)|basic[\s\\]|identified[\s\\]",
        r"PRIVATE KEY(?: BLOCK)?-----",
        r"sig(?:nature)?(?:=|%3D)|[?&]code=[^\s&\x22]{8}",
        r"(?-i:A[KS]IA[A-Z0-9]{4}|AIza|ya29\.|GOCSPX-|dapi[0-9a-zA-Z]{8}|gh[pousr]_[A-Za-z0-9]{4}|github_pat_)",
        r"(?-i:xox[abeoprs]-|eyJ[\w-]*\.[\w-]|[0-9]Q~[\w~.-]|[A-Za-z0-9+/]==(?:[^\w=]|$))",
    ]
)


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.case_sensitive, options.dot_nl, options.never_capture = False, True, True
    options.encoding = re2.Options.Encoding.LATIN1  # bytes that are no UTF-8 are looked at, too
    return re2.compile(pattern.encode(), options)


_SECRETS = _compiled(_TRIGGERS)


def suspicious(texts: Sequence[bytes]) -> list[bool]:
    """Tell of each raw JSON text whether `redact` could change it; true is cheap, false is a promise.

    texts: whole events or fragments that hold their own keys. About 2 ns a byte, linear in the text.
    """
    return [_SECRETS.search(text) is not None for text in texts]


def redact(value: T) -> T:
    """Return a decoded JSON value with every secret replaced by `[REDACTED]`.

    Returns the very same object when there is none. Redacting again changes nothing. Numbers and booleans stay.
    """
    walk = _WALKS.get(type(value))
    return cast("T", walk(value)) if walk else value


def _redact_object(found: dict[str, Any]) -> dict[str, Any]:
    fresh: dict[str, Any] = {}
    changed = False
    for key, value in found.items():
        name = redact_text(key)
        if isinstance(value, str) and is_secret(name, value):
            fresh[name] = REDACTED
        else:
            walk = _WALKS.get(type(value))
            fresh[name] = walk(value) if walk else value
        changed = changed or fresh[name] is not value or name is not key
    return _without_paired_secret(fresh if changed else found)


def _without_paired_secret(found: dict[str, Any]) -> dict[str, Any]:
    """Hide the value of `{"name": "db.password", "value": "..."}`."""
    if "value" not in found and "Value" not in found:
        return found
    for name, value in _PAIRS:
        if isinstance(found.get(name), str) and isinstance(found.get(value), str):
            return {**found, value: REDACTED} if is_secret(found[name], found[value]) else found
    return found


def _redact_array(found: list[Any]) -> list[Any]:
    fresh: list[Any] = []
    for value in found:
        walk = _WALKS.get(type(value))
        secret = isinstance(value, str) and bool(fresh) and _follows_flag(fresh[-1], value)
        fresh.append(REDACTED if secret else walk(value) if walk else value)
    changed = any(new is not old for new, old in zip(fresh, found, strict=True))
    return fresh if changed else found


def _follows_flag(before: Any, value: str) -> bool:
    """Tell whether a command line's argument is the secret that `--password` before it announces."""
    if not isinstance(before, str) or not _FLAG.fullmatch(before) or value.startswith("-"):
        return False
    return is_secret_name(before) and not is_harmless(value)


_WALKS: dict[type, Callable[[Any], Any]] = {str: redact_text, dict: _redact_object, list: _redact_array}
