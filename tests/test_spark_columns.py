"""Silver is made of bronze's columns: bodies are read of rows that have no shape, and for what the body alone holds."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.storage.arrow_rows import map_groups
from headwater.tables import EVENTS, FACETS, FIELDS, RUNS, SILVER, STATE, Table
from tests.reference.world_events import at, dataset, facet, run_event
from tests.spark_files import FilesRead
from tests.spark_lake import SparkLake
from tests.spark_noise import SPARK_NOISE
from tests.test_bronze_shapes import made, samples, spoiled

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    *SPARK_NOISE,
]


def recurring(runs: int, **run_facets: Any) -> Iterator[bytes]:
    """One job that reads and writes the same, again and again."""
    lineage = facet(fields={"b": {"inputFields": [{"namespace": "n", "name": "in", "field": "a"}]}})
    out = dataset(("n", "out"), schema=facet(fields=[{"name": "b"}]), columnLineage=lineage)
    read = dataset(("n", "in"), schema=facet(fields=[{"name": "a"}]), note=facet(text="kept by hash"))
    for number in range(runs):
        for kind, minute in (("START", 2 * number), ("COMPLETE", 2 * number + 1)):
            told = {"processing_engine": facet(version=str(number))} | run_facets
            event = run_event(kind, at(minute), f"run {number}", inputs=[read], outputs=[out], run_facets=told)
            yield json.dumps(event).encode()


def test_no_body_is_read_of_events_whose_columns_say_all(spark: SparkSession, tmp_path: Path) -> None:
    lake = SparkLake(spark, tmp_path)
    lake.store(recurring(10))
    read = FilesRead(spark)
    lake.build()
    scans = read.columns(lake.world.folder / "lake" / "bronze" / EVENTS.name)
    assert any("run_facets" in each and "shape" in each for each in scans), scans
    assert not any("body" in each for each in scans), scans
    facets = {(row.entity, row.facet): row.value for row in lake.read("silver", FACETS).collect()}
    assert json.loads(facets["dataset", "note"])["text"] == "kept by hash"
    assert [row.field for row in lake.read("silver", FIELDS).orderBy("field").collect()] == ["a", "b"]
    assert lake.read("silver", RUNS).count() == 10


def test_what_the_body_alone_holds_is_read_from_it(spark: SparkSession, tmp_path: Path) -> None:
    lake = SparkLake(spark, tmp_path)
    lake.store([*recurring(2, long=facet(text="x" * 5000))])
    read = FilesRead(spark)
    lake.build()
    assert any("body" in each for each in read.columns(lake.world.folder / "lake" / "bronze" / EVENTS.name))
    found = lake.read("silver", FACETS).where("facet = 'long'").collect()
    assert [len(json.loads(row.value)["text"]) for row in found] == [5000, 5000]


def test_silver_of_columns_is_silver_of_bodies(spark: SparkSession, tmp_path: Path) -> None:
    """The same rows once as they are, and once as a version wrote them that kept no shape."""
    lake = SparkLake(spark, tmp_path)
    lake.store([*samples(), *spoiled(), *made()])
    lake.build()
    of_columns = {table.name: said(lake, table) for table in TABLES}
    bronze = DeltaTable(lake.world.folder / "lake" / "bronze" / EVENTS.name)
    bronze.update(updates={"shape": "NULL", "run_facets": "NULL"})
    lake.build(rebuild=True)
    for table in TABLES:
        assert said(lake, table) == of_columns[table.name], table.name
        assert of_columns[table.name], table.name


def said(lake: SparkLake, table: Table) -> list[tuple[Any, ...]]:
    """Return the rows of a table; of a facet as a value: equal ones are stored once, as the first event wrote it."""
    rows = lake.plain("silver", table)
    if table is not FACETS:
        return rows
    place = list(FACETS.columns).index("value")
    return [(*row[:place], row[place] and json.loads(row[place]), *row[place + 1 :]) for row in rows]


TABLES = [table for table in SILVER if table is not STATE]


def test_rows_of_a_hot_output_share_their_texts(spark: SparkSession) -> None:
    """Of 100,000 candidates that say the same, a worker holds what they say once."""
    to = Table("held", {"rows": "long", "texts": "long"})
    said = F.concat(F.repeat(F.lit("x"), 2000), F.expr("CAST(id % 3 AS STRING)"))
    candidates = spark.range(100_000).select(F.lit("output").alias("key"), said.alias("content"))
    found = map_groups(candidates, "key", _held, to, small=True).collect()
    assert [tuple(row) for row in found] == [(100_000, 3)]


def _held(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, int]]:
    yield len(rows), len({id(row[1]) for row in rows})
