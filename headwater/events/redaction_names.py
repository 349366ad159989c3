"""Names of secrets (`spark.db.password`, `fs.azure.account.key.*`), and values that are never secrets.

The patterns are for RE2, which guarantees linear time. Both the redaction rules and the quick search of `redaction.py`
are built from these patterns, so they agree on names.
"""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Any
from unicodedata import category, normalize

import re2

_GAP = r"[._ -]?"
_KEY_OF = (
    "api|access|account|private|master|storage|signing|encryption|functions?|subscription|app|application|auth|secret"
    "|fernet|hmac"
)
STEM = (
    "db|user|usr|admin|root|my|pg|sql|ftp|smtp|mail|login|key|store|trust|ldap|proxy|conn|account|server|host|app|svc"
    "|service|redis|mongo|ora|oracle|ssh|http"
)
"""Words that may directly precede `pass` in a name."""

WORD = "|".join(
    [
        r"passw(?:or)?ds?",
        r"pass(?:phrase|code)",
        rf"(?:[._?&;,-]|\b(?:{STEM})?)pass",
        r"pwd",
        rf"secret(?:{_GAP}(?:value|string))?",
        rf"secret{_GAP}access{_GAP}key",
        rf"token(?:{_GAP}(?:value|secret|key))?",
        rf"(?:{_KEY_OF}){_GAP}key",
        rf"access{_GAP}key{_GAP}id",
        rf"bind{_GAP}credential",
    ]
)
"""The last word of a secret's name, in properties, SQL and connection strings."""

STAGE = (
    r"(?:[._-]?v?\d+|[._-]?(?:prod(?:uction)?|prd|dev(?:elopment)?|test|tst|stag(?:ing|e)|stg|uat|qa|preprod|sandbox|live"
    r"|local|old|new|current|previous|prev|primary|secondary|backup|default|admin|root|main|base64|b64|plain))*"
)
"""Suffixes after the last word of a secret's name, such as `_prod` or `_2`, which distinguish several secrets."""

NAME_ONLY = (
    r"authorization|x[._-]?auth|cookie|credentials?|basic\.auth\.user\.info|urlparams\.code|azure_storage_sas"
    r"|(?:redis|npm)[._]auth"
)
"""Words that denote a secret at the end of a property name, but not in running text."""

AMBIGUOUS = r"pin(?:[._-]?code)?|pw|sas|session[._-]?id|salt"
"""Words that may denote a secret or an ordinary field. `is_secret` decides by the value."""

FOLLOWED = r"account\.key\.|client\.secret\.|fs\.azure\.sas\."
"""Beginnings of property names that continue with the name of a storage account."""


def compile_bytes_pattern(pattern: str) -> Any:
    """Compile a pattern for bytes: ASCII only, case-insensitive, and `.` matches line breaks."""
    options = re2.Options()
    options.case_sensitive, options.dot_nl = False, True
    options.encoding = re2.Options.Encoding.LATIN1  # also searches invalid UTF-8
    return re2.compile(pattern.encode(), options)


_SECRET_NAME = compile_bytes_pattern(rf"(?:{WORD}){STAGE}\z|(?:{NAME_ONLY})\d*\z|{FOLLOWED}")
_MAYBE_SECRET_NAME = compile_bytes_pattern(rf"(?:^|[._ -])(?:{AMBIGUOUS})\d*\z")
_INVISIBLE = "Cf"
"""The Unicode category of zero-width characters, direction marks and the soft hyphen."""
_MAY_BE_PATH = re.compile(r"(?:old)?pwd|.*credentials?", re.IGNORECASE | re.ASCII | re.DOTALL)
_PATH = re.compile(r"/|~|[A-Za-z]:\\|\w{2,8}:/", re.ASCII)
_CHANGES = 3
_ONE_WORD = re.compile(r"[\w+=.~!@#$%^&*-]{8,}", re.ASCII)
_ORDINARY = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # a UUID
    r"|\d{4}-?\d\d-?\d\d(?:[T_-].*)?"  # a date
    r"|v?\d+(?:\.\d+)+\S*"  # a version
    r"|[A-Za-z]+(?:[._-]?[A-Za-z]+)*[._-]?\d*"  # words, perhaps with a number
    r"|(?:app|application|local|session|run|job|batch|livy)[._-][\d._-]+",  # ids of schedulers
)
_HARMLESS = re.compile(
    r"\[REDACTED\]|true|false|null|none|yes|no|\?|%s|\*+(?:\(redacted\))?|\$\{[^}]*\}|\{\{[^}]*\}\}"
    r"|(?:string|str|n?text|n?(?:var)?char2?|(?:var)?binary|bytes?|(?:big|small|tiny)?int|integer|long|short|float|double"
    r"|real|decimal|numeric|number|bool(?:ean)?|date|datetime|time|timestamp(?:_?[nl]?tz)?|uuid|json|variant|object|array"
    r"|map|struct|interval|void)(?:[(<][\w\s,:<>().]*)?"
    r"|(?:[a-z]\w*\.){2,}(?-i:[A-Z])\w*",
    re.IGNORECASE | re.ASCII,
)


def is_secret_name(name: str) -> bool:
    """Whether a property of this name is a secret. Ignores full-width letters and invisible characters."""
    name = _visible_form(name)
    return _remembered(name) if len(name) <= 200 else _contains_secret_word(name)


def is_secret(name: str, value: str) -> bool:
    """Whether the value of a property with this name is a secret.

    Data types, placeholders and paths are not secrets.
    """
    if is_harmless(value):
        return False
    if not is_secret_name(name):
        return _is_ambiguous_secret(name, value)
    return not (_PATH.match(value) and _MAY_BE_PATH.fullmatch(name))


def _is_ambiguous_secret(name: str, value: str) -> bool:
    """Whether the value of an ambiguous name, such as `pin` or `session_id`, looks like a secret."""
    found = _MAYBE_SECRET_NAME.search(_visible_form(name).encode("utf-8", "surrogatepass"))
    if not found or len(value) > 4096:
        return False
    if b"pin" in found[0].lower() and value.isascii() and value.isdigit():
        return 4 <= len(value) <= 12
    return looks_random(value)


def looks_random(value: str) -> bool:
    """Whether a value looks like a generated or chosen secret, not like a word, number, date, UUID, path or version.

    It must be one word of at least eight characters that changes at least three times between letters and digits, or
    upper and lower case.
    """
    if not _ONE_WORD.fullmatch(value) or _ORDINARY.fullmatch(value):
        return False
    kinds = [(sign.isdigit(), sign.isupper()) for sign in value if sign.isalnum()]
    return sum(one != other for one, other in pairwise(kinds)) >= _CHANGES


def is_harmless(value: str) -> bool:
    """Whether a value is never a secret: empty, a flag, a data type, a placeholder or a Java class."""
    return not value or (len(value) <= 200 and _HARMLESS.fullmatch(value) is not None)


def _visible_form(name: str) -> str:
    """Normalise a name to the letters that a reader sees."""
    if name.isascii():
        return name
    return "".join(sign for sign in normalize("NFKC", name) if category(sign) != _INVISIBLE)


def _contains_secret_word(name: str) -> bool:
    return _SECRET_NAME.search(name.encode("utf-8", "surrogatepass")) is not None


_remembered = lru_cache(maxsize=8192)(_contains_secret_word)
