"""The columns that bronze stores for a body contain everything that the rules read from it."""

import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headwater.common.errors import InvalidEvent
from headwater.events.body_reader import BodyReader
from headwater.events.event import EventShape
from headwater.events.stored_cells import SENT, sent_from_cells, shape_from_cells
from headwater.index.api_changes import dataset_tag_event, job_tag_event
from headwater.index.stored.database import open_for_reading
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import stored_bodies, stored_events
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.edges.facet_contents import (
    FacetContents,
    FacetContentsInMemory,
    parse_sql_facet,
    read_sent_edges,
    schema_paths,
)
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.runs.run_facts import RunFacts
from headwater.tables import COLUMN_LINEAGE, SCHEMAS, SHAPES, VALUES, Table
from tests.reference.world_events import at, dataset, facet, run_event
from tests.reference.worlds import random_world
from tests.support.cleanup import until_end
from tests.support.data import hostile_names
from tests.support.data.parsing import World
from tests.support.paths import EVENTS

CANONICAL = default_rules().canonical
ODD: list[Any] = [None, 1, "x", "", [], {}, [1], True, 1e5, {"_deleted": True}, {"tags": [{"key": ""}, 7]}]


def samples() -> Iterator[bytes]:
    for path in sorted(EVENTS.glob("*.ndjson")):
        yield from (line for line in path.read_bytes().splitlines() if line.strip())


def worlds() -> Iterator[bytes]:
    yield from (json.dumps(each.event).encode() for seed in range(25) for each in random_world(seed))


def spoiled() -> Iterator[bytes]:
    """Yield sample events in which one value in fifty is replaced."""
    chance = Random(11)
    for text in samples():
        try:
            yield json.dumps(_spoil(json.loads(text), chance)).encode()
        except ValueError:
            continue


def _spoil(value: Any, chance: Random) -> Any:
    if isinstance(value, dict):
        return {k: chance.choice(ODD) if chance.random() < 0.02 else _spoil(v, chance) for k, v in value.items()}
    return [_spoil(item, chance) for item in value] if isinstance(value, list) else value


def made() -> Iterator[bytes]:
    """Yield events with details that columns could lose: versions, deleted and empty facets, tags, old names,
    non-datasets.
    """
    facets: list[dict[str, Any]] = [
        {"version": facet(datasetVersion="7")},
        {"version": facet(datasetVersion=7)},
        {"version": None, "tags": None, "schema": None},
        {"version": facet(_deleted=True)},
        {"tags": facet(tags=[])},
        {"tags": facet(_deleted=True)},
        {"tags": facet(tags=[{"key": "pii"}, {"key": "pii", "field": "a", "value": "no"}, {"value": "keyless"}])},
        {"schema": facet(_deleted=True, fields=[{"name": "a"}]), "columnLineage": facet(_deleted=True)},
        {"schema": facet(), "columnLineage": facet(), "lineage": facet(inputs=[])},
        {
            "lifecycleStateChange": facet(
                lifecycleStateChange="rename", previousIdentifier={"namespace": "", "name": "x"}
            )
        },
        {"lifecycleStateChange": facet(lifecycleStateChange="DROP", previousIdentifier={"name": "x"})},
        {"symlinks": facet(identifiers=[{"namespace": "n", "name": "m", "type": "location"}, {"name": "x"}])},
    ]
    noise = dataset(("file", "/t/_delta_log"))
    for number, each in enumerate(facets):
        one = dataset(("file", f"/t/{number}"), **each)
        counted = one | {"inputFacets": {"inputStatistics": facet(rowCount=number), "none": None}}
        rows_confirmed = one | {"outputFacets": {"outputStatistics": facet(rowCount=number)}}
        both = {"inputs": [noise, counted, {}], "outputs": [rows_confirmed, one]}
        run = run_event("COMPLETE", at(number), f"run {number}", ("n", "j"), **both)
        run["run"]["facets"] = {"lineage": each.get("lineage") or facet(_deleted=True), "parent": ODD[number % 10]}
        run["job"]["facets"] = {"jobType": ODD[number % 10], "lineage": facet(entries=[])}
        yield json.dumps(run).encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "events", [samples, worlds, spoiled, made, hostile_names.copies], ids=lambda each: each.__name__
)
def test_parts_from_columns_are_parts_from_bodies(events: Any, tmp_path: Path) -> None:
    world = parsed(tmp_path, list(events()))
    there, contents = from_columns(world.bronze)
    from_bodies = FacetContentsInMemory()
    reader = FactsReader(CANONICAL, from_bodies)
    bodies = rows(world.bronze.events.table, world.bronze, ["event_id", "cast(received_at AS bigint)", "body"])
    assert there == {event_id: reader.read_event(event_id, received, body) for event_id, received, body in bodies}
    for fact in there.values():
        for use in (*fact.inputs, *fact.outputs):
            assert not use.schema or contents.schema(use.schema) == from_bodies.schema(use.schema)
            assert not use.lineage or contents.lineage(use.lineage) == from_bodies.lineage(use.lineage)
    assert len(there) >= 7


