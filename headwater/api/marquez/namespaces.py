"""Namespaces, data sources and tags."""

from headwater.api.marquez.requests import Answer, Asked, not_found
from headwater.events.times import iso
from headwater.index.writing.announced_changes import NAMESPACE

_FROM_THE_START = {"PII": "Personally identifiable information", "SENSITIVE": "Contains sensitive information"}
_KINDS = {"postgres": "POSTGRESQL", "abfss": "ABFS", "s3": "S3", "gs": "GCS"}


def _namespace_json(name: str, first_us: int | None, last_us: int | None) -> Answer:
    return {
        "name": name,
        "createdAt": iso(first_us if first_us is not None else 0),
        "updatedAt": iso(last_us if last_us is not None else 0),
        "ownerName": "anonymous",
        "description": None,
        "isHidden": name == NAMESPACE,
    }


def list_namespaces(asked: Asked) -> Answer:
    """GET /namespaces: those of jobs and datasets, and `default`."""
    page = asked.page()
    rows = asked.catalog.sql.execute(
        "SELECT name, first_us, last_us FROM namespaces "
        "UNION ALL SELECT 'default', NULL, NULL WHERE NOT EXISTS (SELECT 1 FROM namespaces WHERE name = 'default') "
        "ORDER BY name LIMIT ? OFFSET ?",
        (page.limit, page.offset),
    ).fetchall()
    total = asked.catalog.sql.execute(
        "SELECT count(*) FROM (SELECT name FROM namespaces UNION SELECT 'default')"
    ).fetchone()[0]
    return page.listed("namespaces", [_namespace_json(*row) for row in rows], total)


def get_namespace(asked: Asked) -> Answer:
    """GET /namespaces/{namespace}."""
    name = asked.namespace()
    row = asked.catalog.sql.execute("SELECT first_us, last_us FROM namespaces WHERE name = ?", (name,)).fetchone()
    return _namespace_json(name, *(row or (None, None)))


def _source_json(name: str, uri: str, first_us: int, last_us: int) -> Answer:
    scheme = (uri if "://" in uri else name).partition(":")[0]
    return {
        "type": _KINDS.get(scheme, scheme.upper()),
        "name": name,
        "createdAt": iso(first_us),
        "updatedAt": iso(last_us),
        "connectionUrl": uri,
        "description": None,
    }


SOURCES = (
    "SELECT name, uri, first_us, last_us FROM data_sources UNION ALL "
    "SELECT n.namespace AS name, n.namespace AS uri, min(e.first_us) AS first_us, max(e.last_us) AS last_us "
    "FROM entities e JOIN names n ON n.id = e.name WHERE e.kind = 0 "
    "AND NOT EXISTS (SELECT 1 FROM data_sources s WHERE s.name = n.namespace) GROUP BY n.namespace"
)
"""What dataSource facets name, and for datasets without one their namespace."""


def list_sources(asked: Asked) -> Answer:
    """GET /sources."""
    page, sql = asked.page(), asked.catalog.sql
    rows = sql.execute(f"{SOURCES} ORDER BY 1 LIMIT ? OFFSET ?", (page.limit, page.offset)).fetchall()
    total = sql.execute(f"SELECT count(*) FROM ({SOURCES})").fetchone()[0]
    return page.listed("sources", [_source_json(*row) for row in rows], total)


def get_source(asked: Asked) -> Answer:
    """GET /sources/{source}."""
    name = asked.path["source"]
    row = asked.catalog.sql.execute(f"SELECT * FROM ({SOURCES}) WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise not_found("Source", name)
    return _source_json(*row)


def list_tags(asked: Asked) -> Answer:
    """GET /tags: PII and SENSITIVE, those in use, and those that were made by hand."""
    page, sql = asked.page(), asked.catalog.sql
    found: dict[str, str | None] = {name: None for (name,) in sql.execute("SELECT name FROM tag_names")}
    rows = sql.execute("SELECT detail FROM changes WHERE mark = 'tag' AND value = 'true'")
    found.update((name, None) for (name,) in rows)
    found.update(_FROM_THE_START)
    described = (
        "SELECT n.name, c.value FROM changes c JOIN names n ON n.id = c.name "
        "WHERE c.mark = 'described' AND n.namespace = ''"
    )
    found.update(sql.execute(described))
    listed = [{"name": name, "description": text or None} for name, text in sorted(found.items())]
    return page.listed("tags", listed[page.offset : page.offset + page.limit], len(listed))
