"""A small lake whose producers report all that Marquez displays: versions, sources, parents, nominal times, states."""

from typing import Any

from tests.reference.small_events import CLEAR, HASHED, made
from tests.reference.world_events import Json, at, dataset, facet, job_event, parent, run_event, schema, source, uuid

STORE = "abfss://lake@account.dfs.core.windows.net"
BROKER = "kafka://broker:9092"
RAW, DIGIT, TABLE, TOPIC = (STORE, "raw/orders"), (STORE, "2024/orders"), (STORE, "gold/orders"), (BROKER, "orders")
COLONS = ("db:5432", "shop:public.orders")
BARE = ("db:5432", "shop:bare")
"""A dataset that is only read, without any facets."""
JOB = ("etl:prod", "daily.load")
PARENT = ("etl:prod", "daily")
OLD, NEW, STREAM, RUNNING, FAILED = (uuid(number) for number in (101, 102, 103, 104, 105))

SQL = facet(query="select 1")
JOB_FACETS = {
    "sql": SQL,
    "documentation": facet(description="Loads orders."),
    "sourceCodeLocation": facet(type="git", url="https://example.org/load.py"),
    "jobType": facet(processingType="BATCH", integration="SPARK", jobType="JOB"),
    "tags": facet(tags=[{"key": "core", "value": "true", "source": "CONFIG"}]),
}


def _sourced(named: tuple[str, str], **facets: Any) -> Json:
    return dataset(named, dataSource=facet(name="the lake", uri=named[0]), **facets)


def _load(run: str, second: float, version: str, columns: str, **more: Any) -> list[Json]:
    """Return START and COMPLETE of a run that reads RAW and DIGIT, and writes a new version of TABLE."""
    told = {"version": facet(datasetVersion=version), "dataSource": facet(name="the lake", uri=STORE)}
    told["documentation"] = facet(description="Orders.")
    fields = {"id": [source(RAW, "id", CLEAR)], "mail": [source(DIGIT, "mail", HASHED)]}
    output = made(TABLE, {name: fields[name] for name in columns.split() if name in fields}, columns=columns, **told)
    reads = [_sourced(RAW, schema=schema(["id"])), _sourced(DIGIT, schema=schema(["mail"]))]
    reads[0]["inputFacets"] = {
        "dataQualityAssertions": facet(assertions=[{"assertion": "not_null", "success": True, "column": "id"}])
    }
    run_facets = {
        "parent": parent(uuid(100), PARENT),
        "nominalTime": facet(nominalStartTime=at(second), nominalEndTime=at(second + 60)),
        "custom": facet(of=version),
    }
    start = run_event("START", at(second), run, JOB, run_facets=run_facets, job_facets=JOB_FACETS, inputs=reads)
    end = run_event("COMPLETE", at(second + 30), run, JOB, job_facets=JOB_FACETS, inputs=reads, outputs=[output])
    return [start, end]


EVENTS: list[Json] = [
    *_load(OLD, 1000, "41", "id"),
    *_load(NEW, 2000, "42", "id mail"),
    run_event(
        "START", at(3000), RUNNING, ("etl:prod", "now"), inputs=[dataset(TABLE)], outputs=[dataset(TOPIC)],
        run_facets={"parent": parent(uuid(100), PARENT)},
    ),
    run_event("START", at(3100), FAILED, ("etl:prod", "broken"), inputs=[dataset(TABLE), dataset(BARE)]),
    run_event("FAIL", at(3160), FAILED, ("etl:prod", "broken")),
    job_event(at(3200), ("etl:prod", "declared"), [dataset(TABLE)], [dataset(COLONS, schema=schema(["id"]))]),
    run_event(
        "RUNNING", at(3300), STREAM, ("etl:prod", "stream"), inputs=[dataset(TOPIC)], outputs=[dataset(COLONS)],
        job_facets={"jobType": facet(processingType="STREAMING", integration="FLINK")},
    ),
]  # fmt: skip
