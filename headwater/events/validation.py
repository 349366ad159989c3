"""Validate an event against the published schemas, without network access: the core, and each facet separately.

Each problem has the path of the invalid value, and states what is wrong and what was expected.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from jsonschema_rs import Draft202012Validator, ValidationError

from headwater.events.core_part import FACET_MAPS, Path, PathStep, core_part, event_kind, facets_with_paths
from headwater.events.spec_index import CORE, facet_schema, published_schema

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

    path: path of the invalid value, such as `outputs[0].facets.schema.fields[2].name`, or `event` for the event as a
    whole.
    facet: key of the facet with the problem, or None.
    message: what is wrong and what was expected.
    schema: URL of the published definition, or None.
    severity: an `info` does not make the event invalid.
    """

    path: str
    facet: str | None
    message: str
    schema: str | None = None
    severity: Severity = "error"


def describe_path(steps: Sequence[PathStep]) -> str:
    """Format a path, such as `run.facets["spark.logicalPlan"].plan[0]`."""
    text = "".join(_step_text(step) for step in steps).removeprefix(".") or "event"
    return text if len(text) <= _LONGEST_PATH else f"{text[: _LONGEST_PATH - 1]}…"


def describe_key(key: str) -> str:
    """Format a facet's key; quote and shorten it if it is not an identifier."""
    plain = len(key) <= _LONGEST_KEY and key.isascii() and key.isidentifier()
    return key if plain else _quoted(key, _LONGEST_KEY)


def nearest_errors(error: ValidationError) -> Iterator[ValidationError]:
    """Replace an `anyOf` or `oneOf` error by the errors of the nearest alternative.

    Yields the error itself if it is of another kind, or if no alternative is clearly nearest.
    """
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
    """Describe what is wrong and what was expected. The text quotes at most a few words of the event."""
    text = _problem_text(error.kind, error)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"


def _problem_text(kind: Any, error: ValidationError) -> str:
    match kind.name:
        case "required":
            return f"{_quoted(kind.property)} is required, but missing"
        case "additionalProperties":
            return f"has {', '.join(map(_quoted, kind.unexpected[:3]))}, which this schema does not allow"
        case _:
            return f"is {_value_text(error.instance)}, {_expectation(kind)}"


def _expectation(kind: Any) -> str:
    match kind.name:
        case "type":
            text = f"expected {' or '.join(kind.types)}"
        case "format":
            text = f"expected {_EXPECTED.get(kind.format, kind.format)}"
        case "enum":
            text = f"expected one of {', '.join(map(_value_text, kind.options))}"
        case "const":
            text = f"expected {_value_text(kind.expected_value)}"
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


def _value_text(value: object) -> str:
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
    shown = "".join(map(_escape_if_unprintable, text[:longest]))
    return f'"{shown}"' if len(text) <= longest else f'"{shown}…"'


def _escape_if_unprintable(char: str) -> str:
    return char if char.isprintable() and char not in '"\\' else char.encode("unicode_escape").decode()


def _step_text(step: PathStep) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    shown = describe_key(step)
    return f"[{shown}]" if shown.startswith('"') else f".{shown}"


MOST_PROBLEMS = 100


def validate_event(event: Mapping[str, Any]) -> list[Problem]:
    """Validate a decoded event and all its facets. A valid event has no problem of severity `error`.

    Returns at most MOST_PROBLEMS, followed by a note if there are more. Opens no URL in the event, and never raises.
    """
    found: dict[tuple[str, str], Problem] = {}  # the schema of a facet repeats checks of the core schema
    for problem in _event_problems(event):
        if len(found) == MOST_PROBLEMS:
            return [*found.values(), Problem("event", None, "has more problems than this list")]
        found.setdefault((problem.path, problem.message), problem)
    return list(found.values())


def _event_problems(event: Mapping[str, Any]) -> Iterator[Problem]:
    kind = event_kind(event)
    if kind is None:
        yield Problem("event", None, "has no run, job or dataset, expected a RunEvent, JobEvent or DatasetEvent")
        return
    if kind == "JobEvent" and "dataset" in event:
        yield Problem("event", None, "has a job and a dataset, expected one of them", CORE)
    yield from _schema_problems(f"{CORE}#/$defs/{kind}", core_part(event), ())
    for path, facet in facets_with_paths(event):
        yield from _facet_problems(path, facet)


def _facet_problems(path: Path, facet: dict[str, Any]) -> Iterator[Problem]:
    schema = facet_schema(facet.get("_schemaURL"))
    if schema.lookup == "unmapped":
        message = "has a _schemaURL that OpenLineage does not publish: only _producer and _schemaURL were checked"
        yield Problem(describe_path(path), _facet_key(path), message, severity="info")
    if schema.url and not _is_tombstone(path, facet):
        yield from _schema_problems(schema.url, facet, path)


def _is_tombstone(path: Path, facet: dict[str, Any]) -> bool:
    """Whether a job or dataset facet has `_deleted: true`. Deleted facets need no content."""
    return facet.get("_deleted") is True and path[0] != "run" and "facets" in path[1:-1]


def _schema_problems(url: str, instance: dict[str, Any], path: Path) -> Iterator[Problem]:
    """Yield the problems of a value.

    url: the published definition that the value must match. instance: the value; path: its path in the event.
    """
    try:
        for error in _validator(url).iter_errors(instance):
            for nearest in nearest_errors(error):
                steps = (*path, *nearest.instance_path)
                yield Problem(describe_path(steps), _facet_key(steps), describe_error(nearest), url)
    except ValueError as error:
        yield Problem(describe_path(path), _facet_key(path), _uncheckable_message(error), url)


def _uncheckable_message(error: ValueError) -> str:
    """Explain why the validator cannot process a value."""
    if isinstance(error, UnicodeEncodeError):
        return "could not be checked: a text in it contains a lone surrogate, which is not valid Unicode"
    return "could not be checked: it has more than 250 levels, or values that JSON does not have"


def _facet_key(path: Path) -> str | None:
    keys = [path[at + 1] for at, step in enumerate(path[:-1]) if step in FACET_MAPS]
    return describe_key(str(keys[0])) if keys else None


@cache
def _validator(url: str) -> Draft202012Validator:
    """Compile the validator of a definition on first use. The cache is as small as the number of definitions."""
    return Draft202012Validator({"$ref": url}, retriever=published_schema, validate_formats=True)
