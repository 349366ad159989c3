"""Rule 1: the newest value is the same in every answer, whatever the order of the events."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from msgspec import to_builtins
from pyspark.sql import SparkSession
from pyspark.sql.functions import col
from starlette.applications import Starlette
from starlette.testclient import TestClient

from headwater.api.marquez.routes import MarquezApi
from headwater.auth.authentication import Authenticator
from headwater.common.paging import ListPage
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.event_order import event_order, newest_events_first_sql, order_text, time_us_of_order_text
from headwater.lineage.runs.merged_run import merge_run, order_deciding_facts
from headwater.lineage.runs.run_facts import split_attempts
from headwater.lineage.snapshots.as_of import AsOf
from headwater.operations.runtime.index import open_freshness, open_search, open_view_opener
from headwater.questions.facets import newest_facets
from headwater.questions.moments import moment_us
from headwater.tables import DATASETS, FACETS, FIELDS
from tests.reference.records import Delivered
from tests.reference.world_events import START, START_US, Json, facet, run_event, uuid
from tests.support.data.lineage_world import read_facts
from tests.support.data.newest_cases import NAMES, NOMINAL, case_of, expected, place, shuffled
from tests.support.data.parsing import World
from tests.support.few_of_many import few_of
from tests.support.lake_check import rows
from tests.support.spark.spark_lake import SparkLake
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [*SPARK_NOISE]

FAR = f"{START.year + 1}-01-01T00:00:00Z"


class Lake:
    """Bronze, the index and everything that answers from them, for one random order of the events."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.open_views = open_view_opener(world.settings, world.folder)
        things = open_search(world.settings, world.folder)
        freshness = open_freshness(world.settings, world.folder, lambda: ())
        api = MarquezApi(
            self.open_views, things, world.bronze, Authenticator(()), freshness, record=lambda *_: None, writing=None
        )
        self.client = TestClient(Starlette(routes=api.routes()))

    def marquez(self, *path: str, **query: str) -> Any:
        answer = self.client.get("/api/v1/" + "/".join(quote(fact, safe="") for fact in path), params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def facets(self, entity: str) -> dict[str, str]:
        """Return the values in the answer about facets, by the name of the case."""
        found = newest_facets(self.world.bronze, default_rules(), entity=entity, name="note", page=ListPage())
        assert not found.truncated
        items: list[Any] = to_builtins(found.items)
        return {case_of(item.get("runId") or item["name"]): item["facet"]["text"] for item in items}


@pytest.fixture(scope="module", params=few_of(range(3), 1))
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Provide an index that received the events of all cases shuffled and in small batches."""
    world = World(tmp_path_factory.mktemp("newest"))
    bodies, chance = shuffled(Random(request.param)), Random(request.param)
    while bodies:
        size = chance.randint(1, 80)
        store(world, bodies[:size])
        bodies = bodies[size:]
        open_view_opener(world.settings, world.folder).close()
    found = Lake(world)
    yield found
    found.client.close()
    found.open_views.close()


def store(world: World, bodies: Sequence[bytes]) -> None:
    """Store events as received on the day after the cases' times."""
    before = world.tail()
    world.append(*bodies)
    world.age((datetime.now(UTC) - START).days, before)
    parser = world.parser()
    while parser.commit_next():
        pass


def texts(facets_of: Mapping[str, Json]) -> dict[str, str]:
    return {name: facets["note"]["text"] for name, facets in facets_of.items() if "note" in facets}


@pytest.mark.slow
@pytest.mark.parametrize("entity", ["run", "job", "dataset"])
def test_the_answer_about_facets_gives_the_newest(lake: Lake, entity: str) -> None:
    assert lake.facets(entity) == expected(lake.world.folder, entity)


def test_facets_of_a_dataset_include_those_of_inputs_and_outputs(tmp_path: Path) -> None:
    world = World(tmp_path)
    read, made = (dict[str, Any](namespace="s3://lake", name=name) for name in ("a", "b"))
    condition = {"type": "partition", "partitions": [{"dimensions": {"day": "1"}}]}
    read |= {"inputFacets": {"subset": facet(inputCondition=condition)}}
    made |= {"outputFacets": {"subset": facet(outputCondition=condition)}}
    event = run_event("COMPLETE", START.isoformat(), uuid(1), ("jobs", "j"), inputs=[read], outputs=[made])
    store(world, [json.dumps(event).encode()])
    found = newest_facets(world.bronze, default_rules(), entity="dataset", name="subset", page=ListPage()).items
    assert {item.name: {*to_builtins(item)["facet"]} - {"_producer", "_schemaURL"} for item in found} == {
        "a": {"inputCondition"},
        "b": {"outputCondition"},
    }


@pytest.mark.parametrize("query", [{}, {"asOf": FAR}])
def test_marquez_gives_the_newest_facet_of_a_dataset(lake: Lake, query: Json) -> None:
    answers = {name: _dataset(lake, name, query) for name in NAMES}
    assert texts({name: each["facets"] for name, each in answers.items()}) == expected(lake.world.folder, "dataset")


@pytest.mark.parametrize("query", [{}, {"asOf": FAR}])
def test_marquez_gives_the_newest_facet_of_a_job(lake: Lake, query: Json) -> None:
    answers = {name: lake.marquez("namespaces", "newest", "jobs", name, **query) for name in NAMES}
    assert texts({name: each["facets"] for name, each in answers.items()}) == expected(lake.world.folder, "job")


@pytest.mark.parametrize("entity", ["run", "job"])
def test_marquez_gives_the_newest_facet_of_a_run_and_of_its_job_as_the_run_told_it(lake: Lake, entity: str) -> None:
    runs = {
        name: lake.marquez("jobs", "runs", uuid(number), "facets", type=entity) for number, name in enumerate(NAMES)
    }
    assert texts({name: each["facets"] for name, each in runs.items()}) == expected(lake.world.folder, entity)


def test_marquez_gives_parent_and_nominal_time_of_the_newest_facet(lake: Lake) -> None:
    wanted = expected(lake.world.folder, "parent")
    jobs = {name: lake.marquez("namespaces", "newest", "jobs", name) for name in NAMES}
    assert {name: job["parentJobName"] for name, job in jobs.items()} == {
        name: f"parent {value}" for name, value in wanted.items()
    }
    nominal = {name: job["latestRun"]["nominalStartTime"] for name, job in jobs.items()}
    assert nominal == {name: NOMINAL[value] for name, value in wanted.items()}


@pytest.mark.parametrize("query", [{}, {"asOf": FAR}])
def test_marquez_shows_the_columns_of_the_newest_schema_first(lake: Lake, query: Json) -> None:
    first = {name: _dataset(lake, name, query)["fields"][0]["name"] for name in NAMES}
    assert first == expected(lake.world.folder, "schema")


@pytest.mark.parametrize("as_of", [AsOf(), AsOf(as_of_us=moment_us("asOf", FAR))])
def test_our_answers_see_the_columns_of_the_newest_schema_first(lake: Lake, as_of: AsOf) -> None:
    with lake.open_views.open_view(as_of) as view:
        first = {name: next(iter(view.snapshot.columns(Name(*place(name))).by_key.values())) for name in NAMES}
    assert first == expected(lake.world.folder, "schema")


def test_the_rule_itself_gives_the_newest_schema(lake: Lake) -> None:
    delivered = [
        Delivered(json.loads(row["body"]), int(row["received_at"].timestamp() * 1e6), row["event_id"])
        for row in rows(lake.world.folder, "events")
    ]
    facts, contents = read_facts(delivered)
    found = {}
    for name in NAMES:
        own = [fact for fact in facts if fact.content.job.name == name]
        if len(split_attempts(order_deciding_facts(own))) > 1:
            continue  # a run's output comes from its completed attempt, not from the newest schema
        run = merge_run(own, NameResolver())
        both = run.inputs | run.outputs
        found[name] = ["".join(path) for path in contents.schema(both[Name(*place(name))].schema or "")]
    newest = {name: [value] for name, value in expected(lake.world.folder, "schema").items()}
    assert newest.keys() - found.keys() == {"the later, whatever its type", "what is no time is the receipt"}
    assert found == {name: newest[name] for name in found}


def _dataset(lake: Lake, name: str, query: Json) -> Any:
    namespace, dataset_name = place(name)
    return lake.marquez("namespaces", namespace, "datasets", dataset_name, **query)


@pytest.mark.slow
@pytest.mark.timeout(1800)  # most of the time goes into the lake
def test_silver_holds_the_newest_facets_and_columns(lake_of_cases: SparkLake) -> None:
    is_newest_in_silver(lake_of_cases)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_silver_holds_the_newest_in_another_order(spark: SparkSession, tmp_path: Path) -> None:
    lake = SparkLake(spark, tmp_path)
    bodies = shuffled(Random(1))
    for half in (bodies[::2], bodies[1::2]):
        lake.store(half)
        lake.build()
    is_newest_in_silver(lake)


def is_newest_in_silver(lake: SparkLake) -> None:
    notes = lake.read("silver", FACETS).where("facet = 'note' AND value IS NOT NULL").collect()
    for entity in ("run", "job", "dataset"):
        found = {case_of(row.name): json.loads(row.value)["text"] for row in notes if row.entity == entity}
        assert found == expected(lake.world.folder, entity)
    assert all((row.namespace, row.name) == place(case_of(row.name)) for row in notes if row.entity == "dataset")
    spaces = {place(name)[0] for name in NAMES}
    schemas, ours = expected(lake.world.folder, "schema"), col("dataset_namespace").isin(*spaces)
    fields = lake.read("silver", FIELDS).where(ours).collect()
    assert {(case_of(row.dataset_name), row.field) for row in fields} >= set(schemas.items())
    columns = {case_of(row.dataset_name): row.columns for row in lake.read("silver", DATASETS).where(ours).collect()}
    assert {name: json.loads(text)[0] for name, text in columns.items()} == {n: [v] for n, v in schemas.items()}


def test_the_lake_sorts_events_like_the_order(lake: Lake) -> None:
    columns = "event_id, event_type, coalesce(event_time, received_at) AS time, received_at"
    found = lake.world.bronze.events.run_query(
        f"SELECT {columns} FROM t ORDER BY {newest_events_first_sql()}"
    ).to_pylist()
    times = [(int(row["time"].timestamp() * 1e6), int(row["received_at"].timestamp() * 1e6)) for row in found]
    orders = [event_order(row["event_id"], row["event_type"], *time) for row, time in zip(found, times, strict=True)]
    assert orders == sorted(orders, reverse=True)
    assert len(orders) > 150


def test_the_order_as_text_sorts_like_the_order() -> None:
    orders = [
        event_order(event_id, kind, time_us, START_US)
        for event_id in ("0a", "ff")
        for kind in ("START", "RUNNING", "COMPLETE", "FAIL", "OTHER", "")
        for time_us in (-(10**15), -1, 0, 1, START_US, START_US + 86_400_000_000, START_US + 86_400_000_001)
    ]
    assert sorted(orders) == sorted(orders, key=order_text)
    assert [time_us_of_order_text(order_text(order)) for order in orders] == [order.time_us for order in orders]
