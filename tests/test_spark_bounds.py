"""What a pass reads of what was there before does not grow with it: late runs, long ones, and a busy output."""

import json
import resource
from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import asdict
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.current_candidates import CARRIES
from headwater.spark.delta.arrow_rows import Row, map_groups
from headwater.spark.gold.open_candidates import COUNTED, OPEN, counted
from headwater.spark.refresh import FEW_EVENTS
from headwater.spark.silver.candidate_rows import CandidateRow
from headwater.tables import COLUMN_EDGES, EDGE_SETS, RUN_DATASETS, RUNS, TABLE_EDGES, Table
from tests.reference.world_events import at, column_lineage, dataset, facet, run_event, schema, source, step
from tests.spark_files import FilesRead
from tests.spark_lake import SparkLake
from tests.spark_noise import SPARK_NOISE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), *SPARK_NOISE]

PASSES, RUNS_EACH = 2, 20
LARGE, IDLE = 1_000, 100
SPACE = "w0001x"
OF_RUNS = (("silver", RUNS), ("silver", RUN_DATASETS))
HISTORY = (("silver", EDGE_SETS), ("gold", COLUMN_EDGES), ("gold", TABLE_EDGES))
STREAMING = {"jobType": facet(processingType="STREAMING", integration="SPARK")}
Files = dict[str, int]


def event(
    minute: int, state: str, *, job: str = "load", at_minute: float | None = None, streams: bool = False
) -> bytes:
    """Return an event of a run that began in that minute; its id begins with that, as listeners send them."""
    run = f"{0x0195C000 + minute:08x}-0000-7000-8000-000000000001"
    fields = {"a": [source((SPACE, "from"), "a", step("DIRECT"))]}
    inputs = [dataset((SPACE, "from"), schema=schema(["a"]))]
    outputs = [dataset((SPACE, f"{job} to"), schema=schema(["a"]), columnLineage=column_lineage(fields))]
    second = 60 * (minute if at_minute is None else at_minute)
    found = run_event(state, at(second), run, (SPACE, job), inputs=inputs, outputs=outputs)
    return json.dumps({**found, "job": {**found["job"], "facets": STREAMING if streams else {}}}).encode()


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkLake:
    """Give a lake whose tables have a file of each of several passes; a run and a stream have begun."""
    lake = SparkLake(spark, tmp_path_factory.mktemp("bounds"))
    for number in range(PASSES):
        first = number * RUNS_EACH
        lake.store([event(minute, "COMPLETE") for minute in range(first, first + RUNS_EACH)])
        if number == PASSES - 1:
            lake.store([event(500, "START"), event(600, "START", job="stream", streams=True)])
        lake.build()
    return lake


def files_of_pass(lake: SparkLake, *bodies: bytes) -> Files:
    """Return the most files that one scan of a table that grows read while a pass took these events."""
    lake.store(list(bodies))
    read = FilesRead(lake.spark)
    assert lake.build() == len(bodies)
    most = read.most()
    return {table.name: most.get(lake.folder(layer, table), 0) for layer, table in (*OF_RUNS, *HISTORY)}


def test_a_run_that_is_told_in_two_passes_reads_the_file_that_it_is_in(lake: SparkLake) -> None:
    most = files_of_pass(lake, event(500, "COMPLETE", at_minute=501))
    assert most == {"runs": 1, "run_datasets": 1, "edge_sets": 0, "column_edges": 0, "table_edges": 0}


def test_a_late_run_and_a_stream_of_fifty_updates_read_the_file_that_they_are_in(lake: SparkLake) -> None:
    """The history of their outputs is another one: candidates are looked through, which are in 20 files at most."""
    late = (PASSES - 1) * RUNS_EACH + 5
    updates = (event(600, "RUNNING", job="stream", at_minute=600 + each, streams=True) for each in range(1, 51))
    most = files_of_pass(lake, event(late, "OTHER", at_minute=late + 0.5), *updates)
    assert most.pop("edge_sets") <= 20  # `test_spark_every`
    assert most == {"runs": 1, "run_datasets": 1, "column_edges": 1, "table_edges": 1}
    (run,) = lake.read("silver", RUNS).where("job_name = 'stream'").collect()
    assert run.events == 51
    assert len(run.parts) < 51 * len(event(600, "RUNNING", job="stream", streams=True))


def test_the_candidates_of_a_busy_output_hold_what_they_say_once(spark: SparkSession) -> None:
    """100,000 runs of one job that say the same 2 KB of one dataset are 200 MB of text, one by one."""
    row = CandidateRow(
        "group", "output", "", "", "observed", SPACE, "load", SPACE, "to", "", 0, "", 0, 0, CARRIES,
        origin="observed", landed=True, rewrites=False, borrowed=False, asks=None, kin=None, content="x" * 2_000,
    )  # fmt: skip
    columns = {name: F.lit(value) for name, value in asdict(row).items()}
    told_apart = {name: F.format_string("%010d", "id") for name in ("run_key", "execution", "tie")}
    made = {**columns, **told_apart, "time_us": F.col("id"), "gone": F.lit(False), "replaced": F.lit(False)}
    frame = spark.range(CANDIDATES).select(*(each.alias(name) for name, each in made.items()))
    more = {"part": F.lit(None).cast("string"), "fresh": F.lit(True)}
    every = frame.withColumns(more)
    (found,) = map_groups(every, "output_key", _memory_of_counting, MEMORY, small=True).collect()
    assert found.open == 1
    assert found.rows == CANDIDATES
    assert found.highest_mb < MOST_MB


@pytest.mark.long
def test_a_batch_too_large_for_one_task_is_worked_out_by_many(lake: SparkLake) -> None:
    """Spark then plans all steps of a pass as one, from the events to the edges."""
    large = [event(1_000 + minute, "COMPLETE", job="large") for minute in range(LARGE)]
    idle = [
        run_event("RUNNING", at(number), f"ffffffff-0000-7000-8000-{number % IDLE:012}", (SPACE, "idle"))
        for number in range(FEW_EVENTS + 1 - LARGE)
    ]
    lake.store([*large, *(json.dumps(each).encode() for each in idle)])
    assert lake.build() == FEW_EVENTS + 1
    edges = lake.edges(COLUMN_EDGES).where("target_dataset = 'large to'").collect()
    assert [(row.source_column, row.target_column, row.current, row.runs) for row in edges] == [("a", "a", True, LARGE)]
    assert lake.read("silver", RUNS).where("job_name = 'idle'").count() == IDLE


def _memory_of_counting(rows: Sequence[Row]) -> Iterator[Row]:
    """Return what a worker has held at its highest, Python and all, once it has counted."""
    found = list(counted(rows))
    part = list(COUNTED.columns).index("part")
    yield len(found), sum(row[part] == OPEN for row in found), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


MEMORY = Table("memory", {"rows": "long", "open": "long", "highest_mb": "long"})
CANDIDATES, MOST_MB = 100_000, 450
