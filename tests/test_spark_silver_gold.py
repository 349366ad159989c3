"""Silver and gold against the reference: through kills, passes that meet, incrementally, and at once."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from headwater.errors import LakeUnavailable
from headwater.tables import (
    COLUMN_EDGES,
    EDGE_RUNS,
    EDGE_SETS,
    EVENTS,
    FACETS,
    GOLD,
    MASKING_SURFACE,
    RUN_DATASETS,
    RUNS,
    SILVER,
    TABLE_EDGES,
)
from tests import hostile_names, spark_driver
from tests.reference.worlds import FEW
from tests.spark_files import Cost, FilesRead, out_of_reach
from tests.spark_lake import Gold, Pair, References, SparkLake, bodies
from tests.spark_noise import SPARK_NOISE
from tests.test_freshness import Place, gold_lacks_s

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


class Met(NamedTuple):
    """A lake, and what became of a pass that stood still while others came, then was taken for dead, then went on."""

    lake: SparkLake
    ended: tuple[int, str]
    """Its status, and what it said."""

    lacks_s: list[float]
    """How far gold was behind: before its events came, while it stood still, and once others had taken them."""


@pytest.fixture(scope="module")
def met(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Met:
    """Give worlds that take every way; half of the later half of each was being written by a pass that others met.

    `make torture` takes 2,000, and kills drivers in its place; so does `test_spark_upgrade`.
    """
    lake = SparkLake(spark, tmp_path_factory.mktemp("worlds"))
    worlds = [*bodies(FEW), hostile_names.copies()]
    first = [(world[: len(world) // 2], world[len(world) // 2 :]) for world in worlds]
    lake.store([body for half, _ in first for body in half])
    lake.build()
    freshness = Place(lake.world.folder)
    lacks_s = [gold_lacks_s(freshness)]
    lake.store([body for _, half in first for body in half[::2]])
    with spark_driver.halted(spark, lake.uri, "spark.before_state") as standing:
        lacks_s.append(gold_lacks_s(freshness))
        others_are_refused(lake)
        lake.store([body for _, half in first for body in half[1::2]])
        taken, ended = take_back(lake, standing)
    assert taken > 0
    return Met(lake, ended, [*lacks_s, gold_lacks_s(freshness)])


@pytest.fixture(scope="module")
def lake(met: Met) -> SparkLake:
    return met.lake


def test_a_pass_at_work_refuses_others_and_does_no_harm_when_it_was_given_up_too_early(met: Met) -> None:
    """What gold says behind it is what the reference says: see below."""
    status, errors = met.ended
    assert (status, "at the same time" in errors) == (spark_driver.REFUSED, True), errors
    assert [lacks_s > 0 for lacks_s in met.lacks_s] == [False, True, False]
    assert met.lake.build() == 0


def others_are_refused(lake: SparkLake) -> None:
    """Who comes while a pass is at work goes away, and has changed nothing."""
    before = operations(lake)
    for _ in range(3):
        with pytest.raises(LakeUnavailable, match="Another pass works in"):
            lake.build()
    assert operations(lake) == before


def take_back(lake: SparkLake, first: subprocess.Popen[str]) -> tuple[int, tuple[int, str]]:
    """Make a pass while another one stands still and its lock is gone, as where a lease ends; let that go on.

    Returns how many events the new pass took, and how the other one ended.
    """
    before = operations(lake).count("RESTORE")
    (Path(lake.uri) / "silver" / "_refresh" / "lock").unlink()
    taken = lake.build()
    assert operations(lake).count("RESTORE") > before, "what the first one has written is taken back"
    errors = spark_driver.let_go_on(first)
    return taken, (first.returncode, errors)


def operations(lake: SparkLake) -> list[str]:
    """Return what all commits to silver and gold were."""
    logs = (file for layer in ("silver", "gold") for file in (Path(lake.uri) / layer).rglob("_delta_log/*.json"))
    lines = (json.loads(line) for file in logs for line in file.read_text("utf-8").splitlines())
    return [line["commitInfo"]["operation"] for line in lines if "commitInfo" in line]


def test_a_pass_over_recurring_jobs_reads_nothing_of_the_history_takes_few_spark_jobs_and_leaves_lineage_alone(
    lake: SparkLake, spark: SparkSession
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
    edges = lake.edges(COLUMN_EDGES).collect()
    assert [row.runs for row in edges if row.target_dataset == hostile_names.NAMES[-1]] == [101]


GROWING = ("runs", "run_datasets", "edge_sets", "facets", "jobs")
SEEN = ("edge_runs", "run_health", "hourly_stats")
JOBS = 50
"""Spark jobs of such a pass, where some words wait to be explained by other runs."""


def test_names_that_break_out_travel_unharmed(lake: SparkLake) -> None:
    rows = [row for row in lake.gold(COLUMN_EDGES) if row.job_namespace == hostile_names.NAMESPACE and row.current]
    found = {((row.source_dataset, row.source_column), (row.target_dataset, row.target_column)) for row in rows}
    assert found == {tuple((dataset, column.casefold()) for dataset, column in edge) for edge in hostile_names.EDGES}
    assert {row.job_name.rpartition(" ")[0] for row in rows} == {hostile_names.JOB[1]}
    exposed = {row.column for row in lake.gold(MASKING_SURFACE) if row.namespace == hostile_names.NAMESPACE}
    assert exposed == set(hostile_names.COLUMNS[1:])


def more(number: int) -> list[bytes]:
    """Return events that no pass has taken."""
    return [hostile_names.one_more(f"ffffffff-ffff-7fff-bfff-{number:012d}", 40_000 + number)]


@pytest.mark.long
def test_neither_does_one_whose_jvm_goes_on_with_what_it_was_writing(lake: SparkLake) -> None:
    lake.store(more(2))
    with spark_driver.halted_with_its_jvm(lake.world.folder, "spark.after_runs") as first:
        taken, (status, errors) = take_back(lake, first)
    assert (taken, status, "at the same time" in errors) == (1, spark_driver.REFUSED, True), errors
    assert lake.build() == 0


@pytest.mark.long
def test_a_pass_that_others_met_ends_well_and_nothing_of_it_is_taken_back(lake: SparkLake) -> None:
    lake.store(more(3))
    before = operations(lake).count("RESTORE")
    with spark_driver.halted(lake.spark, lake.uri, "spark.after_runs") as first:
        others_are_refused(lake)
        errors = spark_driver.let_go_on(first)
        assert first.returncode == 0, errors
    assert operations(lake).count("RESTORE") == before
    assert lake.build() == 0


@pytest.fixture(scope="module")
def gold(lake: SparkLake) -> Gold:
    return Gold(lake, References(lake.delivered()))


@pytest.mark.parametrize("asked", [Gold.column_edges, Gold.table_edges, Gold.surface, Gold.verdicts])
def test_gold_is_what_the_reference_says(gold: Gold, asked: Callable[[Gold], Pair[object]]) -> None:
    found, wanted = asked(gold)
    assert found == wanted


def test_edges_are_current_while_both_ends_are_there(gold: Gold) -> None:
    found, wanted = gold.ended_edges()
    assert wanted
    assert found == wanted


@pytest.mark.long  # `test_spark_columns` has a shorter one
def test_incremental_and_at_once_are_the_same(lake: SparkLake) -> None:
    before = {(layer, table.name): lake.plain(layer, table) for layer, table in TABLES}
    lake.build(rebuild=True)
    for layer, table in TABLES:
        assert lake.plain(layer, table) == before[layer, table.name], f"{layer}.{table.name}"


TABLES = [("silver", table) for table in SILVER]
TABLES += [("gold", table) for table in GOLD if table is not EDGE_RUNS]
