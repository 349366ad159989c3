"""Patterns over names: text with `{holes}`. No regular expressions from outside, so none that explode.

`{x}` takes one or more characters up to the next literal, never a `/`; `{x:digits}` digits; `{x:word}` letters, digits,
`_` and `-`; `{x:uuid}`; `{x:hash}` 32, 40 or 64 hexadecimal digits; `{x:date}` a whole date, with a time if it has one;
`{x:ext}` one to three extensions of a file, each with its dot; `{x:a|b}` one of the words; `{x:rest}` whatever is left.
A pattern with text or other holes behind `rest` is matched from the end; each of these holes takes 64 characters at
most. Every match is linear in the length of the name.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

DATE = (
    r"(?:19|20)[0-9]{2}(?P<mark>[-_.]?)(?:0[1-9]|1[0-2])(?P=mark)(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T_ -]?[0-9]{2}(?:[:_-]?[0-9]{2}){0,2}Z?)?"
)
"""A whole date, with a time if there is one; where it is twice in an expression, `mark` needs another name."""

_CLASSES = {"digits": "[0-9]", "word": r"[\w-]"}
_KINDS = {
    "uuid": "[0-9A-Fa-f]{8}(?:-?[0-9A-Fa-f]{4}){3}-?[0-9A-Fa-f]{12}",
    "hash": "(?:[0-9A-Fa-f]{64}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{32})",
    "date": DATE,
    "ext": r"(?:\.[A-Za-z][A-Za-z0-9]{0,9}){1,3}",
}
_HOLE = re.compile(r"\{([a-z_]{1,30})(?::([^{}]*))?\}")
_CHANGES: dict[str | None, Callable[[str], str]] = {None: str, "lower": str.lower, "upper": str.upper}


@dataclass(frozen=True)
class Pattern:
    """A pattern that takes a whole text apart; two are equal when their texts are."""

    text: str
    compiled: re.Pattern[str] = field(repr=False, compare=False)
    schemes: frozenset[str] | None = field(repr=False, compare=False)
    """What may stand before the first colon of a text that fits; None: anything."""
    needs: str = field(repr=False, compare=False, default="")
    """A text that every text that fits contains: looking for it is cheaper than matching."""

    @property
    def holes(self) -> set[str]:
        """The names of the holes."""
        return {name for name in self.compiled.groupindex if not name[-1].isdigit()}

    def take(self, text: str) -> re.Match[str] | None:
        """Return how a text is taken apart, None where it does not fit."""
        return self.compiled.fullmatch(text) if self.needs in text else None


@dataclass(frozen=True)
class Template:
    """A text to be filled from holes: `{x}`, `{x:lower}`, `{x:upper}`."""

    text: str
    holes: tuple[tuple[str, str, str | None], ...] = field(repr=False, compare=False)
    end: str = field(repr=False, compare=False)

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with every hole filled."""
        return "".join(before + _CHANGES[change](values[hole]) for before, hole, change in self.holes) + self.end


def first_fit(patterns: tuple[Pattern, ...], text: str) -> re.Match[str] | None:
    """Return how the first of the patterns that fits takes the text apart."""
    for pattern in patterns:
        if found := pattern.take(text):
            return found
    return None


def read_pattern(text: str) -> Pattern:
    """Read a pattern; raises ValueError saying what does not fit."""
    pieces = _pieces(text)
    names = [name for name, _, _ in pieces if name is not None]
    if len(set(names)) < len(names):
        raise ValueError(f"a hole is named twice in {text!r}")
    if any(kind == "rest" and not _ends(pieces[at + 1 :]) for at, (_, kind, _) in enumerate(pieces)):
        raise ValueError(f"a hole without a kind follows the hole of kind rest in {text!r}")
    expression = "".join(_expression(pieces, at, text) for at in range(len(pieces)))
    needs = max((literal for _, _, literal in pieces), key=len, default="")
    return Pattern(text, re.compile(expression, re.DOTALL), _schemes(pieces), needs)


def read_template(text: str, known: set[str]) -> Template:
    """Read a template over the holes that are known; raises ValueError saying what does not fit."""
    holes = []
    before = ""
    for name, change, literal in _pieces(text):
        if name is None:
            before += literal
            continue
        if name not in known or change not in _CHANGES:
            fits = ", ".join(sorted(known)) or "none"
            raise ValueError(f"{{{name}}} in {text!r} is no hole of the pattern ({fits}), with :lower or :upper")
        holes.append((before, name, change))
        before = ""
    return Template(text, tuple(holes), before)


_Piece = tuple[str | None, str | None, str]


def _pieces(text: str) -> list[_Piece]:
    """Cut into holes (name, kind, "") and literals (None, None, text)."""
    pieces: list[_Piece] = []
    at = 0
    for hole in _HOLE.finditer(text):
        pieces += [(None, None, text[at : hole.start()])] * (hole.start() > at) + [(hole[1], hole[2], "")]
        at = hole.end()
    pieces += [(None, None, text[at:])] * (at < len(text))
    if any(mark in literal for _, _, literal in pieces for mark in "{}"):
        raise ValueError(f"a brace without its partner, or a hole with an odd name, in {text!r}")
    return pieces


def _ends(pieces: list[_Piece]) -> bool:
    """Tell whether pieces may stand behind a hole of kind rest: each takes a bounded part of a name."""
    return all(name is None or (kind is not None and kind != "rest") for name, kind, _ in pieces)


def _expression(pieces: list[_Piece], at: int, text: str) -> str:
    name, kind, literal = pieces[at]
    if name is None:
        return re.escape(literal)
    if kind == "rest":
        return f"(?P<{name}>.*)"
    if kind in _CLASSES:
        bound = "{1,64}+" if any(before == "rest" for _, before, _ in pieces[:at]) else "++"
        until = pieces[at + 1][2] if at + 1 < len(pieces) else ""
        one = f"(?:(?!{re.escape(until)}){_CLASSES[kind]})" if until else _CLASSES[kind]
        return f"(?P<{name}>{one}{bound})"
    if kind in _KINDS:
        return f"(?P<{name}>{_KINDS[kind].replace('mark', f'mark{at}')})"
    if kind is not None and "|" in kind:
        return f"(?P<{name}>{'|'.join(re.escape(word) for word in kind.split('|'))})"
    if kind is not None:
        raise ValueError(
            f"unknown kind {kind!r} in {text!r}; kinds: digits, word, uuid, hash, date, ext, rest, or words like a|b"
        )
    following = pieces[at + 1] if at + 1 < len(pieces) else (None, None, "")
    if following[0] is not None and following[1] != "rest":
        raise ValueError(f"nothing tells where {{{name}}} ends in {text!r}; put text behind it")
    return f"(?P<{name}>[^/{re.escape(following[2][:1])}]++)"


def _schemes(pieces: list[_Piece]) -> frozenset[str] | None:
    if not pieces:
        return frozenset([""])
    name, kind, literal = pieces[0]
    if name is None and (":" in literal or len(pieces) == 1):
        return frozenset([literal.partition(":")[0]])
    follows = pieces[1][2] if len(pieces) > 1 else ""
    if name is not None and kind is not None and "|" in kind and follows.startswith(":"):
        return frozenset(word.partition(":")[0] for word in kind.split("|"))
    return None
