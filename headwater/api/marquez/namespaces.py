"""Namespaces, data sources and tags."""

from collections.abc import Mapping
from typing import Any

from headwater.api.marquez.requests import Answer, RequestContext, not_found_error
from headwater.api.marquez.texts import uri_text
from headwater.common.errors import InvalidEvent
from headwater.events.decode import decode
from headwater.events.times import iso_time
from headwater.index.api_changes import NAMESPACE
from headwater.index.reading.catalog import Catalog, NamespaceRow
from headwater.index.stored.database import DELETED_NAMESPACE
from headwater.lineage.names.dataset_name import Name

_PREDEFINED_TAGS = {"PII": "Personally identifiable information", "SENSITIVE": "Contains sensitive information"}
_KINDS = {"postgres": "POSTGRESQL", "abfss": "ABFS", "s3": "S3", "gs": "GCS"}


def _namespace_json(catalog: Catalog, row: NamespaceRow) -> Answer:
    name, _, first_us, last_us = row
    marks = catalog.api_changes(Name(name, ""))
    declared, deleted = _declared_members(marks, "namespace"), marks.get(("deleted", DELETED_NAMESPACE))
    return {
        "name": name,
        "createdAt": iso_time(first_us or 0),
        "updatedAt": iso_time(last_us or 0),
        "ownerName": declared.get("ownerName") or "anonymous",
        "description": declared.get("description"),
        "isHidden": name == NAMESPACE or (deleted is not None and deleted[0] >= (last_us or 0)),
    }


def _declared_members(marks: Mapping[tuple[str, str], tuple[int, str]], operation: str) -> dict[str, Any]:
    """Return the members of a namespace or source that a user declared, such as its description.

    marks: the declarations of the namespace or source.
    """
    _, value = marks.get((operation, ""), (0, "{}"))
    try:
        found: dict[str, Any] = decode(value.encode())
    except InvalidEvent:  # redaction replaces the value if the name looks like the name of a secret
        return {}
    return found


def list_namespaces(context: RequestContext) -> Answer:
    """GET /namespaces: namespaces of jobs and datasets, and `default`."""
    page = context.list_range()
    rows, total = context.catalog.lists.namespaces(page.limit, page.offset)
    return page.list_answer("namespaces", [_namespace_json(context.catalog, row) for row in rows], total)


def get_namespace(context: RequestContext) -> Answer:
    """GET /namespaces/{namespace}."""
    name = context.namespace()
    return _namespace_json(context.catalog, context.catalog.lists.namespace(name) or (name, "", None, None))


def _source_json(catalog: Catalog, row: NamespaceRow) -> Answer:
    name, uri, first_us, last_us = row
    declared = _declared_members(catalog.api_changes(Name("", name)), "source")
    uri = uri or name
    scheme = (uri if "://" in uri else name).partition(":")[0]
    return {
        "type": declared.get("type") or _KINDS.get(scheme, scheme.upper()),
        "name": name,
        "createdAt": iso_time(first_us),
        "updatedAt": iso_time(last_us),
        "connectionUrl": uri_text(uri),
        "description": declared.get("description"),
    }


def list_sources(context: RequestContext) -> Answer:
    """GET /sources."""
    page = context.list_range()
    rows, total = context.catalog.lists.sources(page.limit, page.offset)
    return page.list_answer("sources", [_source_json(context.catalog, row) for row in rows], total)


def get_source(context: RequestContext) -> Answer:
    """GET /sources/{source}."""
    name = context.path["source"]
    row = context.catalog.lists.source(name)
    if row is None:
        raise not_found_error("Source", name)
    return _source_json(context.catalog, row)


def list_tags(context: RequestContext) -> Answer:
    """GET /tags: PII and SENSITIVE, tags in use, and tags created by hand."""
    page, (used, described) = context.list_range(), context.catalog.lists.tags()
    found: dict[str, str | None] = {**dict.fromkeys(used), **_PREDEFINED_TAGS, **described}
    listed = [{"name": name, "description": text or None} for name, text in sorted(found.items())]
    return page.list_answer("tags", listed[page.offset : page.offset + page.limit], len(listed))
