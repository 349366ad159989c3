"""Silver and gold of the version before are superseded by a generation built beside them; Spark adds new columns."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction
from pyspark.sql import SparkSession

from headwater.lake.delta_table import LakeTable
from headwater.lake.gold_pass import current_generation_folder
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.traversal.column_verdicts import NO_READER, UNUSED
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.layer_generations import current_generation
from headwater.spark.log_ingest.bronze_writer import SparkBronze
from headwater.spark.notebook.notebook_questions import Questions
from headwater.spark.refresh import refresh
from headwater.tables import BRONZE, COLUMN_EDGES, EVENTS, RUNS, UNUSED_COLUMNS, Table
from headwater.tables.bronze import REMOVED_BEFORE
from tests.fixtures import unpack_before_verdicts
from tests.lake.test_new_columns import NEW, OLD, append, columns, rows, stored
from tests.support.data.parsing import World
from tests.support.spark import spark_driver
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore:is_datetime64tz_dtype is deprecated:DeprecationWarning"),
    *SPARK_NOISE,
]

RULES = UserRules()
REMOVED_US = int(datetime(2026, 1, 2, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Give the lake of the version before, and in bronze one event that its silver has not seen.

    Bronze has bodies alone, and the note of a retention that has removed events.
    """
    world = World(unpack_before_verdicts(tmp_path))
    world.parser().commit_next()
    removal = CommitProperties(app_transactions=[Transaction(REMOVED_BEFORE, REMOVED_US)])
    events = DeltaTable(world.folder / "lake" / "bronze" / EVENTS.name)
    events.alter.set_table_properties({"delta.logRetentionDuration": "interval 6 hours"}, commit_properties=removal)
    return world.folder / "lake"


def in_force(lake: Path) -> tuple[str | None, str | None]:
    return current_generation_folder(str(lake), "silver", {}), current_generation_folder(str(lake), "gold", {})


def files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def targets(spark: SparkSession, lake: Path) -> set[str]:
    found = Questions(spark, str(lake)).impact("landing/customers", "email").columns
    return {f"{row.dataset}.{row.column}" for row in found.itertuples()}


def test_other_rules_are_built_beside_what_is_in_force_and_switched_to_at_once(spark: SparkSession, lake: Path) -> None:
    old = in_force(lake)
    kept = {layer: files(lake / layer / str(name)) for layer, name in zip(("silver", "gold"), old, strict=True)}
    spark_driver.killed(spark, str(lake), "spark.after_state")
    assert in_force(lake) == old
    assert targets(spark, lake) & {"gold/mailing.contact", "gold/late.mail"} == {"gold/mailing.contact"}

    begun = {folder.name for folder in (lake / "silver").glob("g1*")} - {str(old[0])}
    assert refresh(spark, str(lake), RULES) == 0, "the pass that was cut off has taken all"
    assert set(map(str, in_force(lake))) == begun, "it is gone on with"
    assert {"gold/mailing.contact", "gold/late.mail"} <= targets(spark, lake)
    assert {row.rules_hash for row in layer(spark, lake, "silver", RUNS)} == {RULES.rules_hash}
    assert {row.rules_hash for row in layer(spark, lake, "gold", COLUMN_EDGES)} == {RULES.rules_hash}
    reasons = {row.reason: row.verdict for row in layer(spark, lake, "gold", UNUSED_COLUMNS)}
    assert reasons["events before 2026-01-02 were removed"] == "unknown"
    assert not reasons.keys() & {NO_READER, UNUSED}, "what was removed may have read them"
    assert refresh(spark, str(lake), RULES) == 0
    assert in_force(lake) != old
    for name, before in kept.items():
        assert before.items() <= files(lake / name).items(), "who reads the old generation goes on"


def test_bronze_of_the_version_before_takes_todays_columns_from_spark(spark: SparkSession, lake: Path) -> None:
    world = World(lake.parent)
    before = {table.name: rows(world, table) if world.bronze.tables[table.name].exists() else [] for table in BRONZE}
    bronze = SparkBronze(spark, str(lake / "bronze"))
    bronze.create("spark/stream", "another")
    assert bronze.properties()["headwater.owner"] == "parser/local", "it stays whose it was"
    for table in BRONZE:
        assert sorted(bronze.read(table).columns) == sorted(table.columns)
        assert sorted(map(str, rows(world, table))) == sorted(map(str, before[table.name]))


def layer(spark: SparkSession, lake: Path, name: str, table: Table) -> list[Any]:
    found = current_generation(spark, str(lake), RULES.rules_hash)
    assert found
    return found[name].read(table).collect()


def test_spark_adds_the_columns_that_a_table_lacks_and_every_engine_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    uri = str(tmp_path / OLD.name)
    old, folder = LakeTable(uri, OLD), TableFolder(spark, str(tmp_path), [NEW])
    old.create({})
    append(old, 1)
    assert [row.asDict()["added"] for row in folder.read(NEW).collect()] == [None]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: folder.create(), range(4)))
    assert sorted(columns(uri)) == sorted(NEW.columns)
    version = old.handle().version()
    folder.create()
    assert (append(old, 2), append(LakeTable(uri, NEW), 3)) == (1, 1)
    assert old.handle().version() == version + 2, "nothing to add, nothing committed"
    assert stored(uri) == {1: ("x", None, None), 2: ("x", None, None), 3: ("x", "new", ["a"])}
    assert {row.sequence: row.added for row in folder.read(NEW).collect()} == {1: None, 2: None, 3: "new"}
