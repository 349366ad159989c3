"""What Marquez's older clients declare one by one: namespaces, sources, datasets and jobs, each as an event."""

# ruff: noqa: N815 - members are called as Marquez calls them

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from headwater.api.marquez import jobs, namespaces
from headwater.api.marquez.datasets import SCHEMA_LOCATION, get_dataset
from headwater.api.marquez.marquez_writing import Json, Write, body_of
from headwater.api.marquez.requests import Answer, Asked, not_found
from headwater.api.marquez.run_answers import find_run
from headwater.events.times import iso, parse_time
from headwater.index.reading.catalog_runs import RunRow
from headwater.index.writing import announced_changes
from headwater.index.writing.announced_changes import facet, sent_event
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_id_of

Sides = Mapping[str, Sequence[Mapping[str, Any]]]
"""`inputs` and `outputs` of an event."""

PROCESSING = {"BATCH": "BATCH", "STREAM": "STREAMING", "SERVICE": "SERVICE"}
"""Types of jobs as Marquez calls them → `processingType` of OpenLineage's jobType facet."""


class NamespaceMeta(Struct):
    """Body of PUT /namespaces/{namespace}."""

    ownerName: str
    description: str | None = None


class SourceMeta(Struct):
    """Body of PUT /sources/{source}."""

    type: str
    connectionUrl: str
    description: str | None = None


class FieldMeta(Struct):
    """A column of a declared dataset."""

    name: str
    type: str | None = None
    tags: list[str] | None = None
    description: str | None = None


class DatasetMeta(Struct):
    """Body of PUT …/datasets/{dataset}; runId: of the run that wrote it."""

    type: Literal["DB_TABLE", "STREAM"]
    physicalName: str
    sourceName: str
    fields: list[FieldMeta] | None = None
    tags: list[str] | None = None
    description: str | None = None
    runId: str | None = None
    schemaLocation: str | None = None


class DatasetIdMeta(Struct):
    """A dataset that a declared job reads or writes."""

    namespace: str
    name: str


class JobMeta(Struct):
    """Body of PUT …/jobs/{job}; runId: of the run that reads and writes so."""

    type: Literal["BATCH", "STREAM", "SERVICE"]
    inputs: list[DatasetIdMeta]
    outputs: list[DatasetIdMeta]
    location: str | None = None
    description: str | None = None
    runId: str | None = None
    tags: list[str] | None = None


def put_namespace(asked: Asked) -> Write:
    """PUT /namespaces/{namespace}: its owner and description; one that was deleted is back."""
    name, meta = asked.path["namespace"], body_of(asked, NamespaceMeta)
    event = announced_changes.namespace_described(name, {"ownerName": meta.ownerName, "description": meta.description})
    now = _shown_time(event)
    told = {"ownerName": meta.ownerName, "description": meta.description, "isHidden": False}
    return Write([event], {"name": name, "createdAt": now, "updatedAt": now, **told}, namespaces.get_namespace)


def put_source(asked: Asked) -> Write:
    """PUT /sources/{source}."""
    name, meta = asked.path["source"], body_of(asked, SourceMeta)
    told = {"type": meta.type, "connectionUrl": meta.connectionUrl, "description": meta.description}
    event = announced_changes.source_described(name, told)
    now = _shown_time(event)
    return Write([event], {"name": name, "createdAt": now, "updatedAt": now, **told}, namespaces.get_source)


def put_dataset(asked: Asked) -> Write:
    """PUT …/datasets/{dataset}: a DatasetEvent, or with `runId` an output of that run; tags are added."""
    name, meta = Name(asked.path["namespace"], asked.path["dataset"]), body_of(asked, DatasetMeta)
    fields, facets = meta.fields or [], _dataset_facets(asked, meta)
    dataset = {**name.shown, "facets": facets}
    if meta.runId is None:
        event = sent_event("DatasetEvent", dataset=dataset)
    else:
        run = find_run(asked, meta.runId, whole=True)
        facets["version"] = facet(datasetVersion=run_id_of(run.run))
        event = event_of(asked, run, "OTHER", {"outputs": [dataset]})
    tags = [(None, tag) for tag in meta.tags or ()] + [(each.name, tag) for each in fields for tag in each.tags or ()]
    tagged = [announced_changes.dataset_tagged(name, column, tag, holds=True) for column, tag in tags]
    return Write([event, *tagged], _expected_dataset(name, meta, _shown_time(event)), get_dataset)


