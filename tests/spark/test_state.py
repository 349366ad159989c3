"""The table `state` of silver: batches append rows, the newest row of a key applies, and gold equals the reference."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from headwater.spark.delta.spark_delta import TASK_BYTES
from headwater.spark.silver.state import STATE_COPIES, newest_rows
from headwater.tables import EDGE_RUNS, EVENTS, FACETS, GOLD, SILVER, STATE, Table
from headwater.tables.last_pass import NOTE_NAME, REFRESH_FOLDER
from tests.reference.worlds import FEW
from tests.support.data import hostile_names
from tests.support.spark.spark_files import Cost
from tests.support.spark.spark_lake import Gold, Pair, References, SparkLake, bodies
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), *SPARK_NOISE]

WORLDS = FEW[:1]
Commit = dict[str, list[dict[str, Any]]]


class StateLake(SparkLake):
    """A random world in two passes: the first compacts, and the second appends and uses many tasks.

    commits: the entries of the commit to `state` by action, for each pass; stale: whether copies are older than
    `state` after each pass.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        super().__init__(spark, folder)
        worlds = [*bodies(WORLDS), hostile_names.copies()]
        self.commits: list[Commit] = []
        self.stale: list[bool] = []
        for number in range(2):
            self.store([body for world in worlds for body in world[number::2]])
            self.build(task_bytes=self._newest_bytes() if number == 1 else TASK_BYTES)
            self.commits.append(self.newest_commit())
            self.stale.append(self.position().has_stale_copies)

    def state_rows(self, table: Table) -> list[tuple[Any, ...]]:
        """Return the rows of a table in `state`, without `batch`."""
        rows = newest_rows(self.read("silver", STATE), table).drop("batch").collect()
        return sorted(map(tuple, rows), key=str)

    def copy_rows(self, table: Table) -> list[tuple[Any, ...]]:
        """Return the rows of the public table that are also in `state`, without `batch`."""
        rows = self.read("gold" if table is EDGE_RUNS else "silver", table)
        rows = rows.where("entity <> 'run'") if table is FACETS else rows
        return sorted(map(tuple, rows.drop("batch").collect()), key=str)

    def newest_commit(self) -> Commit:
        log = self.folder("silver", STATE) / "_delta_log"
        found: Commit = {}
        for line in max(log.glob("*.json")).read_text("utf-8").splitlines():
            for action, entry in json.loads(line).items():
                found.setdefault(action, []).append(entry)
        return found

    def _newest_bytes(self) -> int:
        """Return the bytes of the newest file of events in bronze, which the next pass reads."""
        log = Path(self.uri) / "bronze" / EVENTS.name / "_delta_log"
        lines = max(log.glob("*.json")).read_text("utf-8").splitlines()
        return sum(json.loads(line)["add"]["size"] for line in lines if '"add"' in line)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> StateLake:
    return StateLake(spark, tmp_path_factory.mktemp("state"))


def test_a_batch_appends_the_rows_that_it_changes(lake: StateLake) -> None:
    first, second = lake.commits
    assert "remove" not in second
    assert [each["appId"] for each in second["txn"]] == ["headwater"]
    assert {each["partitionValues"]["part"] for each in second["add"]} >= {"vote", "job", "position"}
    assert len(DeltaTable(lake.folder("silver", STATE)).file_uris()) > len(first["add"])


def test_gold_equals_the_reference_after_appended_batches(lake: StateLake) -> None:
    gold = Gold(lake, References(lake.delivered(), window_end_us=lake.newest_us()))
    questions: tuple[Callable[[Gold], Pair[Any]], ...] = (
        Gold.column_edges, Gold.table_edges, Gold.ended_edges, Gold.surface, Gold.verdicts,
    )  # fmt: skip
    for question in questions:
        found, wanted = question(gold)
        assert found == wanted
    assert gold.column_edges()[1]


def test_small_copies_are_written_by_each_batch_and_large_ones_by_a_pass_without_events(lake: StateLake) -> None:
    assert lake.stale == [False, True]
    assert any(lake.state_rows(table) != lake.copy_rows(table) for table in STATE_COPIES)
    cost = Cost(lake.spark, Path(lake.uri))
    assert lake.build() == 0
    assert cost.jobs() == [], "the last pass was less than an hour ago"
    (Path(lake.uri) / REFRESH_FOLDER / NOTE_NAME).unlink()
    assert lake.build() == 0
    assert not lake.position().has_stale_copies
    assert "remove" in lake.newest_commit(), "this pass compacts"
    for table in STATE_COPIES:
        assert lake.state_rows(table) == lake.copy_rows(table)


def test_silver_and_gold_equal_a_rebuild_in_one_batch(lake: StateLake) -> None:
    before = {(layer, table.name): lake.plain(layer, table) for layer, table in TABLES}
    lake.build(rebuild=True)
    for layer, table in TABLES:
        assert lake.plain(layer, table) == before[layer, table.name], f"{layer}.{table.name}"


TABLES = [("silver", table) for table in SILVER]
TABLES += [("gold", table) for table in GOLD if table is not EDGE_RUNS]
