"""Removes secrets from events before they reach the lake. `docs/reference/redaction.md` lists the rules.

`may_need_redaction` searches raw text quickly and flags every text that `redact_value` would change, so events without
secrets are not walked. Column names stay, because a name such as `password` makes only text values secret, and the
values of columns in lineage are objects.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from headwater.events.redaction_names import (
    AMBIGUOUS,
    FOLLOWED,
    NAME_ONLY,
    STAGE,
    STEM,
    WORD,
    compile_bytes_pattern,
    is_harmless,
    is_secret,
    is_secret_name,
)
from headwater.events.redaction_rules import REDACTED, redact_text
from headwater.events.redaction_tokens import HINTS

T = TypeVar("T")

_FLAG = re.compile(r"--?[\w.\-]+", re.ASCII)
_PAIRS = (("name", "value"), ("key", "value"), ("Name", "Value"), ("Key", "Value"))
_PROSE = frozenset({"description", "comment", "documentation", "doc"})
_NAME = rf"(?:(?:{WORD}|(?:\\[nrtbf]|\\u00[01][0-9a-f])(?:{STEM})?pass){STAGE}|(?:{NAME_ONLY})\d*)"
_BETWEEN = r"(?:[\s'`\]]|\\[\x22\\nrtfb]|\\u00[01][0-9a-f])*"
_HELD = "values?|current|previous|old|new|plain(?:text)?|raw|data|text"
"""If an object has a secret's name, the secret is under one of these keys, as in `{"password": {"value": …}}`."""
_HOLDS = re.compile(_HELD)
_TRIGGERS = "|".join(
    [
        r"\\/|\\u00[2-7]",  # escapes that may hide any of the words below
        r"://[^\s/?#@:\x22]*:[0-9]*(?:[^0-9/?#;,\s\x22][^\s\x22]*)?@|https?://[\w~.-]{16,}@|%3A%2F%2F",
        r"jdbc:oracle:\w+:[^/\s\x22@:]*/[^\s\x22]*@",
        rf"{_NAME}\x22\s*:\s*[\x22\[]",
        rf"{_NAME}\x22\s*:\s*\{{[^{{}}]*\x22(?:{_HELD})\x22\s*:",
        rf"[\x22._ -](?:{AMBIGUOUS})\d*\x22\s*:\s*\x22[^\x22]*[0-9]",
        rf"[\x22._ -](?:{AMBIGUOUS})\d*\x22.*\x22value\x22|\x22value\x22.*[\x22._ -](?:{AMBIGUOUS})\d*\x22",
        r"securestring|x[._-]?auth\b",
        # full-width letters and invisible characters, as bytes and as escapes, which may hide the name of a secret
        r"(?-i:\xef\xbc[\xa0-\xbf]|\xef\xbd[\x80-\x9a]|\xe2\x80[\x8b-\x8f]|\xe2\x81\xa0|\xef\xbb\xbf|\xc2\xad)",
        r"\\u(?:ff[2-5]|200[b-f]|2060|feff|00ad)",
        rf"{_NAME}\x22.*\x22value\x22|\x22value\x22.*{_NAME}\x22",
        rf"{_NAME}{_BETWEEN}(?:[-=:('`>|!<$]|%3D|\\\x22|</name>|value|is\b|,[\s\\])",
        rf"<[\w.:-]*{_NAME}[\s\\]",
        r"(?:create|alter|modify)(?:\s|\\[nrt])+(?:user|login|role)|login(?:\s|\\[nrt])+\S+\s+password",
        rf"{_NAME}(?:\s|\\[nrt])+(?:U&|[a-z]{{1,2}})(?:'|\\\x22)",
        rf"(?:-|set\s|env\s|arg\s)[\w.-]*{_NAME}[\s\\\x22=]",
        FOLLOWED,
        r"bearer(?:[\s%+]|\\)|basic[\s\\%]|identified[\s\\]|digest[\s\\]|auth[\\'= :(]|private-lines",
        r"hooks\.|webhook|/bot\d|pagerduty",
        r"\.logon|connect\s+(?:to\s|\w+/)|sqlplus|rman\s|(?:exp|imp)dp\s|:(?:5432|\*):\w+:\w+:",
        r"\.login\(|getconnection\(|jwt\.|crypt\(|mysql|mariadb|postgresql\s*\(|remote(?:secure)?\s*\(|mongo\w+|s3\w*\(",
        r"curl|sshpass|(?:docker|podman|az)\s+login|sqlcmd|bcp|beeline|ldapsearch|redis-cli|password-stdin|/p\w*:",
        r"PRIVATE KEY(?: BLOCK)?-----",
        r"sig(?:nature)?(?:=|%3D)|[?&](?:code|auth)=[^\s&\x22]{8}",
        rf"(?-i:eyJ[\w-]*\.[\w-]|[0-9]Q~[\w~.-]|[A-Za-z0-9+/]==(?:[^\w=]|$)|Az(?:Ca|Fu|Se)|AIoT|[+]A(?:Sb|Eh|Rm|CR))|{HINTS}",
    ]
)

