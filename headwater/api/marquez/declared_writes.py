"""PUT of namespaces, sources, datasets and jobs, which older clients of Marquez use. Each becomes an event."""

# ruff: noqa: N815 - members are called as Marquez calls them

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from headwater.api.marquez import jobs, namespaces
from headwater.api.marquez.changes import Change, Json, body_of
from headwater.api.marquez.datasets import SCHEMA_LOCATION, get_dataset
from headwater.api.marquez.requests import Answer, RequestContext, not_found
from headwater.api.marquez.run_answers import find_run
from headwater.events.times import iso, parse_time
from headwater.index import api_changes
from headwater.index.api_changes import facet, headwater_event
from headwater.index.reading.catalog_history import RunRow
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_id_of

EventDatasets = Mapping[str, Sequence[Mapping[str, Any]]]
"""`inputs` and `outputs` of an event."""

PROCESSING = {"BATCH": "BATCH", "STREAM": "STREAMING", "SERVICE": "SERVICE"}
"""Maps Marquez's types of jobs to `processingType` of OpenLineage's jobType facet."""


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
    """Body of PUT …/datasets/{dataset}. runId: the run that wrote the dataset."""

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
    """Body of PUT …/jobs/{job}. runId: the run with these inputs and outputs."""

    type: Literal["BATCH", "STREAM", "SERVICE"]
    inputs: list[DatasetIdMeta]
    outputs: list[DatasetIdMeta]
    location: str | None = None
    description: str | None = None
    runId: str | None = None
    tags: list[str] | None = None


def put_namespace(context: RequestContext) -> Change:
    """PUT /namespaces/{namespace}: set owner and description. It restores a deleted namespace."""
    name, meta = context.path["namespace"], body_of(context, NamespaceMeta)
    event = api_changes.namespace_event(name, {"ownerName": meta.ownerName, "description": meta.description})
    now = _shown_time(event)
    members = {"ownerName": meta.ownerName, "description": meta.description, "isHidden": False}
    return Change([event], {"name": name, "createdAt": now, "updatedAt": now, **members}, namespaces.get_namespace)


def put_source(context: RequestContext) -> Change:
    """PUT /sources/{source}."""
    name, meta = context.path["source"], body_of(context, SourceMeta)
    members = {"type": meta.type, "connectionUrl": meta.connectionUrl, "description": meta.description}
    event = api_changes.source_event(name, members)
    now = _shown_time(event)
    return Change([event], {"name": name, "createdAt": now, "updatedAt": now, **members}, namespaces.get_source)


def put_dataset(context: RequestContext) -> Change:
    """PUT …/datasets/{dataset}: a DatasetEvent, or with `runId` an output of this run. Adds tags."""
    name, meta = Name(context.path["namespace"], context.path["dataset"]), body_of(context, DatasetMeta)
    fields, facets = meta.fields or [], _dataset_facets(context, meta)
    dataset = {**name.shown, "facets": facets}
    if meta.runId is None:
        event = headwater_event("DatasetEvent", dataset=dataset)
    else:
        run = find_run(context, meta.runId, whole=True)
        facets["version"] = facet(datasetVersion=run_id_of(run.run))
        event = event_of(context, run, "OTHER", {"outputs": [dataset]})
    tags = [(None, tag) for tag in meta.tags or ()] + [(each.name, tag) for each in fields for tag in each.tags or ()]
    tagged = [api_changes.dataset_tag_event(name, column, tag, holds=True) for column, tag in tags]
    return Change([event, *tagged], _expected_dataset(name, meta, _shown_time(event)), get_dataset)


def _dataset_facets(context: RequestContext, meta: DatasetMeta) -> Json:
    source = context.catalog.lists.source(meta.sourceName)
    facets = {"dataSource": facet(name=meta.sourceName, uri=source[1] if source else meta.sourceName)}
    facets["datasetType"] = facet(datasetType="TABLE" if meta.type == "DB_TABLE" else "STREAM")
    if meta.fields:
        fields = [{"name": each.name, "type": each.type, "description": each.description} for each in meta.fields]
        facets["schema"] = facet(fields=[{key: text for key, text in each.items() if text} for each in fields])
    if meta.description:
        facets["documentation"] = facet(description=meta.description)
    if meta.schemaLocation:
        facets[SCHEMA_LOCATION] = facet(url=meta.schemaLocation)
    return facets


def _shown_time(event: Json) -> str:
    """Return the time of an event in the precision of later answers, milliseconds."""
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


def put_job(context: RequestContext) -> Change:
    """PUT …/jobs/{job}: a JobEvent, and with `runId` also a run event with the inputs and outputs."""
    name, meta = Name(context.path["namespace"], context.path["job"]), body_of(context, JobMeta)
    sides = {
        side: [Name(each.namespace, each.name).shown for each in listed]
        for side, listed in (("inputs", meta.inputs), ("outputs", meta.outputs))
    }
    facets = _job_facets(meta)
    events = [headwater_event("JobEvent", job={**name.shown, "facets": facets}, **sides)]
    if meta.runId is not None:
        run = find_run(context, meta.runId, whole=True)
        if context.catalog.job(name) != context.catalog.job_of(run.job_key):
            raise not_found("Run", meta.runId)
        events.append(event_of(context, run, "OTHER", sides, of_job=facets))
    return Change(events, _expected_job(name, meta, sides, _shown_time(events[-1])), jobs.get_job)


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


def event_of(
    context: RequestContext, run: RunRow, kind: str, sides: EventDatasets, *, at_us: int | None = None, **facets: Json
) -> Json:
    """Return an event of a known run. kind: its `eventType`; facets: `run` and `of_job`, see `run_event`."""
    row = context.catalog.job_of(run.job_key)
    name = context.catalog.name(row.shown if row else run.job_key)
    event = run_event(run_id_of(run.run), name, kind, sides, **facets)
    return event if at_us is None else {**event, "eventTime": iso(at_us)}


def run_event(
    run_id: str, job: Name, kind: str, sides: EventDatasets, *, run: Json | None = None, of_job: Json | None = None
) -> Json:
    """Return a run event with the current time. run, of_job: facets of the run and of its job."""
    members = {"run": {"runId": run_id, "facets": run or {}}, "job": {**job.shown, "facets": of_job or {}}}
    return headwater_event("RunEvent", eventType=kind, **members, **{"inputs": [], "outputs": [], **sides})
