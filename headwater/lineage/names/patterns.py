"""Patterns for names: texts with `{placeholders}`. Unlike regular expressions, patterns never take very long to match.

`{x}` matches one or more characters up to the next literal, but no `/`; `{x:digits}` digits; `{x:word}` letters,
digits, `_` and `-`; `{x:uuid}` a UUID; `{x:hash}` 32, 40 or 64 hexadecimal digits; `{x:date}` a whole date, with a time
if there is one; `{x:ext}` one to three file extensions, each with its dot; `{x:a|b}` one of the words; `{x:rest}` the
rest. If text or other placeholders follow `rest`, each of these placeholders matches at most 64 characters. The time of
every match is linear in the length of the name.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

DATE = (
    r"(?:19|20)[0-9]{2}(?P<mark>[-_.]?)(?:0[1-9]|1[0-2])(?P=mark)(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T_ -]?[0-9]{2}(?:[:_-]?[0-9]{2}){0,2}Z?)?"
)
"""Expression for a whole date, optionally with a time. To use it twice in one expression, rename the group `mark`."""

_CHARACTER_CLASSES = {"digits": "[0-9]", "word": r"[\w-]"}
_KIND_EXPRESSIONS = {
    "uuid": "[0-9A-Fa-f]{8}(?:-?[0-9A-Fa-f]{4}){3}-?[0-9A-Fa-f]{12}",
    "hash": "(?:[0-9A-Fa-f]{64}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{32})",
    "date": DATE,
    "ext": r"(?:\.[A-Za-z][A-Za-z0-9]{0,9}){1,3}",
}
_PLACEHOLDER = re.compile(r"\{([a-z_]{1,30})(?::([^{}]*))?\}")
_CASE_CHANGES: dict[str | None, Callable[[str], str]] = {None: str, "lower": str.lower, "upper": str.upper}


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern for whole names. Patterns with equal texts are equal."""

    text: str
    compiled: re.Pattern[str] = field(repr=False, compare=False)
    schemes: frozenset[str] | None = field(repr=False, compare=False)
    """The possible texts before the first colon of a fitting name; None if any text is possible."""
    required_text: str = field(repr=False, compare=False, default="")
    """A text that every fitting name contains. Searching for it is cheaper than matching."""

    @property
    def placeholders(self) -> set[str]:
        """The names of the placeholders."""
        return {name for name in self.compiled.groupindex if not name[-1].isdigit()}

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match of a text, None if the text does not fit."""
        return self.compiled.fullmatch(text) if self.required_text in text else None


@dataclass(frozen=True)
class Template:
    """A text with placeholders to fill: `{x}`, `{x:lower}`, `{x:upper}`.

    placeholders: for each placeholder, the text before it, its name, and `lower`, `upper` or None.
    suffix: the text after the last placeholder.
    """

    text: str
    placeholders: tuple[tuple[str, str, str | None], ...] = field(repr=False, compare=False)
    suffix: str = field(repr=False, compare=False)

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with all placeholders replaced by their values."""
        return (
            "".join(
                before + _CASE_CHANGES[change](values[placeholder]) for before, placeholder, change in self.placeholders
            )
            + self.suffix
        )


def first_match(patterns: tuple[Pattern, ...], text: str) -> re.Match[str] | None:
    """Return the match of the first pattern that fits a text, None if no pattern fits."""
    for pattern in patterns:
        if found := pattern.match(text):
            return found
    return None


def read_pattern(text: str) -> Pattern:
    """Compile a pattern; raises ValueError with the reason if the text is not valid."""
    pieces = _split_pattern(text)
    names = [name for name, _, _ in pieces if name is not None]
    if len(set(names)) < len(names):
        raise ValueError(f"a placeholder occurs twice in {text!r}")
    if any(kind == "rest" and not _may_follow_rest(pieces[at + 1 :]) for at, (_, kind, _) in enumerate(pieces)):
        raise ValueError(f"a placeholder without a kind follows a placeholder of kind rest in {text!r}")
    expression = "".join(_regex_of_pieces(pieces, at, text) for at in range(len(pieces)))
    needs = max((literal for _, _, literal in pieces), key=len, default="")
    return Pattern(text, re.compile(expression, re.DOTALL), _schemes_of_pattern(pieces), needs)


