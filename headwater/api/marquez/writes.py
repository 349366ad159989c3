"""Changes of tags, and deletions, from Marquez's page. Each becomes an event, so it survives a rebuild of the index."""

from collections.abc import Callable
from typing import Any

from headwater.api.marquez.changes import Change, Json, body_of
from headwater.api.marquez.datasets import columns_json, dataset_json, get_dataset
from headwater.api.marquez.jobs import find_job, get_job, job_json
from headwater.api.marquez.namespaces import get_namespace
from headwater.api.marquez.requests import RequestContext, not_found
from headwater.index import api_changes
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import Tag


def create_tag(context: RequestContext) -> Change:
    """PUT /tags/{tag}."""
    tag, text = context.path["tag"], body_of(context, dict[str, Any]).get("description")
    description = text if isinstance(text, str) else ""
    event = api_changes.tag_event(tag, description)
    return Change([event], {"name": tag, "description": description or None})


def tag_dataset(*, holds: bool) -> Callable[[RequestContext], Change]:
    """Return the handler of POST or DELETE /namespaces/{namespace}/datasets/{dataset}/tags/{tag}."""

    def answer(context: RequestContext) -> Change:
        name, tag = context.dataset(whole=True), context.path["tag"]
        shown = dataset_json(context, name)
        shown["tags"] = _with_tag(shown["tags"], tag, holds=holds)
        return Change(_tagging(context, name, None, tag, holds=holds), shown, get_dataset)

    return answer


def tag_field(*, holds: bool) -> Callable[[RequestContext], Change]:
    """Return the handler of POST or DELETE …/datasets/{dataset}/fields/{field}/tags/{tag}."""

    def answer(context: RequestContext) -> Change:
        name, column, tag = context.dataset(whole=True), context.path["field"], context.path["tag"]
        shown = dataset_json(context, name)
        shown["fields"] = columns_json(context, name)
        field = next((each for each in shown["fields"] if each["name"].casefold() == column.casefold()), None)
        if field is None:
            raise not_found("Dataset field", column)
        field["tags"] = _with_tag(field["tags"], tag, holds=holds)
        return Change(_tagging(context, name, field["name"], tag, holds=holds), shown, get_dataset)

    return answer


def tag_job(*, holds: bool) -> Callable[[RequestContext], Change]:
    """Return the handler of POST or DELETE /namespaces/{namespace}/jobs/{job}/tags/{tag}."""

    def answer(context: RequestContext) -> Change:
        row, tag = find_job(context), context.path["tag"]
        shown = job_json(context.catalog, row)
        shown["tags"] = _with_tag(shown["tags"], tag, holds=holds)
        event = api_changes.job_tag_event(context.catalog.name(row.shown), tag, holds=holds)
        return Change([event], shown, get_job)

    return answer


def delete_dataset(context: RequestContext) -> Change:
    """DELETE /namespaces/{namespace}/datasets/{dataset}: hide it until it is written again."""
    name = context.dataset(whole=True)
    return Change([api_changes.dataset_deletion(name)], dataset_json(context, name))


def delete_job(context: RequestContext) -> Change:
    """DELETE /namespaces/{namespace}/jobs/{job}: hide it until it runs again."""
    row = find_job(context)
    return Change([api_changes.job_deletion(context.catalog.name(row.shown))], job_json(context.catalog, row))


def delete_namespace(context: RequestContext) -> Change:
    """DELETE /namespaces/{namespace}: drop its datasets and hide its jobs until new events name them."""
    name = context.namespace()
    datasets, _ = context.catalog.lists.datasets(name, -1, 0)
    events = api_changes.namespace_deletions(name, [Name(name, each) for each in datasets])
    return Change(events, {**get_namespace(context), "isHidden": True})


def _tagging(context: RequestContext, name: Name, column: str | None, tag: str, *, holds: bool) -> list[Json]:
    """Return the events that set or remove a tag.

    To remove a tag, each producer that set it gets an event with its other tags only.
    """
    events = [api_changes.dataset_tag_event(name, column, tag, holds=holds)]
    for facet in () if holds else context.catalog.tagged_by(context.names_of(name)):
        left = [
            each
            for each in facet.tags
            if (each.key, (each.column or "").casefold()) != (tag, (column or "").casefold())
        ]
        if len(left) < len(facet.tags) and facet.producer != events[0]["producer"]:
            events.append(api_changes.tags_event(facet.name, facet.producer, list(map(_sent, left))))
    return events


def _sent(tag: Tag) -> Json:
    members = {"key": tag.key, "value": tag.value, "field": tag.column}
    return {key: text for key, text in members.items() if text is not None}


def _with_tag(tags: list[str], tag: str, *, holds: bool) -> list[str]:
    return sorted({*tags, tag} if holds else {*tags} - {tag})
