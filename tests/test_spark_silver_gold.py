"""Silver and gold against the reference, incrementally and at once; all in one Spark session."""

import pytest
from pyspark.sql import SparkSession

from headwater.tables import COLUMN_EDGES, GOLD, MASKING_SURFACE, POSITIONS, SILVER, TABLE_EDGES, UNUSED_COLUMNS
from tests.reference.solver import ColumnEdge, TableEdge
from tests.spark_lake import References, SparkLake, bodies, plain

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The distutils package is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

import os

WORLDS = range(int(os.environ.get("N", "200")))


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkLake:
    """Give 200 worlds in two batches, the second with the later half of the events of each."""
    lake = SparkLake(spark, tmp_path_factory.mktemp("worlds"))
    worlds = list(bodies(WORLDS))
    first = [body for world in worlds for body in world[: len(world) // 2]]
    second = [body for world in worlds for body in world[len(world) // 2 :]]
    for part_of in (first, second):
        lake.store(part_of)
        assert lake.build() > 0
    return lake


@pytest.fixture(scope="module")
def references(lake: SparkLake) -> References:
    return References(lake.delivered())


def test_column_edges_are_those_of_the_reference(lake: SparkLake, references: References) -> None:
    found: set[ColumnEdge] = {
        (row.source_namespace, row.source_dataset, row.source_column, row.target_namespace, row.target_dataset,
         row.target_column, "DIRECT" if row.direct else "INDIRECT", row.masked)
        for row in lake.gold(COLUMN_EDGES) if row.current
    }  # fmt: skip
    assert found == references.column_edges()


def test_table_edges_are_those_of_the_reference(lake: SparkLake, references: References) -> None:
    opaque: dict[tuple[str, str, str, str], bool] = {}
    for row in lake.gold(TABLE_EDGES):
        if row.current:
            ends = (row.source_namespace, row.source_dataset, row.target_namespace, row.target_dataset)
            opaque[ends] = opaque.get(ends, True) and row.opaque
    found: set[TableEdge] = {(*ends, each) for ends, each in opaque.items()}
    assert found == references.table_edges()


def test_the_surface_is_that_of_the_reference(lake: SparkLake, references: References) -> None:
    found = {
        references.key(row.namespace, row.dataset, row.column): row.exposure
        for row in lake.gold(MASKING_SURFACE) if row.tag == "pii"
    }  # fmt: skip
    assert found == references.surface()


def test_verdicts_are_those_of_the_reference(lake: SparkLake, references: References) -> None:
    rows = lake.gold(UNUSED_COLUMNS)
    found = {references.key(row.namespace, row.dataset, row.column): row.verdict for row in rows}
    assert found == references.unused()


def test_incremental_and_at_once_are_the_same(lake: SparkLake) -> None:
    before = {(layer, table.name): plain(lake.read(layer, table)) for layer, table in TABLES}
    lake.build(rebuild=True)
    for layer, table in TABLES:
        assert plain(lake.read(layer, table)) == before[layer, table.name], f"{layer}.{table.name}"


TABLES = [("silver", table) for table in SILVER if table is not POSITIONS]
TABLES += [("gold", table) for table in GOLD if table is not POSITIONS]
