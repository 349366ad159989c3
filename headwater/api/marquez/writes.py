"""What Marquez's page lets people change: each change is an event in the log, so it lasts and is replayed."""

from collections.abc import Callable
from typing import Any

from headwater.api.marquez.datasets import columns_json, dataset_json, get_dataset
from headwater.api.marquez.jobs import find_job, get_job, job_json
from headwater.api.marquez.marquez_writing import Json, Write, body_of
from headwater.api.marquez.namespaces import get_namespace
from headwater.api.marquez.requests import Asked, not_found
from headwater.index.writing import announced_changes
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import Tag


def create_tag(asked: Asked) -> Write:
    """PUT /tags/{tag}."""
    tag, text = asked.path["tag"], body_of(asked, dict[str, Any]).get("description")
    description = text if isinstance(text, str) else ""
    event = announced_changes.tag_described(tag, description)
    return Write([event], {"name": tag, "description": description or None})


def tag_dataset(*, holds: bool) -> Callable[[Asked], Write]:
    """Return what answers POST and DELETE /namespaces/{namespace}/datasets/{dataset}/tags/{tag}."""

    def answer(asked: Asked) -> Write:
        name, tag = asked.dataset(whole=True), asked.path["tag"]
        shown = dataset_json(asked, name)
        shown["tags"] = _changed(shown["tags"], tag, holds=holds)
        return Write(_tagging(asked, name, None, tag, holds=holds), shown, get_dataset)

    return answer


def tag_field(*, holds: bool) -> Callable[[Asked], Write]:
    """Return what answers POST and DELETE …/datasets/{dataset}/fields/{field}/tags/{tag}."""

    def answer(asked: Asked) -> Write:
        name, column, tag = asked.dataset(whole=True), asked.path["field"], asked.path["tag"]
        shown = dataset_json(asked, name)
        shown["fields"] = columns_json(asked, name)
        field = next((each for each in shown["fields"] if each["name"].casefold() == column.casefold()), None)
        if field is None:
            raise not_found("Dataset field", column)
        field["tags"] = _changed(field["tags"], tag, holds=holds)
        return Write(_tagging(asked, name, field["name"], tag, holds=holds), shown, get_dataset)

    return answer


def tag_job(*, holds: bool) -> Callable[[Asked], Write]:
    """Return what answers POST and DELETE /namespaces/{namespace}/jobs/{job}/tags/{tag}."""

    def answer(asked: Asked) -> Write:
        row, tag = find_job(asked), asked.path["tag"]
        shown = job_json(asked.catalog, row)
        shown["tags"] = _changed(shown["tags"], tag, holds=holds)
        event = announced_changes.job_tagged(asked.catalog.name(row.shown), tag, holds=holds)
        return Write([event], shown, get_job)

    return answer


def delete_dataset(asked: Asked) -> Write:
    """DELETE /namespaces/{namespace}/datasets/{dataset}: hidden until it is written again."""
    name = asked.dataset(whole=True)
    return Write([announced_changes.dataset_deleted(name)], dataset_json(asked, name))


def delete_job(asked: Asked) -> Write:
    """DELETE /namespaces/{namespace}/jobs/{job}: hidden until it runs again."""
    row = find_job(asked)
    return Write([announced_changes.job_deleted(asked.catalog.name(row.shown))], job_json(asked.catalog, row))


def delete_namespace(asked: Asked) -> Write:
    """DELETE /namespaces/{namespace}: its datasets are dropped, its jobs hidden, until they are heard of again."""
    name = asked.namespace()
    datasets, _ = asked.catalog.lists.datasets(name, -1, 0)
    events = announced_changes.namespace_deleted(name, [Name(name, each) for each in datasets])
    return Write(events, {**get_namespace(asked), "isHidden": True})


def _tagging(asked: Asked, name: Name, column: str | None, tag: str, *, holds: bool) -> list[Json]:
    """Return the events that put a tag on, or take it off: then each producer that says it says the others alone."""
    events = [announced_changes.dataset_tagged(name, column, tag, holds=holds)]
    for facet in () if holds else asked.catalog.tagged_by(asked.names_of(name)):
        left = [
            each
            for each in facet.tags
            if (each.key, (each.column or "").casefold()) != (tag, (column or "").casefold())
        ]
        if len(left) < len(facet.tags) and facet.producer != events[0]["producer"]:
            events.append(announced_changes.tags_said(facet.name, facet.producer, list(map(_sent, left))))
    return events


def _sent(tag: Tag) -> Json:
    told = {"key": tag.key, "value": tag.value, "field": tag.column}
    return {key: text for key, text in told.items() if text is not None}


def _changed(tags: list[str], tag: str, *, holds: bool) -> list[str]:
    return sorted({*tags, tag} if holds else {*tags} - {tag})
