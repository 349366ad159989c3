"""Silver is made of bronze's columns: bodies are read of rows that have no shape, and for what the body alone holds."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.times import iso_time
from headwater.lake.bronze_retention import delete_old_events
from headwater.lineage.traversal.column_verdicts import NO_READER, UNUSED
from headwater.spark.delta.arrow_rows import map_groups
from headwater.tables import (
    EDGE_RUNS,
    EVENTS,
    FACETS,
    FIELDS,
    GOLD,
    MASKING_SURFACE,
    RUNS,
    SILVER,
    STATE,
    UNUSED_COLUMNS,
    Table,
)
from headwater.tables.bronze import REMOVED_BEFORE
from headwater.tables.last_pass import NOTE_NAME, REFRESH_FOLDER
from tests.rule_cases import events as made
from tests.support.spark.passed_lake import LATER_RECURRING, RECURRING, RECURS, PassedLake
from tests.support.spark.spark_lake import SparkLake
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    *SPARK_NOISE,
]


REMOVED_US = int(datetime(2026, 1, 2, tzinfo=UTC).timestamp()) * 1_000_000


def test_no_body_is_read_of_events_whose_columns_say_all(passed_lake: PassedLake) -> None:
    scans = passed_lake.columns["known runs"]
    assert any("run_facets" in each and "shape" in each for each in scans), scans
    assert not any("body" in each for each in scans), scans
    ours, of_dataset = (f"{column} = '{RECURS}'" for column in ("namespace", "dataset_namespace"))
    facets = {(row.entity, row.facet): row.value for row in passed_lake.read("silver", FACETS).where(ours).collect()}
    assert json.loads(facets["dataset", "note"])["text"] == "kept by hash"
    fields = passed_lake.read("silver", FIELDS).where(of_dataset).orderBy("field").collect()
    assert [row.field for row in fields] == ["a", "b"]
    runs = passed_lake.read("silver", RUNS).where("run_key LIKE '0195b0%'")
    assert runs.count() == len(RECURRING) + len(LATER_RECURRING)


def test_what_the_body_alone_holds_is_read_from_it(passed_lake: PassedLake) -> None:
    scans = passed_lake.columns["odd"]
    assert any("body" in each for each in scans), scans
    found = passed_lake.read("silver", FACETS).where("facet = 'long'").collect()
    assert [len(json.loads(row.value)["text"]) for row in found] == [5000] * len(LATER_RECURRING)


@pytest.mark.long  # `test_spark_upgrade` builds silver and gold at once of bodies of which retention has removed some
def test_what_passes_made_of_columns_is_what_one_makes_of_bodies(passed_lake: PassedLake) -> None:
    """The same rows as they are, and as a version wrote them that kept no shape; incrementally, and at once.

    Where retention has removed events before the rebuild, the verdicts of gold do not rest on their absence.
    """
    lake = passed_lake
    before = {(layer, table.name): said(lake, layer, table) for layer, table in TABLES}
    bronze = DeltaTable(lake.world.folder / "lake" / "bronze" / EVENTS.name)
    removal = CommitProperties(app_transactions=[Transaction(REMOVED_BEFORE, REMOVED_US)])  # retention leaves this note
    bronze.update(updates={"shape": "NULL", "run_facets": "NULL"}, commit_properties=removal)
    lake.build(rebuild=True)
    for layer, table in TABLES:
        wanted = before[layer, table.name]
        assert said(lake, layer, table) == (doubted(wanted) if table is UNUSED_COLUMNS else wanted), (
            f"{layer}.{table.name}"
        )
        assert before[layer, table.name] or table is MASKING_SURFACE, f"{layer}.{table.name}"


def doubted(verdicts: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows of `unused_columns` as they are where older events were removed: what has no reader is unknown."""
    columns = list(UNUSED_COLUMNS.columns)
    unknown = {"verdict": "unknown", "reason": "events before 2026-01-02 were removed", "readers": "[]"}
    rows = [dict(zip(columns, row, strict=False)) for row in verdicts]
    found = [{**row, **unknown, "shown_by": "[]"} if row["reason"] in (NO_READER, UNUSED) else row for row in rows]
    assert found != rows
    return sorted((tuple(row.values()) for row in found), key=repr)


def said(lake: SparkLake, layer: str, table: Table) -> list[tuple[Any, ...]]:
    """Return the rows of a table; of a facet as a value: equal ones are stored once, as the first event wrote it."""
    rows = lake.plain(layer, table)
    if table is not FACETS:
        return rows
    place = list(FACETS.columns).index("value")
    return [(*row[:place], row[place] and json.loads(row[place]), *row[place + 1 :]) for row in rows]


TABLES = [("silver", table) for table in SILVER if table is not STATE]
TABLES += [("gold", table) for table in GOLD if table is not EDGE_RUNS]


@pytest.mark.long  # `test_spark_bounds` counts as many
def test_rows_of_a_hot_output_share_their_texts(spark: SparkSession) -> None:
    """Of 100,000 candidates that say the same, a worker holds what they say once."""
    to = Table("held", {"rows": "long", "texts": "long"})
    said = F.concat(F.repeat(F.lit("x"), 2000), F.expr("CAST(id % 3 AS STRING)"))
    candidates = spark.range(100_000).select(F.lit("output").alias("key"), said.alias("content"))
    found = map_groups(candidates, "key", _held, to, small=True).collect()
    assert [tuple(row) for row in found] == [(100_000, 3)]


def _held(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, int]]:
    yield len(rows), len({id(row[1]) for row in rows})


@pytest.mark.long
@pytest.mark.timeout(900)
def test_layers_that_were_not_refreshed_until_events_were_removed_prove_nothing_safe(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = SparkLake(spark, tmp_path)
    used, lost, new = (
        json.dumps(
            made.done(at, at, made.writes(f"t{at}", {"x": f"a.{column}"}), of=[made.table("a", "x y z")])
        ).encode()
        for at, column in ((1, "x"), (2, "y"), (3, "x"))
    )

    def verdicts() -> dict[str, tuple[str, str]]:
        rows = lake.read("gold", UNUSED_COLUMNS).where("dataset = 'a'").collect()
        return {row.column: (row.verdict, row.reason) for row in rows}

    lake.store([used])
    lake.build()
    assert verdicts()["y"][0] == "unused"
    lake.store([lost])
    lake.world.append(new)
    lake.parse()
    delete_old_events(lake.world.bronze, 3)
    (Path(lake.uri) / REFRESH_FOLDER / NOTE_NAME).write_text("damaged, so that it proves nothing")
    lake.build()
    before_us = lake.world.bronze.removed_before_us()
    assert before_us is not None
    reason = f"events before {str(iso_time(before_us)).partition('T')[0]} were removed"
    assert verdicts() == {"x": ("used", verdicts()["x"][1]), "y": ("unknown", reason), "z": ("unknown", reason)}
