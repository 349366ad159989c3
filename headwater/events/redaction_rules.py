"""Secrets in one text, rule after rule. See `docs/redaction.md`.

Every rule is one pattern of RE2, which reads a text once whatever it holds; what follows a match is read from its end.
"""

import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from headwater.events import redaction_patterns as patterns
from headwater.events.redaction_names import compiled, is_harmless, is_secret_name, looks_random
from headwater.events.redaction_tokens import HINTS, SHAPES

REDACTED = "[REDACTED]"

_HIDDEN = REDACTED.encode()
_PASSES = 8
_MOST_SECRETS = 10_000
_REMEMBERED_LENGTH = 300


def redact_text(text: str, *, prose: bool = False, check: Callable[[], None] | None = None) -> str:
    """Return the text with every secret replaced; the very same object when there is none.

    prose: a name or a description, in which `token = x` or `password: x` are words; check: called before each rule is
    tried, and may raise. Hiding one secret may lay bare another, so passes repeat until nothing changes: that makes it
    idempotent. A text still unsettled after eight passes was built to be, as was one with more than 10,000 secrets of
    a kind, and is hidden whole.
    """
    hidden = _remembered(text, prose) if len(text) <= _REMEMBERED_LENGTH else _settled(text, prose, check)
    return text if hidden is None else hidden


def _settled(text: str, prose: bool, check: Callable[[], None] | None = None) -> str | None:
    """Return the text without secrets; None when there is none."""
    settled = whole = text.encode("utf-8", "surrogatepass")
    for _ in range(_PASSES):
        before, settled = settled, _hide_all(settled, prose, check)
        if settled == before:
            return None if settled == whole else settled.decode("utf-8", "surrogatepass")
    return REDACTED


_remembered = lru_cache(maxsize=8192)(_settled)


@dataclass(frozen=True, slots=True)
class Rule:
    """Replaces what the groups without a name matched, unless `spare` says otherwise.

    needles: lower-case bytes of which a text must hold one before the pattern is tried; prose: whether it is tried on
    names and descriptions.
    """

    name: str
    needles: tuple[bytes, ...]
    pattern: Any
    spare: Callable[[Any, bytes], bool]
    prose: bool
    groups: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Find out which groups are secrets."""
        told = self.pattern.groupindex.values()
        object.__setattr__(self, "groups", tuple(at for at in range(1, self.pattern.groups + 1) if at not in told))

    def apply(self, text: bytes, check: Callable[[], None] | None = None) -> bytes:
        """Return the text with this rule's secrets replaced; check: called at times, and may raise."""
        parts: list[bytes] = []
        done = 0
        for number, found in enumerate(self.pattern.finditer(text)):
            if check is not None and not number % 4096:
                check()
            for at in self.groups:
                begin, end = found.span(at)
                if begin >= 0:
                    break
            else:
                continue
            if begin < end and not self.spare(found, text[begin:end]):
                if len(parts) >= 2 * _MOST_SECRETS:
                    return _HIDDEN
                parts += text[done:begin], _HIDDEN
                done = end
        return b"".join([*parts, text[done:]]) if done else text


def _hide_all(text: bytes, prose: bool, check: Callable[[], None] | None) -> bytes:
    if _ANY.search(text) is None:
        return text
    lowered = text.lower()
    for rule in RULES:
        if (rule.prose or not prose) and any(needle in lowered for needle in rule.needles):
            if check is not None:
                check()
            text = rule.apply(text, check)
    return text


def _is_harmless(value: bytes) -> bool:
    return is_harmless(value.decode("utf-8", "replace")) if len(value) <= 200 else False


def _is_ordinary(_: Any, value: bytes) -> bool:
    return not looks_random(value.decode("utf-8", "replace"))


def _has_digit(value: bytes) -> bool:
    return any(48 <= byte < 58 for byte in value)


def _is_hidden(_: Any, value: bytes) -> bool:
    return value == _HIDDEN


def _names_no_secret(found: Any, value: bytes) -> bool:
    return not is_secret_name(found[b"name"].decode("utf-8", "replace")) or _is_harmless(value)


def _assigns_no_secret(found: Any, value: bytes) -> bool:
    """Spare partitions, placeholders, `t.password = s.password` and calls of functions."""
    if _is_harmless(value) or _CALLS.match(value):
        return True
    return value.rpartition(b".")[2].lower() == (found[b"word"] or b"").lstrip(b"._?&;,-").lower()


def _says_no_secret(found: Any, value: bytes) -> bool:
    """Spare what goes on as a sentence, too: `token: the one that` is none, `token: abc7 of` and a last word are."""
    if found[b"said"] is not None and found[b"end"] is None and not _has_digit(value):
        return True
    return value.endswith(b":") or _assigns_no_secret(found, value)


def _is_word(_: Any, value: bytes) -> bool:
    word = value.rstrip(b".-/=")
    return word.isalpha() and word.islower() and len(word) < 24


