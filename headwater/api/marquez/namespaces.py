"""Namespaces, data sources and tags."""

from collections.abc import Mapping
from typing import Any

from headwater.api.marquez.java_texts import uri_text
from headwater.api.marquez.requests import Answer, Asked, not_found
from headwater.errors import InvalidEvent
from headwater.events.decode import decode
from headwater.events.times import iso
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.catalog_lists import HeardOf
from headwater.index.stored.catalog_tables import DELETED_NAMESPACE
from headwater.index.writing.announced_changes import NAMESPACE
from headwater.lineage.names.dataset_name import Name

_FROM_THE_START = {"PII": "Personally identifiable information", "SENSITIVE": "Contains sensitive information"}
_KINDS = {"postgres": "POSTGRESQL", "abfss": "ABFS", "s3": "S3", "gs": "GCS"}


def _namespace_json(catalog: Catalog, row: HeardOf) -> Answer:
    name, _, first_us, last_us = row
    marks = catalog.marks(Name(name, ""))
    said, deleted = _declared(marks, "namespace"), marks.get(("deleted", DELETED_NAMESPACE))
    return {
        "name": name,
        "createdAt": iso(first_us or 0),
        "updatedAt": iso(last_us or 0),
        "ownerName": said.get("ownerName") or "anonymous",
        "description": said.get("description"),
        "isHidden": name == NAMESPACE or (deleted is not None and deleted[0] >= (last_us or 0)),
    }


def _declared(marks: Mapping[tuple[str, str], tuple[int, str]], mark: str) -> dict[str, Any]:
    """Return what was declared of a namespace or source by hand."""
    _, value = marks.get((mark, ""), (0, "{}"))
    try:
        found: dict[str, Any] = decode(value.encode())
    except InvalidEvent:  # redaction replaces the value of a thing that is called like a secret
        return {}
    return found


def list_namespaces(asked: Asked) -> Answer:
    """GET /namespaces: those of jobs and datasets, and `default`."""
    page = asked.page()
    rows, total = asked.catalog.lists.namespaces(page.limit, page.offset)
    return page.listed("namespaces", [_namespace_json(asked.catalog, row) for row in rows], total)


def get_namespace(asked: Asked) -> Answer:
    """GET /namespaces/{namespace}."""
    name = asked.namespace()
    return _namespace_json(asked.catalog, asked.catalog.lists.namespace(name) or (name, "", None, None))


def _source_json(catalog: Catalog, row: HeardOf) -> Answer:
    name, uri, first_us, last_us = row
    said = _declared(catalog.marks(Name("", name)), "source")
    uri = uri or name
    scheme = (uri if "://" in uri else name).partition(":")[0]
    return {
        "type": said.get("type") or _KINDS.get(scheme, scheme.upper()),
        "name": name,
        "createdAt": iso(first_us),
        "updatedAt": iso(last_us),
        "connectionUrl": uri_text(uri),
        "description": said.get("description"),
    }


def list_sources(asked: Asked) -> Answer:
    """GET /sources."""
    page = asked.page()
    rows, total = asked.catalog.lists.sources(page.limit, page.offset)
    return page.listed("sources", [_source_json(asked.catalog, row) for row in rows], total)


def get_source(asked: Asked) -> Answer:
    """GET /sources/{source}."""
    name = asked.path["source"]
    row = asked.catalog.lists.source(name)
    if row is None:
        raise not_found("Source", name)
    return _source_json(asked.catalog, row)


def list_tags(asked: Asked) -> Answer:
    """GET /tags: PII and SENSITIVE, those in use, and those that were made by hand."""
    page, (used, described) = asked.page(), asked.catalog.lists.tags()
    found: dict[str, str | None] = {**dict.fromkeys(used), **_FROM_THE_START, **described}
    listed = [{"name": name, "description": text or None} for name, text in sorted(found.items())]
    return page.listed("tags", listed[page.offset : page.offset + page.limit], len(listed))
