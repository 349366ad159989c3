"""The redaction rules for a single text. See `docs/reference/redaction.md`.

Every rule is one RE2 pattern, which takes linear time. The search continues at the end of each match.
"""

import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from headwater.events import redaction_patterns as patterns
from headwater.events.redaction_names import compile_bytes_pattern, is_harmless, is_secret_name, looks_random
from headwater.events.redaction_tokens import HINTS, SHAPES

REDACTED = "[REDACTED]"

_HIDDEN = REDACTED.encode()
_PASSES = 8
_MOST_SECRETS = 10_000
_REMEMBERED_LENGTH = 300


def redact_text(text: str, *, prose: bool = False, check: Callable[[], None] | None = None) -> str:
    """Return the text with every secret replaced, or the same object if there is none.

    prose: the text is a name or a description, in which `token = x` or `password: x` are ordinary words. check: called
    repeatedly; its exceptions end the redaction.
    A replacement may create a new match, so the rules are applied again until nothing changes, which makes the function
    idempotent. A text that still changes after eight passes, or in which one rule finds more than 10,000 secrets, is
    assumed to be an attack and is hidden as a whole.
    """
    hidden = (
        _cached_redacted_or_none(text, prose)
        if len(text) <= _REMEMBERED_LENGTH
        else _redacted_or_none(text, prose, check)
    )
    return text if hidden is None else hidden


def _redacted_or_none(text: str, prose: bool, check: Callable[[], None] | None = None) -> str | None:
    """Return the text without secrets, or None if the text has no secrets."""
    settled = whole = text.encode("utf-8", "surrogatepass")
    for _ in range(_PASSES):
        before, settled = settled, _apply_all_rules(settled, prose, check)
        if settled == before:
            return None if settled == whole else settled.decode("utf-8", "surrogatepass")
    return REDACTED


_cached_redacted_or_none = lru_cache(maxsize=8192)(_redacted_or_none)


@dataclass(frozen=True, slots=True)
class RedactionRule:
    """A rule that replaces the matches of the unnamed groups of a pattern.

    needles: the pattern is tried only if the lower-case text contains one of these. is_exempt: receives a match and the
    matched secret, and returns whether the text stays. prose: whether the rule also applies to names and descriptions.
    """

    name: str
    needles: tuple[bytes, ...]
    pattern: Any
    is_exempt: Callable[[Any, bytes], bool]
    prose: bool
    groups: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Collect the unnamed groups, which match secrets."""
        named = self.pattern.groupindex.values()
        object.__setattr__(self, "groups", tuple(at for at in range(1, self.pattern.groups + 1) if at not in named))

    def apply(self, text: bytes, check: Callable[[], None] | None = None) -> bytes:
        """Return the text with this rule's secrets replaced. check: called repeatedly; may raise."""
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
            if begin < end and not self.is_exempt(found, text[begin:end]):
                if len(parts) >= 2 * _MOST_SECRETS:
                    return _HIDDEN
                parts += text[done:begin], _HIDDEN
                done = end
        return b"".join([*parts, text[done:]]) if done else text


def _apply_all_rules(text: bytes, prose: bool, check: Callable[[], None] | None) -> bytes:
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


def _is_ordinary_value(_: Any, value: bytes) -> bool:
    return not looks_random(value.decode("utf-8", "replace"))


def _has_digit(value: bytes) -> bool:
    return any(48 <= byte < 58 for byte in value)


def _is_hidden(_: Any, value: bytes) -> bool:
    return value == _HIDDEN


def _has_no_secret_name(found: Any, value: bytes) -> bool:
    return not is_secret_name(found[b"name"].decode("utf-8", "replace")) or _is_harmless(value)


def _assigns_no_secret(found: Any, value: bytes) -> bool:
    """Whether the value of an assignment is not a secret.

    Such values are placeholders, function calls, partitions, and column names as in `t.password = s.password`.
    """
    if _is_harmless(value) or _CALLS.match(value):
        return True
    return value.rpartition(b".")[2].lower() == (found[b"word"] or b"").lstrip(b"._?&;,-").lower()


def _is_sentence_without_secret(found: Any, value: bytes) -> bool:
    """Whether an assignment is an ordinary sentence or has no secret.

    `token: the one that` is a sentence. A value with a digit, as in `token: abc7 of`, or at the end of the line is a
    secret.
    """
    if found[b"said"] is not None and found[b"end"] is None and not _has_digit(value):
        return True
    return value.endswith(b":") or _assigns_no_secret(found, value)


def _is_word(_: Any, value: bytes) -> bool:
    word = value.rstrip(b".-/=")
    return word.isalpha() and word.islower() and len(word) < 24


