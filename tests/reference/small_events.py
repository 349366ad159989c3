"""Four tables and short helpers to write runs on them, for cases that people read one by one."""

from typing import Any

from tests.reference.world_events import Json, at, column_lineage, dataset, facet, run_event, schema, source, step, uuid

Named = tuple[str, str]

A, B, C, D = (("s3://lake", name) for name in "abcd")
ALIAS = ("hive://meta", "db.t")
SECOND = 1_000_000
CLEAR, HASHED, FILTERED = step("DIRECT"), step("DIRECT", masking=True), step("INDIRECT")
STREAM = {"jobType": facet(processingType="STREAMING", integration="SPARK")}
GUID = "3f2a9c1e-0000-4000-8000-00000000aa01"


def run(number: int, second: float, *outputs: Json, reads: list[Json] | None = None, **more: Any) -> Json:
    """Return an event of run `number`. more: kind, job, run_facets, job_facets."""
    kind, job = more.pop("kind", "COMPLETE"), ("jobs", more.pop("job", "job"))
    return run_event(kind, at(second), uuid(number), job, inputs=reads or [], outputs=list(outputs), **more)


def made(target: Named, fields: dict[str, list[Json]], *whole: Json, columns: str | None = None, **facets: Any) -> Json:
    """Return an output with column lineage, and a schema of `columns`, or of the columns that the lineage names."""
    listed = list(fields) if columns is None else columns.split()
    told = {"schema": schema(listed)} if listed else {}
    return dataset(target, columnLineage=column_lineage(fields, whole), **told, **facets)


def x_from(origin: Named, target: Named, **more: Any) -> Json:
    return made(target, {"x": [source(origin, "x")]}, **more)


def changed(named: Named, change: str, **more: Any) -> Json:
    return dataset(named, lifecycleStateChange=facet(lifecycleStateChange=change, **more))


def renamed(old: Named, new: Named) -> Json:
    return changed(new, "RENAME", previousIdentifier={"namespace": old[0], "name": old[1]})


def with_schema(named: Named, columns: str) -> Json:
    return dataset(named, schema=schema(columns.split()))