@pytest.mark.slow
def test_an_index_of_columns_is_the_index_of_bodies(tmp_path: Path) -> None:
    world = parsed(tmp_path, [*samples(), *spoiled(), *made(), *changes()])
    columns, bodies = (indexed(world, tmp_path / name, keep) for name, keep in (("columns", True), ("bodies", False)))
    for query in SAID:
        assert columns.execute(query).fetchall() == bodies.execute(query).fetchall() != []


SAID = [
    "SELECT n.kind, d.name, n.facet, n.event_order, coalesce(f.value, n.value) FROM newest_facets n "
    "JOIN names d ON d.id = n.name LEFT JOIN facet_texts f ON f.id = n.value ORDER BY 1, 2, 3",
    "SELECT kind, d.name, first_us, last_us, event_order, s.schema FROM facet_set_uses "
    "JOIN names d ON d.id = facet_set_uses.name JOIN facet_sets s ON s.id = facet_set ORDER BY 1, 2, 3, 4, 5, 6",
    "SELECT * FROM nominal_times ORDER BY run",
    "SELECT mark, detail, event_order, time_us, value FROM changes ORDER BY 1, 2, 3",
    "SELECT * FROM data_sources ORDER BY name",
]


def test_a_body_is_read_only_where_an_event_says_something_new(tmp_path: Path) -> None:
    """For facets that differ in each event, only the newest event of each dataset is read."""
    counted = dataset(("n", "in")) | {"inputFacets": {"inputStatistics": facet(rowCount=1)}}
    plain = [run_event("COMPLETE", at(n), f"run {n}", inputs=[dataset(("n", "in"))]) for n in range(20)]
    statistics = [run_event("COMPLETE", at(50 + n), f"run {50 + n}", inputs=[counted]) for n in range(20)]
    run_facets = {"x": facet(y="z" * 5000)}
    long = [run_event("COMPLETE", at(99), "run 99", inputs=[dataset(("n", "in"))], run_facets=run_facets)]
    world = parsed(tmp_path, [json.dumps(event).encode() for event in (*plain, *statistics, *long)])
    asked: list[int] = []
    indexed(world, tmp_path / "at once", True, asked)
    assert asked == [1, 21, 41, 40]
    asked.clear()
    indexed(world, tmp_path / "in batches", True, asked, at_once=20)
    assert asked == [1, 21, 40, 41]


def test_events_of_one_shape_say_the_same_but_who_and_when() -> None:
    said: dict[str, EventShape] = {}
    reader = BodyReader()
    for body in (*samples(), *worlds(), *spoiled(), *made()):
        with suppress(InvalidEvent):
            event = reader.read_event(body)
            assert said.setdefault(event.shape, event.event_shape) == BodyReader().read_event(body).event_shape
    assert len(said) > 500


