"""Add SQL to generated runs: one INSERT each, in a form that `sql_reading.py` can read with a few patterns."""

from collections.abc import Sequence

from tests.reference.draws import Draw
from tests.reference.records import facets_of
from tests.reference.schemas import schema_paths
from tests.reference.world_events import Json, facet
from tests.reference.world_lineage import COLUMNS


def add_sql(draw: Draw, events: Sequence[Json]) -> None:
    """Add an `sql` facet to some events of some runs. This draws last, so that the other events do not change."""
    runs: dict[str, list[Json]] = {}
    for event in events:
        if "run" in event and all(event is not other for other in runs.get(event["run"]["runId"].lower(), ())):
            runs.setdefault(event["run"]["runId"].lower(), []).append(event)
    for own in runs.values():
        if draw.chance(60):
            told = _facet(draw, own)
            for event in own:
                if draw.chance(70):
                    facets = {**facets_of(event["job"]), "sql": facet(_deleted=True) if draw.chance(5) else told}
                    event["job"] = {**event["job"], "facets": facets}


def _facet(draw: Draw, events: Sequence[Json]) -> Json:
    targets = [each for event in events for each in event.get("outputs") or []]
    inputs = [each for event in events for each in event.get("inputs") or []]
    if draw.chance(5) or not targets:
        return facet(query="SELEC T FRO M")
    sources = [_table(draw.choice(inputs or targets)) for _ in range(draw.number(1, 2))]
    known = [column for each in inputs for column in _told_columns(each)]
    if draw.chance(25):  # a view over the inputs, which is recognizable only by its columns
        sources = ["t99", *sources] if draw.chance(30) else ["t99"]
    columns = [draw.choice(COLUMNS) for _ in range(draw.number(1, 3))]
    listed = ", ".join(f"`{column}`" for column in dict.fromkeys(columns))
    read = known if known and "t99" in sources else COLUMNS
    values = ", ".join(_value(draw, len(sources), read) for _ in dict.fromkeys(columns))
    tables = ", ".join(f"{table} AS s{place}" for place, table in enumerate(sources))
    where = f" WHERE s0.`{draw.choice(COLUMNS)}` = 1" if draw.chance(40) else ""
    into = f"{_table(draw.choice(targets))} ({listed})" if draw.chance(75) else _table(draw.choice(targets))
    query = f"INSERT INTO {into} SELECT {values} FROM {tables}{where}"
    return facet(query=query, dialect="spark")


def _told_columns(named: Json) -> list[str]:
    """Return the columns in a mention's schema."""
    fields = (facets_of(named).get("schema") or {}).get("fields") or []
    return [".".join(path) for path in schema_paths(fields)]


def _table(named: Json) -> str:
    return str(named["name"].rpartition("/")[2].rpartition(".")[2])


def _value(draw: Draw, sources: int, columns: Sequence[str]) -> str:
    column = f"s{draw.number(0, sources - 1)}.`{draw.choice(columns)}`"
    return draw.choice((column, column, f"md5({column})", "1"))
