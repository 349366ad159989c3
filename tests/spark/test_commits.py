"""Rows that replace others, written by Delta's own classes, or by its writer where a cluster's Delta has other ones."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import LakeUnavailable
from headwater.spark.delta.spark_delta import REPLACE_WHERE_CHECK, TableFolder, spark_settings
from headwater.spark.delta.transactions import DeltaCommits
from headwater.spark.delta.versions import COMMIT_METADATA_SETTING, newest_signature, translate_write_conflicts
from headwater.tables import Table
from tests.support.spark.spark_files import Cost
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), *SPARK_NOISE]

TABLE = Table("notes", {"run_key": "string", "number": "long"})
OURS, THEIRS = "org.apache.spark.sql.delta", "com.databricks.sql.transaction.tahoe"


@pytest.fixture(params=[OURS, THEIRS])
def folder(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> TableFolder:
    """Give a table of two files: (a, 1), (b, 2), (nothing, 3), and (c, 30)."""
    made = TableFolder(spark, f"{tmp_path}/lake/silver", [TABLE], DeltaCommits(spark, request.param))
    made.create()
    made.small = True
    made.append(TABLE, made.frame_of_rows(TABLE, [("a", 1), ("b", 2), (None, 3)]))
    made.append(TABLE, made.frame_of_rows(TABLE, [("c", 30)]))
    return made


def rows(folder: TableFolder) -> list[tuple[str | None, int]]:
    return sorted((tuple(row) for row in folder.read(TABLE).collect()), key=str)


def files(folder: TableFolder) -> set[str]:
    return set(folder.read(TABLE).inputFiles())


def test_rows_become_others_and_those_of_which_the_condition_is_unknown_stay(folder: TableFolder) -> None:
    untouched = set(folder.read(TABLE).where("run_key = 'c'").inputFiles())

    def become(found: DataFrame) -> DataFrame:
        assert [tuple(row) for row in found.collect()] == [("a", 1)]
        return found.select(F.lit("z").alias("run_key"), (F.col("number") + 100).alias("number"))

    with spark_settings(folder.spark, {REPLACE_WHERE_CHECK: "false"}):
        folder.replace_rows(TABLE, "run_key < 'b'", become)
    assert rows(folder) == [("b", 2), ("c", 30), ("z", 101), (None, 3)]
    assert untouched < files(folder)


def test_a_numbered_commit_is_made_once(folder: TableFolder) -> None:
    for number, key in ((5, "first"), (5, "again"), (4, "older")):
        folder.overwrite(TABLE, folder.frame_of_rows(TABLE, [(key, number)]), number=number)
        assert rows(folder) == [("first", 5)]
    folder.overwrite(TABLE, folder.frame_of_rows(TABLE, []), number=6)
    assert rows(folder) == []


def test_files_of_other_partitions_stay_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    """Where rows of one partition are replaced by new ones of both, as newest facets are in each pass."""
    table = Table("facets", {"entity": "string", "name": "string"}, ("entity",))
    folder = TableFolder(spark, f"{tmp_path}/silver", [table])
    folder.create()
    folder.small = True
    folder.append(table, folder.frame_of_rows(table, [("run", "1"), ("job", "a"), ("job", "b")]))
    untouched = set(folder.read(table).where("entity = 'run'").inputFiles())
    fresh = folder.frame_of_rows(table, [("run", "2"), ("job", "b")])
    folder.replace_rows(
        table, "entity <> 'run' AND name IS NOT NULL", lambda found: found.unionByName(fresh).distinct()
    )
    found = folder.read(table)
    assert sorted(map(tuple, found.collect())) == [("job", "a"), ("job", "b"), ("run", "1"), ("run", "2")]
    assert untouched < set(found.inputFiles())


@pytest.mark.parametrize("folder", [OURS], indirect=True)
def test_what_is_listed_once_is_the_table_as_it_was_then(folder: TableFolder) -> None:
    whole, large = folder.read_listing_files_once(TABLE), folder.read_listing_files_once(TABLE, F.col("run_key") > "b")
    folder.append(TABLE, folder.frame_of_rows(TABLE, [("d", 40)]))
    assert whole.count() == 4
    assert [tuple(row) for row in large.collect()] == [("c", 30)]


@pytest.mark.parametrize("folder", [OURS], indirect=True)
def test_where_delta_does_not_answer_as_it_does_here_its_writer_does_the_same(folder: TableFolder) -> None:
    """Settings of a cluster may hide what is asked of Delta's classes, as another build of Delta may."""
    with spark_settings(folder.spark, {REPLACE_WHERE_CHECK: "false", "spark.databricks.delta.stats.skipping": "false"}):
        folder.replace_rows(TABLE, "run_key = 'a'", lambda found: found.withColumn("number", F.lit(7)))
        folder.overwrite(TABLE, folder.read_listing_files_once(TABLE).where("number > 2"), number=1)
    assert rows(folder) == [("a", 7), ("c", 30), (None, 3)]


@pytest.mark.parametrize("folder", [OURS], indirect=True)
def test_what_is_listed_once_belongs_to_the_session_that_asked(folder: TableFolder) -> None:
    """A notebook may have a session of its own: what is written from such a frame has that session's settings."""
    other = TableFolder(folder.spark.newSession(), folder.root, [TABLE])
    with spark_settings(other.spark, {COMMIT_METADATA_SETTING: "another"}):
        other.append(TABLE, other.read_listing_files_once(TABLE).where("number = 1"))
    assert newest_signature(folder, TABLE) == "another"


def test_what_changed_meanwhile_is_not_written_over(spark: SparkSession, tmp_path: Path) -> None:
    folder = TableFolder(spark, f"{tmp_path}/silver", [TABLE])
    folder.create()
    folder.append(TABLE, folder.frame_of_rows(TABLE, [("a", 1)]))

    def become(found: DataFrame) -> DataFrame:
        folder.overwrite(TABLE, folder.frame_of_rows(TABLE, [("other", 2)]))
        return found

    with pytest.raises(LakeUnavailable, match="Another writer changed"), translate_write_conflicts(folder.root):
        folder.replace_rows(TABLE, "run_key = 'a'", become)
    assert rows(folder) == [("other", 2)]


def test_a_table_is_replaced_in_one_job_and_rows_of_it_in_two(spark: SparkSession, tmp_path: Path) -> None:
    folder = TableFolder(spark, f"{tmp_path}/lake/silver", [TABLE])
    folder.create()
    folder.small = True
    folder.append(TABLE, folder.frame_of_rows(TABLE, [("a", 1)]))
    cost = Cost(spark, tmp_path / "lake")
    folder.overwrite(TABLE, folder.frame_of_rows(TABLE, [("b", 2), ("c", 3)]))
    assert len(cost.jobs()) == 1, cost.jobs()
    folder.replace_rows(TABLE, "run_key = 'c'", lambda found: found.withColumn("number", F.lit(4)))
    assert len(cost.jobs()) == 3, cost.jobs()
    assert rows(folder) == [("b", 2), ("c", 4)]
