"""Validates an event against the published schemas, without network access: the core, and each facet separately."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

from headwater.events.core_part import FACET_MAPS, Path, core_part, event_kind, facets_of
from headwater.events.problems import Problem, describe_error, describe_key, describe_path, nearest_errors
from headwater.events.spec_index import CORE, facet_schema, published_schema

MOST_PROBLEMS = 100


def validate_event(event: Mapping[str, Any]) -> list[Problem]:
    """Validate a decoded event and all its facets. A valid event has no problem of severity `error`.

    Returns at most MOST_PROBLEMS, followed by a note if there are more. Opens no URL in the event, and never raises.
    """
    found: dict[tuple[str, str], Problem] = {}  # the schema of a facet repeats checks of the core schema
    for problem in _problems(event):
        if len(found) == MOST_PROBLEMS:
            return [*found.values(), Problem("event", None, "has more problems than this list")]
        found.setdefault((problem.path, problem.message), problem)
    return list(found.values())


def _problems(event: Mapping[str, Any]) -> Iterator[Problem]:
    kind = event_kind(event)
    if kind is None:
        yield Problem("event", None, "has no run, job or dataset, expected a RunEvent, JobEvent or DatasetEvent")
        return
    if kind == "JobEvent" and "dataset" in event:
        yield Problem("event", None, "has a job and a dataset, expected one of them", CORE)
    yield from _broken(f"{CORE}#/$defs/{kind}", core_part(event), ())
    for path, facet in facets_of(event):
        yield from _facet_problems(path, facet)


def _facet_problems(path: Path, facet: dict[str, Any]) -> Iterator[Problem]:
    schema = facet_schema(facet.get("_schemaURL"))
    if schema.lookup == "unmapped":
        message = "has a _schemaURL that OpenLineage does not publish: only _producer and _schemaURL were checked"
        yield Problem(describe_path(path), _facet_key(path), message, severity="info")
    if schema.url and not _is_tombstone(path, facet):
        yield from _broken(schema.url, facet, path)


def _is_tombstone(path: Path, facet: dict[str, Any]) -> bool:
    """Whether a job or dataset facet is deleted; then it needs no content."""
    return facet.get("_deleted") is True and path[0] != "run" and "facets" in path[1:-1]


def _broken(url: str, instance: dict[str, Any], path: Path) -> Iterator[Problem]:
    """Validate the value at `path` of the event against a published definition."""
    try:
        for error in _validator(url).iter_errors(instance):
            for nearest in nearest_errors(error):
                steps = (*path, *nearest.instance_path)
                yield Problem(describe_path(steps), _facet_key(steps), describe_error(nearest), url)
    except ValueError as error:
        yield Problem(describe_path(path), _facet_key(path), _uncheckable(error), url)


def _uncheckable(error: ValueError) -> str:
    """Explain why the validator cannot process a value."""
    if isinstance(error, UnicodeEncodeError):
        return "could not be checked: a text in it contains a lone surrogate, which is not valid Unicode"
    return "could not be checked: it has more than 250 levels, or values that JSON does not have"


def _facet_key(path: Path) -> str | None:
    keys = [path[at + 1] for at, step in enumerate(path[:-1]) if step in FACET_MAPS]
    return describe_key(str(keys[0])) if keys else None


@cache
def _validator(url: str) -> Draft202012Validator:
    """Compile the validator of a definition on first use. The number of definitions limits the cache."""
    return Draft202012Validator({"$ref": url}, retriever=published_schema, validate_formats=True)
