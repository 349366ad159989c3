"""What Marquez's page lets people change: each change is an event in the log, so it lasts and is replayed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from headwater.api.marquez.datasets import columns_json, dataset_json
from headwater.api.marquez.jobs import find_job, job_json
from headwater.api.marquez.requests import Answer, Asked, Refused, not_found
from headwater.index.writing import announced_changes

Json = dict[str, Any]


class Write(NamedTuple):
    """An event to append, and the answer once it is durable; the index has it about a second later."""

    event: Json
    answer: Answer


def create_tag(asked: Asked) -> Write:
    """PUT /tags/{tag}."""
    tag = asked.path["tag"]
    try:
        said = msgspec.json.decode(asked.body or b"{}", type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Refused(400, {"code": 400, "message": "Unable to process JSON"}) from error
    text = said.get("description")
    description = text if isinstance(text, str) else ""
    return Write(announced_changes.tag_described(tag, description), {"name": tag, "description": description or None})


def tag_dataset(*, holds: bool) -> Callable[[Asked], Write]:
    """Return what answers POST and DELETE /namespaces/{namespace}/datasets/{dataset}/tags/{tag}."""

    def answer(asked: Asked) -> Write:
        name, tag = asked.dataset(), asked.path["tag"]
        shown = dataset_json(asked, name)
        shown["tags"] = _changed(shown["tags"], tag, holds=holds)
        return Write(announced_changes.dataset_tagged(name, None, tag, holds=holds), shown)

    return answer


def tag_field(*, holds: bool) -> Callable[[Asked], Write]:
    """Return what answers POST and DELETE …/datasets/{dataset}/fields/{field}/tags/{tag}."""

    def answer(asked: Asked) -> Write:
        name, column, tag = asked.dataset(), asked.path["field"], asked.path["tag"]
        shown = dataset_json(asked, name)
        shown["fields"] = columns_json(asked, name)
        field = next((each for each in shown["fields"] if each["name"].casefold() == column.casefold()), None)
        if field is None:
            raise not_found("Dataset field", column)
        field["tags"] = _changed(field["tags"], tag, holds=holds)
        return Write(announced_changes.dataset_tagged(name, field["name"], tag, holds=holds), shown)

    return answer


def tag_job(*, holds: bool) -> Callable[[Asked], Write]:
    """Return what answers POST and DELETE /namespaces/{namespace}/jobs/{job}/tags/{tag}."""

    def answer(asked: Asked) -> Write:
        row, tag = find_job(asked), asked.path["tag"]
        shown = job_json(asked.catalog, row)
        shown["tags"] = _changed(shown["tags"], tag, holds=holds)
        return Write(announced_changes.job_tagged(asked.catalog.name(row.shown), tag, holds=holds), shown)

    return answer


def delete_dataset(asked: Asked) -> Write:
    """DELETE /namespaces/{namespace}/datasets/{dataset}: hidden until it is written again."""
    name = asked.dataset()
    return Write(announced_changes.dataset_deleted(name), dataset_json(asked, name))


def delete_job(asked: Asked) -> Write:
    """DELETE /namespaces/{namespace}/jobs/{job}: hidden until it runs again."""
    row = find_job(asked)
    return Write(announced_changes.job_deleted(asked.catalog.name(row.shown)), job_json(asked.catalog, row))


def _changed(tags: list[str], tag: str, *, holds: bool) -> list[str]:
    return sorted({*tags, tag} if holds else {*tags} - {tag})