_SECRETS = compile_bytes_pattern(_TRIGGERS)


def may_need_redaction(texts: Sequence[bytes]) -> list[bool]:
    """Return for each raw JSON text whether `redact_value` may change it.

    False means that it certainly changes nothing; true may be a false alarm.

    texts: whole events, or fragments with their keys. Takes about 2 ns per byte, linear in the text.
    """
    return [_SECRETS.search(text) is not None for text in texts]


def redact_value(value: T, check: Callable[[], None] | None = None) -> T:
    """Return a decoded JSON value with every secret replaced by `[REDACTED]`.

    check: called repeatedly; its exceptions end the redaction. Returns the same object if the value has no secret. The
    function is idempotent. Numbers and booleans stay.
    """
    return cast("T", _RedactionWalk(check).redact_value(value))


class _RedactionWalk:
    """Walks a value recursively. The rules for a text depend on its key."""

    def __init__(self, check: Callable[[], None] | None):
        self._check = check
        self._texts = 0

    def redact_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redact_text(value)
        if isinstance(value, dict):
            return self.redact_object(value)
        return self.redact_array(value) if isinstance(value, list) else value

    def redact_object(self, found: dict[str, Any], *, is_tag: bool = False) -> dict[str, Any]:
        """Redact an object recursively.

        is_tag: whether the object is a tag of OpenLineage; the `key` of a tag does not make its `value` a secret.
        """
        fresh: dict[str, Any] = {}
        changed = False
        for key, value in found.items():
            name = self._redact_text(key, prose=True)
            if isinstance(value, str):
                prose = name in _PROSE or (name == "name" and "namespace" in found)
                fresh[name] = REDACTED if is_secret(name, value) else self._redact_text(value, prose=prose)
            elif isinstance(value, dict):
                fresh[name] = self.redact_object(_without_value_of_secret(name, value))
            elif isinstance(value, list) and is_secret_name(name):
                fresh[name] = self.redact_array(_without_texts(name, value))
            else:
                fresh[name] = self.redact_array(value, are_tags=name == "tags") if isinstance(value, list) else value
            changed = changed or fresh[name] is not value or name is not key
        fresh = fresh if changed else found
        return fresh if is_tag else _without_paired_secret(fresh)

    def redact_array(self, found: list[Any], *, are_tags: bool = False) -> list[Any]:
        fresh: list[Any] = []
        for value in found:
            if isinstance(value, dict):
                fresh.append(self.redact_object(value, is_tag=are_tags))
            elif isinstance(value, list):
                fresh.append(self.redact_array(value))
            else:
                flagged = isinstance(value, str) and bool(fresh) and _follows_flag(fresh[-1], value)
                fresh.append(REDACTED if flagged else self.redact_value(value))
        changed = any(new is not old for new, old in zip(fresh, found, strict=True))
        return fresh if changed else found

    def _redact_text(self, text: str, *, prose: bool = False) -> str:
        self._texts += 1
        if self._check is not None and not self._texts % 256:
            self._check()
        return redact_text(text, prose=prose, check=self._check)


def _without_value_of_secret(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Hide the secret in an object with a secret's name: `{"password": {"value": "..."}}`."""
    if not is_secret_name(name):
        return found
    fresh: dict[str, Any] = {}
    for key, value in found.items():
        fresh[key] = value
        if _HOLDS.fullmatch(key) and isinstance(value, list):
            fresh[key] = _without_texts(name, value)
        elif _HOLDS.fullmatch(key) and isinstance(value, str) and is_secret(name, value):
            fresh[key] = REDACTED
    return found if all(fresh[key] is found[key] for key in found) else fresh


def _without_texts(name: str, found: list[Any]) -> list[Any]:
    """Hide the texts in a list with a secret's name: `{"passwords": ["...", "..."]}`."""
    fresh = [REDACTED if isinstance(each, str) and is_secret(name, each) else each for each in found]
    return found if all(new is old for new, old in zip(fresh, found, strict=True)) else fresh


def _without_paired_secret(found: dict[str, Any]) -> dict[str, Any]:
    """Hide the value of `{"name": "db.password", "value": "..."}`."""
    if "value" not in found and "Value" not in found:
        return found
    for name, value in _PAIRS:
        if isinstance(found.get(name), str) and isinstance(found.get(value), str):
            return {**found, value: REDACTED} if is_secret(found[name], found[value]) else found
    return found


def _follows_flag(before: Any, value: str) -> bool:
    """Whether a command-line argument is a secret, because an option such as `--password` precedes the argument."""
    if not isinstance(before, str) or not _FLAG.fullmatch(before) or value.startswith("-"):
        return False
    return is_secret_name(before) and not is_harmless(value)
