"""Limit the size of answers for agents: cut long texts, omit items that do not fit, and count them."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from msgspec.json import encode

MAX_ITEMS = 60
"""Most items of one answer."""

_MAX_BYTES = 6_000
_MAX_TEXT_CHARS = 2_000
"""Most characters of one text, such as SQL."""


def first_that_fit(things: Sequence[Any]) -> list[Any]:
    """Return the first items that fit into an answer. An item that does not fit is skipped; later ones may fit."""
    found, size = [], 0
    for thing in map(_cut, things[:MAX_ITEMS]):
        own = len(encode(thing))
        if size + own <= _MAX_BYTES:
            found.append(thing)
            size += own
    return found


def _cut(value: Any) -> Any:
    """Shorten long texts and state how many characters are missing."""
    if isinstance(value, str) and len(value) > _MAX_TEXT_CHARS:
        return f"{value[:_MAX_TEXT_CHARS]} … and {len(value) - _MAX_TEXT_CHARS} more characters"
    if isinstance(value, Mapping):
        return {name: _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value] if isinstance(value, list) else value


def first_three(names: Iterable[str]) -> str:
    """Return three names and the number of the others."""
    every = sorted(names)
    more = f" and {len(every) - 3} more" if len(every) > 3 else ""
    return ", ".join(every[:3]) + more


def omitted_note(count: int, one: str, many: str, hint: str, *, at_least: bool = False) -> str | None:
    """Return a sentence about the omitted items, None if all items are included. hint: how to get them."""
    if count <= 0:
        return f"There may be more. {hint}" if at_least else None
    return f"{'at least ' if at_least else ''}{count} more {one if count == 1 else many}. {hint}".strip()


def advice(given: Container[str], **sentences: str) -> str:
    """Return the sentences of the parameters that the agent has not set. sentences: by name of the parameter."""
    return " ".join(sentence for name, sentence in sentences.items() if name not in given)


def join_sentences(*parts: str | None) -> str | None:
    """Join the sentences that are not empty; None if all are."""
    return " ".join(part for part in parts if part) or None
