"""Secrets in one text: a URL, a connection string, SQL, a command line, source code. See `docs/redaction.md`.

Every pattern is linear: a scan either stops where the next attempt would start or is consumed by the match.
"""

import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from headwater.events.redaction_names import FOLLOWED, WORD, is_harmless, is_secret_name

REDACTED = "[REDACTED]"

_PASSES = 8
_REMEMBERED_LENGTH = 300
_Found = re.Match[str]


def redact_text(text: str) -> str:
    """Return the text with every secret replaced; the very same object when there is none.

    Hiding one secret may lay bare another, so passes repeat until nothing changes: that makes it idempotent. A text
    still unsettled after eight passes was built to be, and is hidden whole.
    """
    if len(text) <= _REMEMBERED_LENGTH and _is_clean(text):
        return text
    settled = text
    for _ in range(_PASSES):
        before, settled = settled, _hide_all(settled)
        if settled == before:
            return text if settled == text else settled
    return REDACTED


@dataclass(frozen=True, slots=True)
class Rule:
    """Replaces what the pattern's last group matched, unless `spare` says otherwise.

    needles: lower-case substrings of which a text must hold one before the pattern is tried.
    """

    name: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    spare: Callable[[_Found], bool]

    def apply(self, text: str) -> str:
        """Return the text with this rule's secrets replaced."""
        return self.pattern.sub(self._hide, text)

    def _hide(self, found: _Found) -> str:
        if self.spare(found):
            return found[0]
        begin, end = (at - found.start() for at in found.span(found.lastgroup or 0))
        return found[0][:begin] + REDACTED + found[0][end:]


def _hide_all(text: str) -> str:
    lowered = text.lower()
    for rule in RULES:
        if any(needle in lowered for needle in rule.needles):
            text = rule.apply(text)
    return text


@lru_cache(maxsize=8192)
def _is_clean(text: str) -> bool:
    return _hide_all(text) == text


def _nothing(_: _Found) -> bool:
    return False


def _names_no_secret(found: _Found) -> bool:
    return not is_secret_name(found["name"]) or is_harmless(found[found.lastgroup or 0])


def _flags_no_secret(found: _Found) -> bool:
    return found["argument"] is None or _names_no_secret(found)


def _is_not_basic(found: _Found) -> bool:
    text = found["basic"].rstrip("=")
    try:
        return b":" not in b64decode(text[: len(text) - (len(text) % 4 == 1)] + "==")
    except ValueError:
        return True


def _is_no_token(found: _Found) -> bool:
    head, *rest = found["jwt"].split(".")
    return len(head) < 10 or not rest or len(rest[0]) < 4


def _assigns_no_secret(found: _Found) -> bool:
    if found.lastgroup == "partition":
        return True
    value = found[found.lastgroup or 0]
    return is_harmless(value) or value.rpartition(".")[2].lower() == (found["word"] or "").lower()


def _rule(name: str, needles: str, pattern: str, spare: Callable[[_Found], bool] = _nothing, *, flags: int = 0) -> Rule:
    return Rule(name, tuple(needles.split("|")), re.compile(pattern, re.ASCII | re.DOTALL | flags), spare)


_QUOTED = (
    r"""(?:N|[rbfu]{1,2})?(?:'(?P<single>(?:[^'\\]|''|\\.|\\\Z)*+)|"(?P<double>(?:[^"\\]|""|\\.|\\\Z)*+)"""
    r"""|\\+["'](?P<escaped>(?:[^"'\\]|\\+(?!["'\\]))*+))"""
)
_BARE = r"""[^\s;&"'`<>]"""
_ASSIGNED = rf"""
    (?P<partition>/[\w.\-]++=[^/\s;&?"']*+)
  | (?:(?P<word>{WORD})\d*|(?:{FOLLOWED})[\w.\-]{{1,200}}+)
    (?P<close>\\*["'`])?+
    (?:
        (?:\s*(?:=>|={{1,3}}|:=?)\s*|\s*,\s*\\*["']value\\*["']\s*:\s*|\s*\(\s*|\s+) {_QUOTED}
      | (?:=|%3D) (?:\{{(?!\{{)(?P<braced>[^}}]*+)|(?P<bare>{_BARE}++))
      | [ \t]*=[ \t]* (?P<spaced>{_BARE}++) (?=[ \t]*(?:[;\r\n]|\Z))
      | :[ \t]+ (?P<told>{_BARE}++)
      | (?:>|</name>\s*<value>) (?P<element>[^<>]++) (?=</)
    )
"""

