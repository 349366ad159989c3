"""Names that announce a secret (`spark.db.password`, `fs.azure.account.key.*`), and values that never are one.

The words are written for both Python's `re` and RE2, so that the rules and the search that skips clean events
cannot drift apart.
"""

import re
from functools import lru_cache

_GAP = r"[._ -]?"
_KEY_OF = (
    "api|access|account|private|master|storage|signing|encryption|functions?|subscription|app|application|auth|secret"
)

WORD = "|".join(
    [
        r"passw(?:or)?d",
        r"pass(?:phrase|code)",
        r"pwd",
        rf"secret(?:{_GAP}(?:value|string))?",
        rf"secret{_GAP}access{_GAP}key",
        rf"token(?:{_GAP}(?:value|secret|key))?",
        rf"(?:{_KEY_OF}){_GAP}key",
        rf"access{_GAP}key{_GAP}id",
    ]
)
"""The last word of a secret's name, in properties as well as in SQL and connection strings."""

NAME_ONLY = r"authorization|cookie|credentials?|basic\.auth\.user\.info|urlparams\.code|azure_storage_sas"
"""Words that announce a secret as a property's whole last part, but mean other things in running text."""

FOLLOWED = r"account\.key\.|client\.secret\.|fs\.azure\.sas\."
"""Property names that go on after the telling part, with the name of a storage account."""

_SECRET_NAME = re.compile(rf"(?:{WORD}|{NAME_ONLY})\d*\Z|{FOLLOWED}", re.IGNORECASE | re.ASCII)
_MAY_BE_PATH = re.compile(r"(?:old)?pwd|.*credentials?", re.IGNORECASE | re.ASCII | re.DOTALL)
_PATH = re.compile(r"/|~|[A-Za-z]:\\|\w{2,8}:/", re.ASCII)
_HARMLESS = re.compile(
    r"\[REDACTED\]|true|false|null|none|yes|no|\?|%s|\*+(?:\(redacted\))?|\$\{[^}]*\}|\{\{[^}]*\}\}"
    r"|(?:string|str|n?text|n?(?:var)?char2?|(?:var)?binary|bytes?|(?:big|small|tiny)?int|integer|long|short|float|double"
    r"|real|decimal|numeric|number|bool(?:ean)?|date|datetime|time|timestamp(?:_?[nl]?tz)?|uuid|json|variant|object|array"
    r"|map|struct|interval|void)(?:[(<][\w\s,:<>().]*)?"
    r"|(?:[a-z]\w*\.){2,}(?-i:[A-Z])\w*",
    re.IGNORECASE | re.ASCII,
)


def is_secret_name(name: str) -> bool:
    """Tell whether a property of this name holds a secret."""
    return _remembered(name) if len(name) <= 200 else _SECRET_NAME.search(name) is not None


def is_secret(name: str, value: str) -> bool:
    """Tell whether this value of a property of this name is a secret: not a type, a placeholder or a file."""
    if not is_secret_name(name) or is_harmless(value):
        return False
    return not (_PATH.match(value) and _MAY_BE_PATH.fullmatch(name))


def is_harmless(value: str) -> bool:
    """Tell whether a value is no secret under any name: empty, a flag, a data type, a placeholder, a Java class."""
    return not value or (len(value) <= 200 and _HARMLESS.fullmatch(value) is not None)


@lru_cache(maxsize=8192)
def _remembered(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None