def parsed(folder: Path, bodies: list[bytes]) -> World:
    """Return a world whose bronze contains these events."""
    world = World(folder)
    world.append(*bodies)
    parser = world.parser()
    while parser.commit_next():
        pass
    return world


def changes() -> Iterator[bytes]:
    yield json.dumps(job_tag_event(Name("n", "j"), "gold", is_set=True)).encode()
    yield json.dumps(dataset_tag_event(Name("n", "in"), "a", "pii", is_set=True)).encode()


def indexed(
    world: World, path: Path, keep: bool, asked: list[int] | None = None, at_once: int = 1000
) -> sqlite3.Connection:
    """Return an index built from bronze's columns, or from the same rows in the form of an older version."""
    path.mkdir()
    indexer, source = Indexer(path / "index.sqlite", default_rules()), world.reader().source

    def bodies(sequences: Collection[int]) -> dict[int, str]:
        if asked is not None:
            asked.extend(sorted(sequences))
        return stored_bodies(world.bronze, source, sequences)

    for after in range(0, world.reader().tail(), at_once):
        events = stored_events(world.bronze, source, after, after + at_once)
        known = [event if keep else event._replace(sent=None) for event in events]
        indexer.process_events(source, after + at_once, known, bodies)
    indexer.close()
    return until_end(open_for_reading(path / "index.sqlite"))


def from_columns(bronze: Bronze) -> tuple[dict[str, RunFacts], FacetContents]:
    """Read the facts of all events and the facets that they refer to, without reading any body."""
    contents = contents_of(bronze)
    reader = FactsReader(CANONICAL, contents)
    said = {cells[0]: reader.add_shape(shape_from_cells(cells)) for cells in rows(SHAPES, bronze, list(SHAPES.columns))}
    columns = {**SENT, "event_time_us": "cast(event_time AS bigint)"}.values()
    found = rows(bronze.events.table, bronze, ["event_id", "cast(received_at AS bigint)", *columns])
    facts = {}
    for event_id, received_us, *cells in found:
        sent = sent_from_cells(cells)
        assert sent
        facts[event_id] = reader.facts_of_event(event_id, received_us, sent, said[sent.shape])
    return facts, contents


def contents_of(bronze: Bronze) -> FacetContents:
    """Read the facets' contents. Facets without content have no rows."""
    contents = _Contents()
    for table, add in ((SCHEMAS, _add_schema), (COLUMN_LINEAGE, _add_lineage)):
        by_hash: dict[str, list[Any]] = {}
        for row in sorted(rows(table, bronze, list(table.columns)), key=lambda row: (row[0], row[1])):
            by_hash.setdefault(row[0], []).append(row)
        for content_hash, found in by_hash.items():
            add(contents, content_hash, found)
    for content_hash, value in rows(VALUES, bronze, list(VALUES.columns)):
        contents.add_sql(content_hash, parse_sql_facet(value.encode()))
    return contents


class _Contents(FacetContentsInMemory):
    def schema(self, content_hash: str) -> Any:
        return self._schemas.get(content_hash, ())

    def lineage(self, content_hash: str) -> Any:
        return self._lineage.get(content_hash, ())


def _add_schema(contents: FacetContents, content_hash: str, found: list[Any]) -> None:
    contents.add_schema(content_hash, schema_paths(found))


def _add_lineage(contents: FacetContents, content_hash: str, found: list[Any]) -> None:
    contents.add_lineage(content_hash, read_sent_edges(found, CANONICAL))


def rows(table: Table, bronze: Bronze, columns: list[str]) -> list[tuple[Any, ...]]:
    names = ", ".join(f"{column} AS c{number}" for number, column in enumerate(columns))
    found = bronze.tables[table.name].run_query(f"SELECT {names} FROM t")
    return list(zip(*(found.column(f"c{number}").to_pylist() for number in range(len(columns))), strict=True))