def _dataset_facets(asked: Asked, meta: DatasetMeta) -> Json:
    source = asked.catalog.lists.source(meta.sourceName)
    facets = {"dataSource": facet(name=meta.sourceName, uri=source[1] if source else meta.sourceName)}
    facets["datasetType"] = facet(datasetType="TABLE" if meta.type == "DB_TABLE" else "STREAM")
    if meta.fields:
        told = [{"name": each.name, "type": each.type, "description": each.description} for each in meta.fields]
        facets["schema"] = facet(fields=[{key: text for key, text in each.items() if text} for each in told])
    if meta.description:
        facets["documentation"] = facet(description=meta.description)
    if meta.schemaLocation:
        facets[SCHEMA_LOCATION] = facet(url=meta.schemaLocation)
    return facets


def _shown_time(event: Json) -> str:
    """Return the event's time as it is read back later, to the millisecond."""
    return str(iso(parse_time(event["eventTime"])[0]))


def _expected_dataset(name: Name, meta: DatasetMeta, now: str) -> Answer:
    fields = [{"name": f.name, "type": f.type, "tags": f.tags or [], "description": f.description}
              for f in meta.fields or ()]  # fmt: skip
    return {
        "id": name.shown, "type": meta.type, "name": name.name, "physicalName": name.name, "createdAt": now,
        "updatedAt": now, "namespace": name.namespace, "sourceName": meta.sourceName, "fields": fields,
        "tags": meta.tags or [], "lastModifiedAt": None, "lastLifecycleState": None, "description": meta.description,
        "currentVersion": None, "columnLineage": None, "facets": {}, "deleted": False,
        **({"schemaLocation": meta.schemaLocation} if meta.type == "STREAM" else {}),
    }  # fmt: skip


def put_job(asked: Asked) -> Write:
    """PUT …/jobs/{job}: a JobEvent, and with `runId` also what that run reads and writes."""
    name, meta = Name(asked.path["namespace"], asked.path["job"]), body_of(asked, JobMeta)
    sides = {
        side: [Name(each.namespace, each.name).shown for each in listed]
        for side, listed in (("inputs", meta.inputs), ("outputs", meta.outputs))
    }
    facets = _job_facets(meta)
    events = [sent_event("JobEvent", job={**name.shown, "facets": facets}, **sides)]
    if meta.runId is not None:
        run = find_run(asked, meta.runId, whole=True)
        if asked.catalog.job(name) != asked.catalog.job_of(run.job_key):
            raise not_found("Run", meta.runId)
        events.append(event_of(asked, run, "OTHER", sides, of_job=facets))
    return Write(events, _expected_job(name, meta, sides, _shown_time(events[-1])), jobs.get_job)


def _job_facets(meta: JobMeta) -> Json:
    facets = {"jobType": facet(processingType=PROCESSING[meta.type], integration="MARQUEZ", jobType="JOB")}
    if meta.description:
        facets["documentation"] = facet(description=meta.description)
    if meta.location:
        facets["sourceCodeLocation"] = facet(type="url", url=meta.location)
    if meta.tags:
        facets["tags"] = facet(tags=[{"key": tag, "value": "true", "source": "MARQUEZ"} for tag in meta.tags])
    return facets


def _expected_job(name: Name, meta: JobMeta, sides: Json, now: str) -> Answer:
    return {
        "id": name.shown, "type": meta.type, "name": name.name, "simpleName": name.name, "parentJobName": None,
        "parentJobUuid": None, "createdAt": now, "updatedAt": now, "namespace": name.namespace, **sides,
        "location": meta.location, "description": meta.description, "latestRun": None, "latestRuns": None,
        "tags": meta.tags or [], "facets": {}, "currentVersion": None, "labels": [],
    }  # fmt: skip


def event_of(asked: Asked, run: RunRow, kind: str, sides: Sides, *, at_us: int | None = None, **facets: Json) -> Json:
    """Return an event of a run that is known; kind: its `eventType`; facets: of run and job."""
    row = asked.catalog.job_of(run.job_key)
    name = asked.catalog.name(row.shown if row else run.job_key)
    event = run_event(run_id_of(run.run), name, kind, sides, **facets)
    return event if at_us is None else {**event, "eventTime": iso(at_us)}


def run_event(
    run_id: str, job: Name, kind: str, sides: Sides, *, run: Json | None = None, of_job: Json | None = None
) -> Json:
    """Return an event of a run, now; run, of_job: its facets and its job's."""
    told = {"run": {"runId": run_id, "facets": run or {}}, "job": {**job.shown, "facets": of_job or {}}}
    return sent_event("RunEvent", eventType=kind, **told, **{"inputs": [], "outputs": [], **sides})
