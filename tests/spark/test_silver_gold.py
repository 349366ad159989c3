"""Silver and gold against the reference: through kills, passes that meet, incrementally, and at once."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from headwater.tables import (
    COLUMN_EDGES,
    EDGE_RUNS,
    EDGE_SETS,
    EVENTS,
    FACETS,
    GOLD,
    RUN_DATASETS,
    RUN_HEALTH,
    RUNS,
    SILVER,
    TABLE_EDGES,
)
from tests.support.data import hostile_names
from tests.support.spark import spark_driver
from tests.support.spark.spark_files import Cost, FilesRead, out_of_reach
from tests.support.spark.spark_lake import Gold, Pair, References
from tests.support.spark.spark_noise import SPARK_NOISE

if TYPE_CHECKING:
    from tests.support.spark.spark_cases import LakeOfCases

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the fixture is most of it; bounds what hangs, on a machine with other work too
    *SPARK_NOISE,
]

LATER = "ffffffff-ffff-7fff-bfff-ffffffffffff"
"""The id of a run that began after all others, as UUIDv7 ids sort."""

HISTORY = [
    ("silver", RUNS, ""),
    ("silver", RUN_DATASETS, ""),
    ("silver", FACETS, "entity=run"),
    ("silver", EDGE_SETS, ""),
    ("gold", COLUMN_EDGES, "part=closed"),
    ("gold", TABLE_EDGES, "part=closed"),
]
"""Tables, or a partition of them, that grow with every run."""


@pytest.fixture(scope="module")
def lake(lake_of_cases: "LakeOfCases") -> "LakeOfCases":
    return lake_of_cases


def test_a_pass_at_work_refuses_others_and_does_no_harm_when_it_was_given_up_too_early(lake: "LakeOfCases") -> None:
    """What gold says behind it is what the reference says: see below."""
    status, errors = lake.ended
    assert (status, "at the same time" in errors) == (spark_driver.REFUSED, True), errors
    assert [lacks_s > 0 for lacks_s in lake.lacks_s] == [False, True, False]


def test_a_pass_over_recurring_jobs_reads_nothing_of_the_history_takes_few_spark_jobs_and_leaves_lineage_alone(
    lake: "LakeOfCases", spark: SparkSession
) -> None:
    """Its cost cannot grow with the history, whose files are out of reach meanwhile."""
    folders = [lake.folder(layer, table) / part for layer, table, part in HISTORY]
    folders.append(lake.world.folder / "lake" / "bronze" / EVENTS.name)
    old = {folder: list(folder.rglob("*.parquet")) for folder in folders}
    old = {folder: [file for file in files if "_delta_log" not in file.parts] for folder, files in old.items()}
    assert all(old.values())
    lake.store([hostile_names.one_more(LATER[:-6] + f"{number:06d}", 50_000 + number) for number in range(100)])
    read, cost = FilesRead(spark), Cost(spark, Path(lake.uri))
    with out_of_reach([file for files in old.values() for file in files]):
        lake.build()
    most, found = read.most(), cost.operations()
    for folder in (lake.folder("silver", RUNS), lake.folder("silver", RUN_DATASETS), folders[-1]):
        new = len([file for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts]) - len(old[folder])
        assert most.get(folder, 0) <= new
    assert most[folders[-1]] == 1
    assert set(found) <= {"silver/state", *(f"silver/{name}" for name in GROWING), *(f"gold/{name}" for name in SEEN)}
    assert all(len(each) == 1 and "MERGE" not in each for each in found.values()), found
    assert len(cost.jobs()) <= JOBS, cost.jobs()
    before = 2  # the second is of the pass that stood still
    edges = lake.edges(COLUMN_EDGES)
    assert [row["runs"] for row in edges if row["target_dataset"] == hostile_names.NAMES[-1]] == [before + 100]


GROWING = ("runs", "run_datasets", "edge_sets", "facets", "jobs")
SEEN = ("edge_runs", "run_health", "hourly_stats")
JOBS = 85
"""Spark jobs of a pass over recurring runs. Other runs may explain some of them, and some have a nominal time.

