"""Facets as sent, custom ones like any other: the newest of each run, job or dataset, straight from bronze."""

from collections.abc import Iterator
from typing import Any

from headwater.errors import WrongQuestion
from headwater.events.decode import decode
from headwater.events.facet_sets import text_at
from headwater.lake.bronze import Bronze

LOOKED_AT = 5_000
"""Newest events that hold a facet of the name asked for; an answer that met this limit says `truncated`."""

_WHERE = {"run": ("run",), "job": ("job",), "dataset": ("inputs", "outputs", "dataset")}


def facets(bronze: Bronze, *, entity: str | None, name: str | None, limit: int) -> dict[str, Any]:
    """Answer the newest value of a facet for each entity, newest first.

    entity: run, job or dataset; name: of the facet, such as `ownership`.
    """
    if entity not in _WHERE:
        raise WrongQuestion(f"entity={(entity or '')[:40]!r} is not known. Write run, job or dataset.")
    if not name:
        raise WrongQuestion("name= is missing. Name a facet, such as name=ownership.")
    if not bronze.exists():
        return {"items": [], "totalCount": 0, "truncated": False}
    pattern = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("'", "''")
    rows = bronze.events.query(
        f"SELECT event_time, body FROM t WHERE body LIKE '%\"{pattern}\"%' "
        f"ORDER BY received_at DESC, sequence DESC LIMIT {LOOKED_AT}"
    ).to_pylist()
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        for key, shown, value in _of_event(decode(row["body"].encode()), entity, name):
            found.setdefault(key, {**shown, "eventTime": row["event_time"], "facet": value})
    items = list(found.values())
    return {
        "items": items[:limit],
        "totalCount": len(items),
        "truncated": len(items) > limit or len(rows) == LOOKED_AT,
    }


def _of_event(event: Any, entity: str, name: str) -> Iterator[tuple[tuple[str, ...], dict[str, Any], Any]]:
    for place in _WHERE[entity]:
        value = event.get(place)
        for each in value if isinstance(value, list) else [value]:
            known = each.get("facets") if isinstance(each, dict) else None
            if isinstance(known, dict) and known.get(name) is not None:
                parts = ("runId",) if entity == "run" else ("namespace", "name")
                key = tuple(text_at(each, part) or "" for part in parts)
                yield key, dict(zip(parts, key, strict=True)), known[name]


def sql_of_run(bronze: Bronze, run_id: str) -> str | None:
    """Return the SQL text that a run reported; None where it reported none."""
    if not bronze.exists():
        return None
    quoted = run_id.lower().replace("'", "''")
    rows = bronze.events.query(
        f"SELECT body FROM t WHERE lower(run_id) = '{quoted}' AND body LIKE '%\"sql\"%' "
        "ORDER BY event_time DESC LIMIT 1"
    ).to_pylist()
    return text_at(decode(rows[0]["body"].encode()), "job", "facets", "sql", "query") if rows else None
