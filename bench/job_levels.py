"""Measure the job graph at each granularity, and the graph around a dataset that 500 jobs write and 1,000 read.

`python -m bench.job_levels` uses 60 DAGs of 10 tasks. Each task has one Spark application, and the applications run
1,459 statements in total. The figures are nodes, bytes and CPU time.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from uuid import UUID

import msgspec
from starlette.datastructures import QueryParams

from bench.figures import Figure, show
from headwater.api.marquez.requests import RequestContext
from headwater.api.marquez.table_lineage import get_lineage
from headwater.events.position import Source
from headwater.index.home import IndexHome
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.runs.jobs import JobLevel
from headwater.lineage.snapshots.as_of import AsOf
from headwater.questions import definitions

DAGS, TASKS, STATEMENTS = 60, 10, 1_459
WRITERS, READERS = 500, 1_000
LAKE = "s3://lake"
Named = tuple[str, str]


def pipelines() -> Iterator[dict[str, Any]]:
    """Yield events of DAGs, tasks, applications and statements; each statement reads the previous one's table."""
    tasks = DAGS * TASKS
    for number in range(DAGS):
        yield _event(("airflow", f"dag_{number}"), "DAG", None, [], None)
    for task in range(tasks):
        dag = ("airflow", f"dag_{task // TASKS}")
        of = ("airflow", f"{dag[1]}.task_{task % TASKS}")
        yield _event(of, "TASK", dag, [], None)
        yield _event(("spark", f"app_{task}"), "APPLICATION", of, [], None)
    for number in range(STATEMENTS):
        app = ("spark", f"app_{number * tasks // STATEMENTS}")
        yield _event(("spark", f"{app[1]}.insert_{number}"), "SQL_JOB", app, [f"table_{number}"], f"table_{number + 1}")


def hub() -> Iterator[dict[str, Any]]:
    """Yield events of the writers and readers of one table."""
    for number in range(WRITERS):
        yield _event(("jobs", f"writer_{number}"), "JOB", None, [f"source_{number}"], "hub")
    for number in range(READERS):
        yield _event(("jobs", f"reader_{number}"), "JOB", None, ["hub"], f"mart_{number}")


def run() -> list[Figure]:
    """Measure both sets of events."""
    found: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        views = _indexed(Path(folder) / "pipelines", [*pipelines()])
        for granularity in get_args(JobLevel):
            found += _asked(views, granularity, "pipelines")
            found += _marquez(views, granularity)
        views.close()
        views = _indexed(Path(folder) / "hub", [*hub()])
        found += _asked(views, "statement", f"{WRITERS} writers, {READERS:,} readers of one table")
        views.close()
    return found


def _asked(views: ViewOpener, granularity: JobLevel, what: str) -> Iterator[Figure]:
    sources = SimpleNamespace(open_views=views)
    began = time.process_time()
    answer = definitions.jobs.ask(sources, {"granularity": granularity, "limit": "2000"})
    spent = (time.process_time() - began) * 1000
    yield Figure(f"{what}, {granularity}: nodes", len(answer.nodes), "")
    yield Figure("  edges and hubs", len(answer.dataFlow) + len(answer.hubs), "")
    yield Figure("  bytes", len(msgspec.json.encode(answer)) / 1000, "kB")
    yield Figure("  CPU", spent, "ms")


def _marquez(views: ViewOpener, granularity: JobLevel) -> Iterator[Figure]:
    asked = QueryParams(
        {"nodeId": f"dataset:{LAKE}:table_{STATEMENTS // 2}", "depth": "2000"} | {"granularity": granularity}
    )
    began = time.process_time()
    with views.open_view_and_index(AsOf()) as (view, live):
        answer = get_lineage(RequestContext({}, asked, view, Catalog(live)))
    spent, jobs = (time.process_time() - began) * 1000, sum(node["type"] == "JOB" for node in answer["graph"])
    yield Figure(f"  Marquez lineage of all jobs: jobs, with {len(answer['graph']) - jobs:,} datasets", jobs, "")
    yield Figure("    bytes", len(msgspec.json.encode(answer)) / 1_000_000, "MB")
    yield Figure("    CPU", spent, "ms")


def _indexed(folder: Path, events: list[dict[str, Any]]) -> ViewOpener:
    folder.mkdir()
    home, rules = IndexHome(folder), default_rules()
    home.publish(home.index_path(rules))
    indexer = Indexer(home.index_path(rules), rules)
    bodies = {number: json.dumps(event) for number, event in enumerate(events, 1)}
    batch = [BronzeEvent(f"{number:032x}", 2 * 10**15 + number, number, None) for number in bodies]
    indexer.process_events(Source("local", "1", "0"), len(events), batch, partial(_of, bodies))
    indexer.close()
    return ViewOpener(home, RulesFiles(folder))


def _of(bodies: dict[int, str], asked: Any) -> dict[int, str]:
    return {number: bodies[number] for number in asked}


def _event(job: Named, kind: str, parent: Named | None, reads: list[str], writes: str | None) -> dict[str, Any]:
    """Return the COMPLETE event of a job's only run; its run ID is derived from the job's name."""
    column = {"inputFields": [{"namespace": LAKE, "name": name, "field": "x"} for name in reads]}
    lineage = {"columnLineage": _facet(fields={"x": column}), "schema": _facet(fields=[{"name": "x", "type": "INT"}])}
    above = (
        {"parent": _facet(run={"runId": _run(parent)}, job=dict(zip(("namespace", "name"), parent, strict=True)))}
        if parent
        else {}
    )
    return {
        "eventTime": "2026-03-01T12:00:00Z", "eventType": "COMPLETE", "producer": "https://example.org/bench",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": _run(job), "facets": above},
        "job": {
            "namespace": job[0], "name": job[1],
            "facets": {"jobType": _facet(processingType="BATCH", integration=job[0].upper(), jobType=kind)},
        },
        "inputs": [{"namespace": LAKE, "name": name} for name in reads],
        "outputs": [{"namespace": LAKE, "name": writes, "facets": lineage}] if writes else [],
    }  # fmt: skip


def _run(job: Named) -> str:
    return str(UUID(int=int.from_bytes("/".join(job).encode()[-16:].rjust(16, b"0"))))


def _facet(**members: Any) -> dict[str, Any]:
    return {
        "_producer": "https://example.org/bench",
        "_schemaURL": "https://openlineage.io/spec/facets/1-0-0/X.json",
        **members,
    }


if __name__ == "__main__":
    show("Graph of jobs", run())
