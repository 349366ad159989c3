"""What a pass reads of what was there before does not grow with it: late runs, long ones, and a busy output."""

import json
import resource
from collections import UserDict
from collections.abc import Iterator, KeysView, Sequence

import pytest
from msgspec.structs import asdict
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.candidates import REPORTED_LINEAGE
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import TimedLocation
from headwater.spark.delta.arrow_rows import Row, map_groups
from headwater.spark.delta.spark_delta import checkpoint
from headwater.spark.gold.open_candidates import COUNTED, OPEN, with_candidate_changes
from headwater.spark.silver.candidate_rows import CandidateRow
from headwater.spark.silver.silver_names import new_symlinks
from headwater.tables import COLUMN_EDGES, RUNS, Table
from tests.reference.world_events import at, run_event
from tests.support.spark.passed_lake import SPACE, PassedLake, event
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), *SPARK_NOISE]

LARGE, IDLE, LINKS = 100, 20, 1_000


def test_runs_told_in_two_passes_late_or_with_fifty_updates_read_the_file_that_they_are_in(
    passed_lake: PassedLake,
) -> None:
    """A late run has the history of its outputs made anew: of edges it reads the open ones and the closed ones."""
    most = dict(passed_lake.most["known runs"])
    assert most.pop("edge_sets") <= 3
    assert most == {"runs": 1, "run_datasets": 1, "column_edges": 2, "table_edges": 2}
    (run,) = passed_lake.read("silver", RUNS).where(f"job_namespace = '{SPACE}' AND job_name = 'stream'").collect()
    assert run.events == 51
    assert len(run.parts) < 51 * len(event(600, "RUNNING", job="stream", streams=True))


def test_the_candidates_of_a_busy_output_hold_what_they_say_once(spark: SparkSession) -> None:
    """100,000 runs of one job that say the same 2 KB of one dataset are 200 MB of text, one by one."""
    row = CandidateRow(
        "group", "output", "", "", None, "observed", SPACE, "load", SPACE, "to", "", 0, "", 0, 0, REPORTED_LINEAGE,
        origin="observed", landed=True, rewrites=False, unless_parts=False, period_us=0,
        asks=None, kin=None, names=None, content="x" * 2_000,
    )  # fmt: skip
    columns = {name: F.lit(value) for name, value in asdict(row).items()}
    told_apart = {name: F.format_string("%010d", "id") for name in ("run_key", "execution", "tie")}
    made = {
        **columns,
        **told_apart,
        **dict.fromkeys(("time_us", "period_us"), F.col("id")),
        "gone": F.lit(False),
        "replaced": F.lit(False),
    }
    frame = spark.range(CANDIDATES).select(*(each.alias(name) for name, each in made.items()))
    more = {"part": F.lit(None).cast("string"), "fresh": F.lit(True)}
    every = frame.withColumns(more)
    (found,) = map_groups(every, "output_key", _memory_of_counting, MEMORY, small=True).collect()
    assert found.open <= 3  # the first, the last and the newest run that say the same
    assert found.rows == CANDIDATES
    assert found.highest_mb < MOST_MB


class CountedKeys(UserDict[Name, Sequence[TimedLocation]]):
    """Counts how often all its keys are asked for."""

    asked = 0

    def keys(self) -> KeysView[Name]:
        self.asked += 1
        return super().keys()


def test_all_known_symlinks_are_compared_with_those_of_a_batch_once() -> None:
    """A batch of 16,000 symlinks that are known took the driver minutes, when each was compared with all."""
    names = [Name("s3://links", f"in{number}") for number in range(LINKS)]
    known = CountedKeys({name: [(1, Name("s3://lake", "a"))] for name in names})
    found = {name: [(2, Name("s3://lake", "a"))] for name in [*names[1:], Name("s3://links", "new")]}
    assert new_symlinks(found, {names[1]}, known) == {(Name("s3://links", "new"), (2, Name("s3://lake", "a")))}
    assert known.asked == 1


def test_frames_that_are_kept_join_with_others_that_have_the_same_columns(spark: SparkSession) -> None:
    """Batches of more than 20,000 runs with a nominal time and a parent failed in Spark's analysis."""
    runs = checkpoint(spark.range(3).selectExpr("id AS run_key", "id AS parent_run", "id AS said"))
    some = runs.select("run_key", "parent_run")
    below = checkpoint(some.limit(0).unionByName(some))
    assert below.join(some.withColumn("fresh", F.lit(True)), "run_key", "left_anti").count() == 0


def test_a_batch_too_large_for_one_task_is_worked_out_by_many(passed_lake: PassedLake) -> None:
    """Spark then plans all steps of a pass as one, from the events to the edges."""
    large = [event(1_000 + minute, "COMPLETE", job="large") for minute in range(LARGE)]
    idle = [
        run_event("RUNNING", at(number), f"ffffffff-0000-7000-8000-{number % IDLE:012}", (SPACE, "idle"))
        for number in range(3 * IDLE)
    ]
    lake = passed_lake
    lake.store([*large, *(json.dumps(each).encode() for each in idle)])
    assert lake.build(task_bytes=1) == LARGE + 3 * IDLE
    edges = [edge for edge in lake.edges(COLUMN_EDGES) if edge["target_dataset"] == "large to"]
    told = ("source_column", "target_column", "current", "runs")
    assert [tuple(edge[name] for name in told) for edge in edges] == [("a", "a", True, LARGE)]
    assert lake.read("silver", RUNS).where("job_name = 'idle'").count() == IDLE


def _memory_of_counting(rows: Sequence[Row]) -> Iterator[Row]:
    """Return what a worker has held at its highest, Python and all, once it has counted."""
    found = list(with_candidate_changes(rows))
    part = list(COUNTED.columns).index("part")
    yield len(found), sum(row[part] == OPEN for row in found), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


MEMORY = Table("memory", {"rows": "long", "open": "long", "highest_mb": "long"})
CANDIDATES, MOST_MB = 100_000, 450
