"""Rule 1: the index and gold agree on which runs are lost."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headwater.index.reading.run_lists import lost_runs
from headwater.operations.runtime.index import open_view_opener
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.gold.gold_runs import write_runs
from headwater.tables import GOLD, HOURLY_STATS, RUN_HEALTH
from tests.reference.world_events import Json, facet, parent, run_event, uuid
from tests.support.data.parsing import World
from tests.support.data.sink_world import SinkWorld, sink
from tests.support.servers.sink_target import sink_server
from tests.support.spark.spark_lake import RULES, SparkLake
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [*SPARK_NOISE]

CASES: dict[str, tuple[str | None, list[tuple[str, float]], bool]] = {
    "silent for a day": (None, [("START", -25)], True),
    "silent for a day, a batch by its own word": ("BATCH", [("START", -25)], True),
    "silent since it ran": ("BATCH", [("START", -50), ("RUNNING", -25)], True),
    "a clock 8 days ahead is no sign of life": ("BATCH", [("START", -25), ("RUNNING", 8 * 24)], True),
    "not silent for a day yet": ("BATCH", [("START", -23)], False),
    "heard of since": ("BATCH", [("START", -50), ("RUNNING", -1)], False),
    "ended": ("BATCH", [("START", -50), ("COMPLETE", -49)], False),
    "failed": ("BATCH", [("START", -50), ("FAIL", -49)], False),
    "a stream has no end to wait for": ("STREAMING", [("START", -50)], False),
    "a service neither": ("SERVICE", [("START", -500)], False),
    "a batch that turned out a stream": ("STREAMING", [("RUNNING", -25)], False),
    "ended with its application": ("BATCH", [("START", -49.5)], False),
    "begun after its application ended": ("BATCH", [("START", -48)], True),
}
"""Processing type, events by type and hour from now, and whether the run is lost."""

BELOW = {name: "failed" for name in CASES if "its application" in name}
"""The case whose run is the parent."""

NAMES = list(CASES)
NAMESPACE, FIRST_RUN = "lost", 2_000
"""Only these cases are checked, because other tests share the lake."""

OURS = f"job_namespace = '{NAMESPACE}'"

LOST = {name for name, (*_, lost) in CASES.items() if lost}


def events() -> Iterator[bytes]:
    """Yield the events of one run for each case, newest first."""
    now = datetime.now(UTC)
    for name, (processing, said, _) in CASES.items():
        of_job: Json = {"jobType": facet(processingType=processing, integration="SPARK")} if processing else {}
        for kind, hours in said[::-1]:
            time = (now + timedelta(hours=hours)).isoformat()
            above = {"parent": parent(run_of(BELOW[name]), (NAMESPACE, BELOW[name]))} if name in BELOW else {}
            run = run_event(kind, time, run_of(name), (NAMESPACE, name), job_facets=of_job, run_facets=above)
            yield json.dumps(run).encode()


def run_of(name: str) -> str:
    """Return the id of the run of a case."""
    return uuid(FIRST_RUN + NAMES.index(name))


def test_the_index_knows_lost_runs(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(*events())
    parser = world.parser()
    while parser.commit_next():
        pass
    open_views = open_view_opener(world.settings, world.folder)
    now_us = int(datetime.now(UTC).timestamp() * 1e6)
    found, count = open_views.query_current_index(lambda live, _: lost_runs(live, now_us))
    open_views.close()
    assert {run.job.name for run in found} == LOST
    assert count == len(LOST)


def test_a_webhook_tells_of_lost_runs_alone(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(*events())
    with sink_server() as server:
        out = sink(type="webhook", url=server.url, secret={"env": "HOOK"})
        world.settle(out, {"HOOK": f"whsec_{'A' * 32}"})
    told = [(each["type"], each["data"]["job"]["name"]) for each in server.taken]
    assert sorted(told) == sorted([*(("run.lost", name) for name in LOST), ("run.failed", "failed")])


@pytest.mark.slow
@pytest.mark.timeout(1800)  # most of the time goes into the lake
def test_gold_knows_lost_runs(lake_of_cases: SparkLake, tmp_path: Path) -> None:
    lake = lake_of_cases
    seen = gold_says(lake.layer("gold"))
    assert seen == (LOST, len(LOST))
    health = lake.read("gold", RUN_HEALTH).where(OURS).collect()
    assert {row.job_name: row.processing for row in health} == {
        name: processing or "BATCH" for name, (processing, *_) in CASES.items()
    }
    assert {row.job_name for row in health if row.state == "ENDED"} == {"ended with its application"}
    gold = TableFolder(lake.spark, str(tmp_path), GOLD)  # a copy, because other tests read the lake
    for table, change in ((RUN_HEALTH, "state = 'RUNNING' WHERE state = 'LOST' AND"), (HOURLY_STATS, "lost = 0 WHERE")):
        shutil.copytree(lake.folder("gold", table), tmp_path / table.name)
        lake.spark.sql(f"UPDATE delta.`{gold.uri(table)}` SET {change} {OURS}")
    assert gold_says(gold) == (set(), 0)
    assert write_runs(gold, RULES, None), "runs become lost without new events"
    assert gold_says(gold) == seen


def gold_says(gold: TableFolder) -> tuple[set[str], int]:
    """Return the lost runs, and the number of lost runs in the statistics."""
    lost = gold.read(RUN_HEALTH).where(f"state = 'LOST' AND {OURS}").collect()
    return {row.job_name for row in lost}, sum(row.lost for row in gold.read(HOURLY_STATS).where(OURS).collect())
