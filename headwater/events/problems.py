"""Describes validation problems of an event: where, what is wrong, and what was expected."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jsonschema_rs import ValidationError

from headwater.events.core_part import Step

Severity = Literal["error", "info"]

_LONGEST_VALUE = 60
_LONGEST_KEY = 60
_LONGEST_PATH = 240
_LONGEST_MESSAGE = 400
_EXPECTED = {
    "date-time": "a time with its zone, like 2024-01-31T12:00:00Z",
    "uri": "an absolute URI, like https://example.com",
    "uuid": "a UUID, like 019a2b3c-0000-7000-8000-000000000000",
}


@dataclass(frozen=True)
class Problem:
    """A problem of an event. All texts are short and printable, whatever the event contains.

    path: such as `outputs[0].facets.schema.fields[2].name`; `event` for the event as a whole.
    facet: key of the facet, or None.
    message: what is wrong and what was expected.
    schema: URL of the published definition, or None.
    severity: an `info` does not make the event invalid.
    """

    path: str
    facet: str | None
    message: str
    schema: str | None = None
    severity: Severity = "error"


def describe_path(steps: Sequence[Step]) -> str:
    """Format a path, such as `run.facets["spark.logicalPlan"].plan[0]`."""
    text = "".join(_step(step) for step in steps).removeprefix(".") or "event"
    return text if len(text) <= _LONGEST_PATH else f"{text[: _LONGEST_PATH - 1]}…"


def describe_key(key: str) -> str:
    """Format a facet's key; quote and shorten it if it is not an identifier."""
    plain = len(key) <= _LONGEST_KEY and key.isascii() and key.isidentifier()
    return key if plain else _quoted(key, _LONGEST_KEY)


def nearest_errors(error: ValidationError) -> Iterator[ValidationError]:
    """Replace an `anyOf` or `oneOf` error by the errors of the nearest alternative, if there is a clear one."""
    branches = getattr(error.kind, "context", None)
    if error.kind.name not in {"anyOf", "oneOf"} or not branches or not all(branches):
        yield error
        return
    nearest = min(branches, key=lambda branch: (_names_another_form(branch), len(branch)))
    if len(branches) > 1 and _names_another_form(nearest):
        yield error
        return
    for inner in nearest:
        yield from nearest_errors(inner)


def describe_error(error: ValidationError) -> str:
    """Describe an error and the expectation, with at most a few words of the event's content."""
    text = _wording(error.kind, error)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"


def _wording(kind: Any, error: ValidationError) -> str:
    match kind.name:
        case "required":
            return f"{_quoted(kind.property)} is required, but missing"
        case "additionalProperties":
            return f"has {', '.join(map(_quoted, kind.unexpected[:3]))}, which this schema does not allow"
        case _:
            return f"is {_shown(error.instance)}, {_expectation(kind)}"


def _expectation(kind: Any) -> str:
    match kind.name:
        case "type":
            text = f"expected {' or '.join(kind.types)}"
        case "format":
            text = f"expected {_EXPECTED.get(kind.format, kind.format)}"
        case "enum":
            text = f"expected one of {', '.join(map(_shown, kind.options))}"
        case "const":
            text = f"expected {_shown(kind.expected_value)}"
        case "minimum":
            text = f"expected at least {kind.limit}"
        case "anyOf" | "oneOf":
            fits = "more than one" if any(not branch for branch in kind.context) else "none"
            text = f"which matches {fits} of the {len(kind.context)} allowed forms"
        case name:  # a keyword that the current schemas do not use
            text = f"which violates the schema's rule {name!r}"
    return text


def _names_another_form(branch: Sequence[ValidationError]) -> bool:
    """Whether a constant such as `type: "binary"` excludes this alternative."""
    return any(error.kind.name in {"const", "enum"} for error in branch)


def _shown(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "an array"
        case str():
            return _quoted(value)
        case int() if abs(value) > 2**64:  # Python does not print numbers with thousands of digits
            return "a number beyond 64 bits"
        case _:
            return json.dumps(value, default=lambda _: "a value")


def _quoted(text: str, longest: int = _LONGEST_VALUE) -> str:
    """Quote and shorten a text. Escapes unprintable characters, which could control a terminal or reorder text."""
    shown = "".join(map(_printable, text[:longest]))
    return f'"{shown}"' if len(text) <= longest else f'"{shown}…"'


def _printable(char: str) -> str:
    return char if char.isprintable() and char not in '"\\' else char.encode("unicode_escape").decode()


def _step(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    shown = describe_key(step)
    return f"[{shown}]" if shown.startswith('"') else f".{shown}"