def _authorizes_nobody(found: Any, value: bytes) -> bool:
    """Spare words: what names no scheme has a digit, or it is no credential."""
    return _is_word(found, value) or _is_harmless(value) or (found[b"said"] is not None and not _has_digit(value))


def _is_not_basic(_: Any, value: bytes) -> bool:
    text = value.rstrip(b"=")
    try:
        user, colon, _rest = b64decode(text[: len(text) - (len(text) % 4 == 1)] + b"==").decode().partition(":")
    except ValueError:
        return True
    return not (colon and user.isprintable())


def _is_no_token(_: Any, value: bytes) -> bool:
    head, *rest = value.split(b".")
    return len(head) < 10 or not rest or len(rest[0]) < 4


def _is_host(_: Any, value: bytes) -> bool:
    """Tell whether what stands before an @ is a person, not a token: a token of letters alone is not known as one."""
    return not _has_digit(value) or b"." in value


def _is_path(_: Any, value: bytes) -> bool:
    """Tell whether base64 is none: of 88 random characters fewer than nine are slashes, and some of every class."""
    return value.count(b"/") > 8 or value.islower() or value.isupper() or not _has_digit(value)


def _needs_no_hiding(_: Any, value: bytes) -> bool:
    return _is_harmless(value) or value.lower() in _NO_PASSWORDS


_NO_PASSWORDS = frozenset(
    b"disable enable expire reuse history policy lock unlock require default verify for and or is not in from as with"
    b" current reset change must_change optional using to set values password".split()
)
_CALLS = re.compile(rb"[A-Za-z_][\w.]*+[(\[]")


def _rule(
    name: str, needles: str, pattern: str, spare: Callable[[Any, bytes], bool] = _is_hidden, *, prose: bool = True
) -> Rule:
    return Rule(name, tuple(needle.encode() for needle in needles.split("|")), compiled(pattern), spare, prose)


_WORDS = "pass|pwd|secret|token|key|fs.azure.sas.|credential"
_COMMANDS = "securestring|curl|mysql|mariadb|login|sqlcmd|bcp|beeline|mongo|ldapsearch|redis-cli| /p"
_CALLED = "option(|options(|set(|config(|put(|property(|header(|setdefault(|putenv(|setenv("
_TAKES = "auth=|auth =|basicauth(|.login(|getconnection(|jwt.|crypt(|mysql|postgresql|remote|mongodb|s3(|s3cluster("

RULES = [
    _rule("pem", "private key|private-lines", patterns.PEM),
    _rule("url-password", "://", patterns.URL_PASSWORD),
    _rule("url-token", "://", patterns.URL_USER, _is_host),
    _rule("url-encoded", "%3a%2f%2f", patterns.URL_ENCODED),
    _rule("oracle-password", "jdbc:oracle:", patterns.ORACLE),
    _rule("webhook", "hook|/bot|pagerduty", patterns.WEBHOOK),
    _rule("authorization", "authorization|x-auth|digest", patterns.AUTHORIZATION, _authorizes_nobody),
    _rule("bearer", "bearer", patterns.BEARER, _is_word),
    _rule("basic", "basic|auth", patterns.BASIC, _is_not_basic),
    _rule("cookie", "cookie", patterns.COOKIE),
    _rule("token", "", f"(?:\\b|_)({SHAPES})"),
    _rule("jwt", "eyj", patterns.JWT, _is_no_token),
    _rule("entra-secret", "q~", patterns.ENTRA),
    _rule("storage-key", "==|aiot|azca|azfu|azse|+asb|+aeh|+arm|+acr", patterns.STORAGE_KEY, _is_path),
    _rule("signature", "sig", patterns.SIGNATURE),
    _rule("query-key", "code=|auth=", patterns.QUERY_KEY),
    _rule("identified-by", "identified|password", patterns.IDENTIFIED, _needs_no_hiding, prose=False),
    _rule("identified-by-bare", "identified", patterns.IDENTIFIED_BARE, _needs_no_hiding, prose=False),
    _rule("replaced", "identified", patterns.REPLACED, prose=False),
    _rule("user-password", "password", patterns.CREATED_USER, _needs_no_hiding, prose=False),
    _rule("logon", "sqlplus|connect|rman|expdp|impdp|logon|:5432:|:*:", patterns.LOGON, prose=False),
    _rule("call", _CALLED, patterns.CALL, _names_no_secret, prose=False),
    _rule("argument", _TAKES, patterns.ARGUMENT, prose=False),
    _rule("command-line", f"{_WORDS}|{_COMMANDS}", patterns.COMMAND, _needs_no_hiding, prose=False),
    _rule("element", "</", patterns.ELEMENT, _assigns_no_secret),
    _rule("partition", _WORDS, patterns.PARTITION, _is_ordinary),
    _rule("assignment", _WORDS, patterns.ASSIGNED, _assigns_no_secret),
    _rule("said", _WORDS, patterns.SAID, _says_no_secret, prose=False),
]
_ANY = compiled("|".join([*sorted({re.escape(n.decode()) for rule in RULES for n in rule.needles if n}), HINTS]))
"""What a text must hold for any rule to find something: one search in place of thirty."""
