"""Load statements with recorded SQL and observed column lineage, as a reference for inference.

A hash of the statement assigns it to one of two halves. The half in `HELD_OUT` was set aside before work on inference
began. Developers do not look at it or tune on it; the benchmark only reports its rates.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.paths import EVENTS, FIXTURES

RECORDED = FIXTURES / "sql"
HELD_OUT = Path(__file__).with_name("held_out.txt")


class Statement(NamedTuple):
    """An event with SQL and column lineage.

    key: a hash of the SQL, independent of the amount of whitespace. others: events of other runs in the same recording,
    without column lineage; they contain schemas.
    """

    key: str
    event: dict[str, Any]
    others: Sequence[dict[str, Any]]

    @property
    def held_out(self) -> bool:
        """Whether the statement belongs to the half that is set aside."""
        return is_held_out(self.key)


def statements() -> list[Statement]:
    """Return every recorded statement once, with its newest event that has column lineage."""
    found = {each.key: each for each in _recorded()}
    return [found[key] for key in sorted(found)]


def statement_key(sql: str) -> str:
    """Return a hash that identifies a statement."""
    return hashlib.sha256(" ".join(sql.split()).encode()).hexdigest()[:32]


def is_held_out(key: str) -> bool:
    """Return whether the statement with this key is set aside."""
    return int(key[:2], 16) % 2 == 1


def _recorded() -> Iterator[Statement]:
    for path in sorted((*EVENTS.glob("*.ndjson"), *RECORDED.glob("*.ndjson"))):
        events = [_event(line) for line in path.read_text(errors="replace").splitlines()]
        silent = [(_run(event), without_column_lineage(event)) for event in events if _run(event)]
        for event in events:
            sql = _facets(event.get("job")).get("sql") or {}
            if sql.get("query") and any(_facets(each).get("columnLineage") for each in event.get("outputs") or []):
                others = [other for run, other in silent if run != _run(event)]
                yield Statement(statement_key(sql["query"]), event, others)


def without_column_lineage(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event without its column lineage; it keeps schemas and SQL."""
    hidden: dict[str, Any] = json.loads(json.dumps(event))
    for output in hidden.get("outputs") or []:
        _facets(output).pop("columnLineage", None)
    return hidden


def _run(event: dict[str, Any]) -> str:
    run = event.get("run")
    return str(run.get("runId") or "") if isinstance(run, dict) and "eventTime" in event else ""


def _event(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:  # some recordings contain invalid lines on purpose
        return {}
    return found if isinstance(found, dict) else {}


def _facets(entity: Any) -> dict[str, Any]:
    found = entity.get("facets") if isinstance(entity, dict) else None
    return found if isinstance(found, dict) else {}
