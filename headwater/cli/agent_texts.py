"""How much an agent is shown: as many lines as fit an answer, long texts cut, and the rest counted."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from msgspec.json import encode

SHOWN = 60
"""Most columns, edges or things of one answer."""

_BYTES = 6_000
_LONGEST = 2_000
"""Most characters of one text, such as the SQL of an edge."""


def first_of(things: Sequence[Any]) -> list[Any]:
    """Return the first things that fit an answer; one that is too large, as facets may be, is left out by itself."""
    found, size = [], 0
    for thing in map(_cut, things[:SHOWN]):
        own = len(encode(thing))
        if size + own <= _BYTES:
            found.append(thing)
            size += own
    return found


def _cut(value: Any) -> Any:
    """Shorten what is a long text, and say by how much."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]} … and {len(value) - _LONGEST} more characters"
    if isinstance(value, Mapping):
        return {name: _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value] if isinstance(value, list) else value


def some_of(names: Iterable[str]) -> str:
    """Name three, and count the others."""
    every = sorted(names)
    more = f" and {len(every) - 3} more" if len(every) > 3 else ""
    return ", ".join(every[:3]) + more


def said_of_rest(count: int, one: str, many: str, hint: str, *, at_least: bool = False) -> str | None:
    """Say how much is not shown; None where all is."""
    if count <= 0:
        return f"There may be more. {hint}" if at_least else None
    return f"{'at least ' if at_least else ''}{count} more {one if count == 1 else many}. {hint}".strip()


def advice(given: Container[str], **sentences: str) -> str:
    """Return how to ask for less or more: a sentence for each parameter that was not given yet, by its name."""
    return " ".join(sentence for name, sentence in sentences.items() if name not in given)


def joined(*parts: str | None) -> str | None:
    """Return as one text what there is to say, None if there is nothing."""
    return " ".join(part for part in parts if part) or None