def _is_no_credential(found: Any, value: bytes) -> bool:
    """Whether the match is a word and not a credential.

    If no authorization scheme such as `bearer` precedes it, a credential must contain a digit.
    """
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
    """Whether the text before an @ is a user or a host, and not a token.

    Tokens without digits are taken for users.
    """
    return not _has_digit(value) or b"." in value


def _is_path(_: Any, value: bytes) -> bool:
    """Whether a match of the storage-key pattern is a path.

    A random key of 88 characters has few slashes. It also has digits, upper-case letters and lower-case letters.
    """
    return value.count(b"/") > 8 or value.islower() or value.isupper() or not _has_digit(value)


def _is_already_safe(_: Any, value: bytes) -> bool:
    return _is_harmless(value) or value.lower() in _NO_PASSWORDS


_NO_PASSWORDS = frozenset(
    b"disable enable expire reuse history policy lock unlock require default verify for and or is not in from as with"
    b" current reset change must_change optional using to set values password".split()
)
_CALLS = re.compile(rb"[A-Za-z_][\w.]*+[(\[]")


def _make_rule(
    name: str, needles: str, pattern: str, is_exempt: Callable[[Any, bytes], bool] = _is_hidden, *, prose: bool = True
) -> RedactionRule:
    return RedactionRule(
        name, tuple(needle.encode() for needle in needles.split("|")), compile_bytes_pattern(pattern), is_exempt, prose
    )


_WORDS = "pass|pwd|secret|token|key|fs.azure.sas.|credential"
_COMMANDS = "securestring|curl|mysql|mariadb|login|sqlcmd|bcp|beeline|mongo|ldapsearch|redis-cli| /p"
_CALLED = "option(|options(|set(|config(|put(|property(|header(|setdefault(|putenv(|setenv("
_TAKES = "auth=|auth =|basicauth(|.login(|getconnection(|jwt.|crypt(|mysql|postgresql|remote|mongodb|s3(|s3cluster("

RULES = [
    _make_rule("pem", "private key|private-lines", patterns.PEM),
    _make_rule("url-password", "://", patterns.URL_PASSWORD),
    _make_rule("url-token", "://", patterns.URL_USER, _is_host),
    _make_rule("url-encoded", "%3a%2f%2f", patterns.URL_ENCODED),
    _make_rule("oracle-password", "jdbc:oracle:", patterns.ORACLE),
    _make_rule("webhook", "hook|/bot|pagerduty", patterns.WEBHOOK),
    _make_rule("authorization", "authorization|x-auth|digest", patterns.AUTHORIZATION, _is_no_credential),
    _make_rule("bearer", "bearer", patterns.BEARER, _is_word),
    _make_rule("basic", "basic|auth", patterns.BASIC, _is_not_basic),
    _make_rule("cookie", "cookie", patterns.COOKIE),
    _make_rule("token", "", f"(?:\\b|_)({SHAPES})"),
    _make_rule("jwt", "eyj", patterns.JWT, _is_no_token),
    _make_rule("entra-secret", "q~", patterns.ENTRA),
    _make_rule("storage-key", "==|aiot|azca|azfu|azse|+asb|+aeh|+arm|+acr", patterns.STORAGE_KEY, _is_path),
    _make_rule("signature", "sig", patterns.SIGNATURE),
    _make_rule("query-key", "code=|auth=", patterns.QUERY_KEY),
    _make_rule("identified-by", "identified|password", patterns.IDENTIFIED, _is_already_safe, prose=False),
    _make_rule("identified-by-bare", "identified", patterns.IDENTIFIED_BARE, _is_already_safe, prose=False),
    _make_rule("replaced", "identified", patterns.REPLACED, prose=False),
    _make_rule("user-password", "password", patterns.CREATED_USER, _is_already_safe, prose=False),
    _make_rule("logon", "sqlplus|connect|rman|expdp|impdp|logon|:5432:|:*:", patterns.LOGON, prose=False),
    _make_rule("call", _CALLED, patterns.CALL, _has_no_secret_name, prose=False),
    _make_rule("argument", _TAKES, patterns.ARGUMENT, prose=False),
    _make_rule("command-line", f"{_WORDS}|{_COMMANDS}", patterns.COMMAND, _is_already_safe, prose=False),
    _make_rule("element", "</", patterns.ELEMENT, _assigns_no_secret),
    _make_rule("partition", _WORDS, patterns.PARTITION, _is_ordinary_value),
    _make_rule("assignment", _WORDS, patterns.ASSIGNED, _assigns_no_secret),
    _make_rule("said", _WORDS, patterns.SAID, _is_sentence_without_secret, prose=False),
]
_ANY = compile_bytes_pattern(
    "|".join([*sorted({re.escape(n.decode()) for rule in RULES for n in rule.needles if n}), HINTS])
)
"""Matches every text in which any rule may find a secret.

One search replaces the searches of all rules for most texts.
"""