12 of them look for the runs above and below those with a nominal time. One looks for recurring lineage after a base
list, and two look for rows of the masking surface that recurring runs can change.
"""


def test_names_that_break_out_travel_unharmed(lake: "LakeOfCases") -> None:
    rows = [row for row in lake.gold(COLUMN_EDGES) if row.job_namespace == hostile_names.NAMESPACE and row.current]
    found = {((row.source_dataset, row.source_column), (row.target_dataset, row.target_column)) for row in rows}
    assert found == {tuple((dataset, column.casefold()) for dataset, column in edge) for edge in hostile_names.EDGES}
    assert {row.job_name.rpartition(" ")[0] for row in rows} == {hostile_names.JOB[1]}
    surface = [row for row in lake.surface() if row["namespace"] == hostile_names.NAMESPACE]
    assert {row["column"] for row in surface if not row["tagged"]} == set(hostile_names.COLUMNS[1:])
    assert {row["column"] for row in surface if row["tagged"]} == {hostile_names.COLUMNS[0]}


def more(number: int) -> list[bytes]:
    """Return events that no pass has taken."""
    return [hostile_names.one_more(f"ffffffff-ffff-7fff-bfff-{number:012d}", 40_000 + number)]


@pytest.mark.long
def test_neither_does_one_whose_jvm_goes_on_with_what_it_was_writing(lake: "LakeOfCases") -> None:
    lake.store(more(2))
    with spark_driver.halted_with_its_jvm(lake.world.folder, "spark.after_runs") as first:
        taken, (status, errors) = lake.take_back(first)
    assert (taken, status, "at the same time" in errors) == (1, spark_driver.REFUSED, True), errors
    assert lake.build() == 0


@pytest.mark.long
def test_a_pass_that_others_met_ends_well_and_nothing_of_it_is_taken_back(lake: "LakeOfCases") -> None:
    lake.store(more(3))
    before = lake.operations().count("RESTORE")
    with spark_driver.halted(lake.spark, lake.uri, "spark.after_runs") as first:
        lake.others_are_refused()
        errors = spark_driver.let_go_on(first)
        assert first.returncode == 0, errors
    assert lake.operations().count("RESTORE") == before
    assert lake.build() == 0


def test_what_somebody_else_wrote_is_put_back_once(lake: "LakeOfCases") -> None:
    """Passes that find nothing new would put it back again and again."""
    lake.spark.sql(f"UPDATE delta.`{lake.folder('gold', RUN_HEALTH)}` SET state = 'ABORT'")
    before = lake.operations().count("RESTORE")
    assert [lake.build(), lake.build()] == [0, 0]
    assert lake.operations().count("RESTORE") == before + 1
    assert lake.read("gold", RUN_HEALTH).where("state = 'COMPLETE'").count()


@pytest.fixture(scope="module")
def gold(lake: "LakeOfCases") -> Gold:
    return Gold(lake, References(lake.of_worlds(), window_end_us=lake.newest_us()))


@pytest.mark.parametrize("asked", [Gold.column_edges, Gold.table_edges, Gold.surface, Gold.verdicts])
def test_gold_is_what_the_reference_says(gold: Gold, asked: Callable[[Gold], Pair[object]]) -> None:
    found, wanted = asked(gold)
    assert found == wanted


def test_edges_are_current_while_both_ends_are_there(gold: Gold) -> None:
    found, wanted = gold.ended_edges()
    assert wanted
    assert found == wanted


@pytest.mark.long  # `test_spark_columns` has a shorter one
def test_incremental_and_at_once_are_the_same(lake: "LakeOfCases") -> None:
    before = {(layer, table.name): lake.plain(layer, table) for layer, table in TABLES}
    lake.build(rebuild=True)
    for layer, table in TABLES:
        assert lake.plain(layer, table) == before[layer, table.name], f"{layer}.{table.name}"


TABLES = [("silver", table) for table in SILVER]
TABLES += [("gold", table) for table in GOLD if table is not EDGE_RUNS]