RULES = [
    _rule(
        "pem",
        "-----begin",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<pem>.*?)(?:-----END|\Z)",
    ),
    _rule(
        "url-password",
        "://",
        r"""://[^\s/?#@:;,\[\]"'<>\\]*:(?!\d*[/?#;,])"""
        r"""(?:(?P<plain>(?:[^\s:"'<>/?#]|:(?!//))+)|(?P<slashed>(?:[^\s:@"'<>]|:(?!//))+))@""",
    ),
    _rule(
        "oracle-password",
        "jdbc:oracle:",
        r"""jdbc:oracle:\w+:[^/\s"'<>@:]*/(?P<oracle>(?:(?!:oracle:)[^\s"'<>])+)@""",
        flags=re.IGNORECASE,
    ),
    _rule(
        "authorization",
        "authorization",
        r"""authorization\\*["']?\s*[:=,]\s*\\*["']?(?:(?:bearer|basic|token|digest|apikey)\s+)?"""
        r"""(?P<credentials>[^\s"'\\,;]{4,})""",
        flags=re.IGNORECASE,
    ),
    _rule(
        "bearer",
        "bearer",
        r"(?i:bearer)(?:\s|%20|\+)+(?![a-z]{1,23}(?![\w.~+/=-]))(?P<bearer>[\w.~+/=-]{8,})",
    ),
    _rule("basic", "basic", r"(?i:basic)\s+(?P<basic>[A-Za-z0-9+/]{8,}={0,2})", _is_not_basic),
    _rule("aws-key-id", "akia|asia", r"(?<![A-Za-z0-9])(?P<aws>A[KS]IA[A-Z0-9]{16})(?![A-Za-z0-9])"),
    _rule("google-key", "aiza|ya29.|gocspx-", r"(?P<google>AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})"),
    _rule("databricks-token", "dapi", r"(?<![A-Za-z0-9])(?P<dapi>dapi[0-9a-zA-Z]{28,}(?:-\d+)?)"),
    _rule("github-token", "gh|github_pat_", r"(?P<github>gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    _rule("slack-token", "xox", r"(?P<slack>xox[abeoprs]-[A-Za-z0-9-]{10,})"),
    _rule("jwt", "eyj", r"(?P<jwt>eyJ[\w-]*+(?:\.[\w-]*+)*+)", _is_no_token),
    _rule("entra-secret", "q~", r"(?P<entra>[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34})"),
    _rule("storage-key", "==", r"(?P<storage>[A-Za-z0-9+/]{86}==)(?![\w=])"),
    _rule(
        "signature",
        "sig",
        r"""(?<![A-Za-z0-9_])sig(?:nature)?(?:=|%3D)(?P<sig>[^\s&;"'<>,)]{8,})""",
        flags=re.IGNORECASE,
    ),
    _rule("function-key", "code=", r"""[?&]code=(?P<code>[^\s&#"'<>]{8,})""", flags=re.IGNORECASE),
    _rule(
        "identified-by",
        "identified",
        rf"identified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?{_QUOTED}",
        flags=re.IGNORECASE,
    ),
    _rule(
        "identified-by-bare",
        "identified",
        r"""(?:user|role)\s+\S+\s+identified\s+by\s+(?P<plain>[^\s;,'"]+)""",
        flags=re.IGNORECASE,
    ),
    _rule(
        "call",
        "option|set|config|put|property|header",
        r"(?:options?|set|config|put|property|header)"
        rf"""\(\s*\\*["'](?P<name>[^"'\s\\]{{1,300}}+)\\*["']\s*,\s*{_QUOTED}""",
        _names_no_secret,
        flags=re.IGNORECASE,
    ),
    _rule(
        "command-line",
        "--",
        r"""--(?P<name>[\w.\-]++)(?:\s+["']?(?P<argument>[^\s"'-][^\s"']*+))?""",  # a name alone is consumed, too
        _flags_no_secret,
    ),
    _rule(
        "assignment",
        "pass|pwd|secret|token|key|fs.azure.sas.",
        _ASSIGNED,
        _assigns_no_secret,
        flags=re.IGNORECASE | re.VERBOSE,
    ),
]
