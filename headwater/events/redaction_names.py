"""Names that announce a secret (`spark.db.password`, `fs.azure.account.key.*`), and values that never are one.

The words are written for RE2, so that the rules and the search that skips clean events cannot drift apart, and so that
time is linear in the length of a text whatever it says.
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
"""What may stand right before `pass` in a name."""

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
"""The last word of a secret's name, in properties as well as in SQL and connection strings."""

STAGE = (
    r"(?:[._-]?v?\d+|[._-]?(?:prod(?:uction)?|prd|dev(?:elopment)?|test|tst|stag(?:ing|e)|stg|uat|qa|preprod|sandbox|live"
    r"|local|old|new|current|previous|prev|primary|secondary|backup|default|admin|root|main|base64|b64|plain))*"
)
"""What may stand behind the word: which of several secrets it is."""

NAME_ONLY = (
    r"authorization|x[._-]?auth|cookie|credentials?|basic\.auth\.user\.info|urlparams\.code|azure_storage_sas"
    r"|(?:redis|npm)[._]auth"
)
"""Words that announce a secret as a property's whole last part, but mean other things in running text."""

AMBIGUOUS = r"pin(?:[._-]?code)?|pw|sas|session[._-]?id|salt"
"""Words that announce a secret as often as an ordinary field: the value decides."""

FOLLOWED = r"account\.key\.|client\.secret\.|fs\.azure\.sas\."
"""Property names that go on after the telling part, with the name of a storage account."""


def compiled(pattern: str) -> Any:
    """Compile a pattern for bytes, ASCII alone: case does not matter, a dot takes line ends."""
    options = re2.Options()
    options.case_sensitive, options.dot_nl = False, True
    options.encoding = re2.Options.Encoding.LATIN1  # bytes that are no UTF-8 are looked at, too
    return re2.compile(pattern.encode(), options)


_SECRET_NAME = compiled(rf"(?:{WORD}){STAGE}\z|(?:{NAME_ONLY})\d*\z|{FOLLOWED}")
_MAYBE_SECRET_NAME = compiled(rf"(?:^|[._ -])(?:{AMBIGUOUS})\d*\z")
_INVISIBLE = "Cf"
"""The category of zero-width characters, of marks of direction and of the soft hyphen."""
_MAY_BE_PATH = re.compile(r"(?:old)?pwd|.*credentials?", re.IGNORECASE | re.ASCII | re.DOTALL)
_PATH = re.compile(r"/|~|[A-Za-z]:\\|\w{2,8}:/", re.ASCII)
_CHANGES = 3
_ONE_WORD = re.compile(r"[\w+=.~!@#$%^&*-]{8,}", re.ASCII)
_ORDINARY = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # a UUID
    r"|\d{4}-?\d\d-?\d\d(?:[T_-].*)?"  # a date
    r"|v?\d+(?:\.\d+)+\S*"  # a version
    r"|[A-Za-z]+(?:[._-]?[A-Za-z]+)*[._-]?\d*"  # words, perhaps with a number
    r"|(?:app|application|local|session|run|job|batch|livy)[._-][\d._-]+",  # what schedulers number
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
    """Tell whether a property of this name holds a secret, also in full-width letters or with invisible characters."""
    name = _plain(name)
    return _remembered(name) if len(name) <= 200 else _says_secret(name)


def is_secret(name: str, value: str) -> bool:
    """Tell whether this value of a property of this name is a secret: not a type, a placeholder or a file."""
    if is_harmless(value):
        return False
    if not is_secret_name(name):
        return _maybe_secret(name, value)
    return not (_PATH.match(value) and _MAY_BE_PATH.fullmatch(name))


def _maybe_secret(name: str, value: str) -> bool:
    """Tell whether the value shows that a name like `pin` or `session_id` means a secret."""
    found = _MAYBE_SECRET_NAME.search(_plain(name).encode("utf-8", "surrogatepass"))
    if not found or len(value) > 4096:
        return False
    if b"pin" in found[0].lower() and value.isascii() and value.isdigit():
        return 4 <= len(value) <= 12
    return looks_random(value)


def looks_random(value: str) -> bool:
    """Tell whether a value reads like a generated or chosen secret: no word, number, date, UUID, path or version.

    That is one word of eight characters or more, in which letters and digits, or upper and lower case, change at least
    three times.
    """
    if not _ONE_WORD.fullmatch(value) or _ORDINARY.fullmatch(value):
        return False
    kinds = [(sign.isdigit(), sign.isupper()) for sign in value if sign.isalnum()]
    return sum(one != other for one, other in pairwise(kinds)) >= _CHANGES


def is_harmless(value: str) -> bool:
    """Tell whether a value is no secret under any name: empty, a flag, a data type, a placeholder, a Java class."""
    return not value or (len(value) <= 200 and _HARMLESS.fullmatch(value) is not None)


def _plain(name: str) -> str:
    """Return a name in the letters that a reader sees."""
    if name.isascii():
        return name
    return "".join(sign for sign in normalize("NFKC", name) if category(sign) != _INVISIBLE)


def _says_secret(name: str) -> bool:
    return _SECRET_NAME.search(name.encode("utf-8", "surrogatepass")) is not None


_remembered = lru_cache(maxsize=8192)(_says_secret)