def read_template(text: str, known: set[str]) -> Template:
    """Compile a template; raises ValueError with the reason if the text is not valid.

    known: the names of the placeholders that the template may use.
    """
    placeholders = []
    before = ""
    for name, change, literal in _split_pattern(text):
        if name is None:
            before += literal
            continue
        if name not in known or change not in _CASE_CHANGES:
            fits = ", ".join(sorted(known)) or "none"
            raise ValueError(
                f"{{{name}}} in {text!r} is not a placeholder of the pattern ({fits}), optionally with :lower or :upper"
            )
        placeholders.append((before, name, change))
        before = ""
    return Template(text, tuple(placeholders), before)


_Piece = tuple[str | None, str | None, str]


def _split_pattern(text: str) -> list[_Piece]:
    """Split a text into placeholders (name, kind, "") and literals (None, None, text)."""
    pieces: list[_Piece] = []
    at = 0
    for placeholder in _PLACEHOLDER.finditer(text):
        pieces += [(None, None, text[at : placeholder.start()])] * (placeholder.start() > at) + [
            (placeholder[1], placeholder[2], "")
        ]
        at = placeholder.end()
    pieces += [(None, None, text[at:])] * (at < len(text))
    if any(mark in literal for _, _, literal in pieces for mark in "{}"):
        raise ValueError(f"unmatched brace, or a placeholder with an invalid name, in {text!r}")
    return pieces


def _may_follow_rest(pieces: list[_Piece]) -> bool:
    """Return whether pieces may follow a placeholder of kind `rest`, because each piece has a maximum length."""
    return all(name is None or (kind is not None and kind != "rest") for name, kind, _ in pieces)


def _regex_of_pieces(pieces: list[_Piece], at: int, text: str) -> str:
    name, kind, literal = pieces[at]
    if name is None:
        return re.escape(literal)
    if kind == "rest":
        return f"(?P<{name}>.*)"
    if kind in _CHARACTER_CLASSES:
        bound = "{1,64}+" if any(before == "rest" for _, before, _ in pieces[:at]) else "++"
        until = pieces[at + 1][2] if at + 1 < len(pieces) else ""
        one = f"(?:(?!{re.escape(until)}){_CHARACTER_CLASSES[kind]})" if until else _CHARACTER_CLASSES[kind]
        return f"(?P<{name}>{one}{bound})"
    if kind in _KIND_EXPRESSIONS:
        return f"(?P<{name}>{_KIND_EXPRESSIONS[kind].replace('mark', f'mark{at}')})"
    if kind is not None and "|" in kind:
        return f"(?P<{name}>{'|'.join(re.escape(word) for word in kind.split('|'))})"
    if kind is not None:
        raise ValueError(
            f"unknown kind {kind!r} in {text!r}; kinds: digits, word, uuid, hash, date, ext, rest, or words like a|b"
        )
    following = pieces[at + 1] if at + 1 < len(pieces) else (None, None, "")
    if following[0] is not None and following[1] != "rest":
        raise ValueError(f"the end of {{{name}}} in {text!r} is ambiguous; put text after it")
    return f"(?P<{name}>[^/{re.escape(following[2][:1])}]++)"


def _schemes_of_pattern(pieces: list[_Piece]) -> frozenset[str] | None:
    if not pieces:
        return frozenset([""])
    name, kind, literal = pieces[0]
    if name is None and (":" in literal or len(pieces) == 1):
        return frozenset([literal.partition(":")[0]])
    follows = pieces[1][2] if len(pieces) > 1 else ""
    if name is not None and kind is not None and "|" in kind and follows.startswith(":"):
        return frozenset(word.partition(":")[0] for word in kind.split("|"))
    return None
