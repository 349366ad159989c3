"""Handle the requests of Marquez's clients and page that change something.

Each request becomes an event, so the change survives a rebuild of the index. Clients can declare namespaces, sources,
datasets and jobs (PUT), create runs and set their states, set and remove tags, and delete things.
"""

# ruff: noqa: N815 - members are called as Marquez calls them

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from msgspec import Struct

from headwater.api.marquez import jobs, namespaces
from headwater.api.marquez.changes import Json, RequestedChange, parse_body
from headwater.api.marquez.datasets import SCHEMA_LOCATION, columns_json, dataset_json, get_dataset
from headwater.api.marquez.jobs import find_job, get_job, inputs_and_outputs_of, job_json
from headwater.api.marquez.namespaces import get_namespace
from headwater.api.marquez.requests import (
    Answer,
    MarquezError,
    MarquezNotFound,
    RequestContext,
    not_found_error,
    parse_time_us,
)
from headwater.api.marquez.runs import CREATED_FACET, STATES, find_run, get_run, run_json
from headwater.events.times import iso_time, parse_time
from headwater.index import api_changes
from headwater.index.api_changes import headwater_event, headwater_facet
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.catalog_history import RunRow
from headwater.index.stored.database import JOB
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import run_id_of
from headwater.lineage.runs.run_facts import Tag

EventDatasets = Mapping[str, Sequence[Mapping[str, Any]]]
"""The datasets of an event under the keys `inputs` and `outputs`."""

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


def put_namespace(context: RequestContext) -> RequestedChange:
    """PUT /namespaces/{namespace}: set owner and description. It restores a deleted namespace."""
    name, meta = context.path["namespace"], parse_body(context, NamespaceMeta)
    event = api_changes.namespace_event(name, {"ownerName": meta.ownerName, "description": meta.description})
    now = _event_time_in_ms(event)
    members = {"ownerName": meta.ownerName, "description": meta.description, "isHidden": False}
    return RequestedChange(
        [event], {"name": name, "createdAt": now, "updatedAt": now, **members}, namespaces.get_namespace
    )


def put_source(context: RequestContext) -> RequestedChange:
    """PUT /sources/{source}."""
    name, meta = context.path["source"], parse_body(context, SourceMeta)
    members = {"type": meta.type, "connectionUrl": meta.connectionUrl, "description": meta.description}
    event = api_changes.source_event(name, members)
    now = _event_time_in_ms(event)
    return RequestedChange(
        [event], {"name": name, "createdAt": now, "updatedAt": now, **members}, namespaces.get_source
    )


def put_dataset(context: RequestContext) -> RequestedChange:
    """PUT …/datasets/{dataset}: a DatasetEvent, or with `runId` an output of this run. Adds tags."""
    name, meta = Name(context.path["namespace"], context.path["dataset"]), parse_body(context, DatasetMeta)
    fields, facets = meta.fields or [], _dataset_facets(context, meta)
    dataset = {**name.as_json, "facets": facets}
    if meta.runId is None:
        event = headwater_event("DatasetEvent", dataset=dataset)
    else:
        run = find_run(context, meta.runId, whole=True)
        facets["version"] = headwater_facet(datasetVersion=run_id_of(run.run))
        event = event_of_run(context, run, "OTHER", {"outputs": [dataset]})
    tags = [(None, tag) for tag in meta.tags or ()] + [(each.name, tag) for each in fields for tag in each.tags or ()]
    tagged = [api_changes.dataset_tag_event(name, column, tag, is_set=True) for column, tag in tags]
    return RequestedChange([event, *tagged], _expected_dataset(name, meta, _event_time_in_ms(event)), get_dataset)


def _dataset_facets(context: RequestContext, meta: DatasetMeta) -> Json:
    source = context.catalog.lists.source(meta.sourceName)
    facets = {"dataSource": headwater_facet(name=meta.sourceName, uri=source[1] if source else meta.sourceName)}
    facets["datasetType"] = headwater_facet(datasetType="TABLE" if meta.type == "DB_TABLE" else "STREAM")
    if meta.fields:
        fields = [{"name": each.name, "type": each.type, "description": each.description} for each in meta.fields]
        facets["schema"] = headwater_facet(
            fields=[{key: text for key, text in each.items() if text} for each in fields]
        )
    if meta.description:
        facets["documentation"] = headwater_facet(description=meta.description)
    if meta.schemaLocation:
        facets[SCHEMA_LOCATION] = headwater_facet(url=meta.schemaLocation)
    return facets


def _event_time_in_ms(event: Json) -> str:
    """Return the time of an event in the precision of later answers, milliseconds."""
    return str(iso_time(parse_time(event["eventTime"])[0]))


def _expected_dataset(name: Name, meta: DatasetMeta, now: str) -> Answer:
    fields = [{"name": f.name, "type": f.type, "tags": f.tags or [], "description": f.description}
              for f in meta.fields or ()]  # fmt: skip
    return {
        "id": name.as_json, "type": meta.type, "name": name.name, "physicalName": name.name, "createdAt": now,
        "updatedAt": now, "namespace": name.namespace, "sourceName": meta.sourceName, "fields": fields,
        "tags": meta.tags or [], "lastModifiedAt": None, "lastLifecycleState": None, "description": meta.description,
        "currentVersion": None, "columnLineage": None, "facets": {}, "deleted": False,
        **({"schemaLocation": meta.schemaLocation} if meta.type == "STREAM" else {}),
    }  # fmt: skip


def put_job(context: RequestContext) -> RequestedChange:
    """PUT …/jobs/{job}: a JobEvent, and with `runId` also a run event with the inputs and outputs."""
    name, meta = Name(context.path["namespace"], context.path["job"]), parse_body(context, JobMeta)
    sides = {
        side: [Name(each.namespace, each.name).as_json for each in listed]
        for side, listed in (("inputs", meta.inputs), ("outputs", meta.outputs))
    }
    facets = _job_facets(meta)
    events = [headwater_event("JobEvent", job={**name.as_json, "facets": facets}, **sides)]
    if meta.runId is not None:
        run = find_run(context, meta.runId, whole=True)
        if context.catalog.find_job(name) != context.catalog.job_by_key_number(run.job_key):
            raise not_found_error("Run", meta.runId)
        events.append(event_of_run(context, run, "OTHER", sides, of_job=facets))
    return RequestedChange(events, _expected_job(name, meta, sides, _event_time_in_ms(events[-1])), jobs.get_job)


def _job_facets(meta: JobMeta) -> Json:
    facets = {"jobType": headwater_facet(processingType=PROCESSING[meta.type], integration="MARQUEZ", jobType="JOB")}
    if meta.description:
        facets["documentation"] = headwater_facet(description=meta.description)
    if meta.location:
        facets["sourceCodeLocation"] = headwater_facet(type="url", url=meta.location)
    if meta.tags:
        facets["tags"] = headwater_facet(tags=[{"key": tag, "value": "true", "source": "MARQUEZ"} for tag in meta.tags])
    return facets


def _expected_job(name: Name, meta: JobMeta, sides: Json, now: str) -> Answer:
    return {
        "id": name.as_json, "type": meta.type, "name": name.name, "simpleName": name.name, "parentJobName": None,
        "parentJobUuid": None, "createdAt": now, "updatedAt": now, "namespace": name.namespace, **sides,
        "location": meta.location, "description": meta.description, "latestRun": None, "latestRuns": None,
        "tags": meta.tags or [], "facets": {}, "currentVersion": None, "labels": [],
    }  # fmt: skip


def event_of_run(
    context: RequestContext, run: RunRow, kind: str, sides: EventDatasets, *, at_us: int | None = None, **facets: Json
) -> Json:
    """Return an event of a known run.

    kind: `eventType` of the event. sides: its datasets. at_us: its time (us, UTC), None for now. facets: `run` and
    `of_job`, see `run_event`.
    """
    row = context.catalog.job_by_key_number(run.job_key)
    name = context.catalog.name_of_number(row.display_name if row else run.job_key)
    event = run_event(run_id_of(run.run), name, kind, sides, **facets)
    return event if at_us is None else {**event, "eventTime": iso_time(at_us)}


def run_event(
    run_id: str, job: Name, kind: str, sides: EventDatasets, *, run: Json | None = None, of_job: Json | None = None
) -> Json:
    """Return a run event with the current time. kind: `eventType`; run, of_job: facets of the run and of its job."""
    members = {"run": {"runId": run_id, "facets": run or {}}, "job": {**job.as_json, "facets": of_job or {}}}
    return headwater_event("RunEvent", eventType=kind, **members, **{"inputs": [], "outputs": [], **sides})


class RunMeta(Struct):
    """Body of POST …/jobs/{job}/runs."""

    id: str | None = None
    nominalStartTime: str | None = None
    nominalEndTime: str | None = None
    args: dict[str, str] | None = None


def create_run(context: RequestContext) -> RequestedChange:
    """POST /namespaces/{namespace}/jobs/{job}/runs: an event OTHER with nominal time and arguments as facets."""
    row, meta = find_job(context), parse_body(context, RunMeta)
    run_id = meta.id or str(uuid4())
    _check_new_run(context, run_id)
    times = {
        key: iso_time(parse_time_us({key: text}, key))
        for key, text in (("nominalStartTime", meta.nominalStartTime), ("nominalEndTime", meta.nominalEndTime))
        if text
    }
    facets = {CREATED_FACET: headwater_facet(args=meta.args or {})} | (
        {"nominalTime": headwater_facet(**times)} if times else {}
    )
    event = run_event(run_id, context.catalog.name_of_number(row.display_name), "OTHER", {}, run=facets)
    now, none = event["eventTime"], {"startedAt": None, "endedAt": None, "durationMs": None, "jobVersion": None}
    answer: Answer = {
        "id": run_id, "createdAt": now, "updatedAt": now, "nominalStartTime": None, "nominalEndTime": None, **times,
        "state": "NEW", **none, "args": meta.args or {}, "facets": {}, "inputVersions": [], "outputVersions": [],
        "inputDatasetVersions": [], "outputDatasetVersions": [],
    }  # fmt: skip
    return RequestedChange([event], answer, _follow_up_with_run(run_id), 201)


def _check_new_run(context: RequestContext, run_id: str) -> None:
    try:
        run = find_run(context, run_id, whole=True)
    except MarquezNotFound:
        return
    if run.packed_datasets is None:
        return  # the run has sent no events; only its child runs have named it
    raise MarquezError(400, {"code": 400, "message": f"Run '{run_id}' already exists."})


def mark_run_handler(kind: str) -> Callable[[RequestContext], RequestedChange]:
    """Return the handler of POST /jobs/runs/{id}/start and so on. kind: `eventType` of the event that it sends.

    The time of the event is the parameter `at`, by default now. If no event of the run has inputs, the event gets the
    inputs of the run's job. The same is true for outputs.
    """

    def mark(context: RequestContext) -> RequestedChange:
        run, at_us = find_run(context, context.path["run"], whole=True), parse_time_us(context.query, "at")
        datasets = run.datasets()
        own = {side for side, named in (("inputs", datasets.inputs), ("outputs", datasets.outputs)) if named}
        of_job = _job_inputs_and_outputs(context.catalog, run.job_key) if len(own) < 2 else {}
        sides = {side: named for side, named in of_job.items() if side not in own}
        event = event_of_run(context, run, kind, sides, at_us=at_us)
        shown = {
            **run_json(context.catalog, run),
            "state": STATES.get(kind, "RUNNING"),
            "updatedAt": event["eventTime"],
        }
        return RequestedChange([event], shown, _follow_up_with_run(run_id_of(run.run)))

    return mark


def _job_inputs_and_outputs(catalog: Catalog, job: int) -> dict[str, list[dict[str, str]]]:
    versions = catalog.versions.versions(JOB, job, 1)
    return inputs_and_outputs_of(catalog, versions[0] if versions else None)


def _follow_up_with_run(run_id: str) -> Callable[[RequestContext], object]:
    return lambda context: get_run(context._replace(path={"run": run_id}))


def create_tag(context: RequestContext) -> RequestedChange:
    """PUT /tags/{tag}."""
    tag, text = context.path["tag"], parse_body(context, dict[str, Any]).get("description")
    description = text if isinstance(text, str) else ""
    event = api_changes.tag_event(tag, description)
    return RequestedChange([event], {"name": tag, "description": description or None})


def tag_dataset_handler(*, is_set: bool) -> Callable[[RequestContext], RequestedChange]:
    """Return the handler of POST or DELETE /namespaces/{namespace}/datasets/{dataset}/tags/{tag}."""

    def change_tag(context: RequestContext) -> RequestedChange:
        name, tag = context.dataset(whole=True), context.path["tag"]
        shown = dataset_json(context, name)
        shown["tags"] = _with_tag(shown["tags"], tag, is_set=is_set)
        return RequestedChange(_tag_change_events(context, name, None, tag, is_set=is_set), shown, get_dataset)

    return change_tag


def tag_field_handler(*, is_set: bool) -> Callable[[RequestContext], RequestedChange]:
    """Return the handler of POST or DELETE …/datasets/{dataset}/fields/{field}/tags/{tag}."""

    def change_tag(context: RequestContext) -> RequestedChange:
        name, column, tag = context.dataset(whole=True), context.path["field"], context.path["tag"]
        shown = dataset_json(context, name)
        shown["fields"] = columns_json(context, name)
        field = next((each for each in shown["fields"] if each["name"].casefold() == column.casefold()), None)
        if field is None:
            raise not_found_error("Dataset field", column)
        field["tags"] = _with_tag(field["tags"], tag, is_set=is_set)
        return RequestedChange(_tag_change_events(context, name, field["name"], tag, is_set=is_set), shown, get_dataset)

    return change_tag


def tag_job_handler(*, is_set: bool) -> Callable[[RequestContext], RequestedChange]:
    """Return the handler of POST or DELETE /namespaces/{namespace}/jobs/{job}/tags/{tag}."""

    def change_tag(context: RequestContext) -> RequestedChange:
        row, tag = find_job(context), context.path["tag"]
        shown = job_json(context.catalog, row)
        shown["tags"] = _with_tag(shown["tags"], tag, is_set=is_set)
        event = api_changes.job_tag_event(context.catalog.name_of_number(row.display_name), tag, is_set=is_set)
        return RequestedChange([event], shown, get_job)

    return change_tag


def delete_dataset(context: RequestContext) -> RequestedChange:
    """DELETE /namespaces/{namespace}/datasets/{dataset}: hide it until it is written again."""
    name = context.dataset(whole=True)
    return RequestedChange([api_changes.dataset_deletion_event(name)], dataset_json(context, name))


def delete_job(context: RequestContext) -> RequestedChange:
    """DELETE /namespaces/{namespace}/jobs/{job}: hide it until it runs again."""
    row = find_job(context)
    return RequestedChange(
        [api_changes.job_deletion_event(context.catalog.name_of_number(row.display_name))],
        job_json(context.catalog, row),
    )


def delete_namespace(context: RequestContext) -> RequestedChange:
    """DELETE /namespaces/{namespace}: drop its datasets and hide its jobs until new events name them."""
    name = context.namespace()
    datasets, _ = context.catalog.lists.datasets(name, -1, 0)
    events = api_changes.namespace_deletion_events(name, [Name(name, each) for each in datasets])
    return RequestedChange(events, {**get_namespace(context), "isHidden": True})


def _tag_change_events(
    context: RequestContext, name: Name, column: str | None, tag: str, *, is_set: bool
) -> list[Json]:
    """Return the events that set or remove a tag. is_set: True to set the tag, False to remove it.

    To remove a tag, the events repeat the tags of each producer that set it, without this tag.
    """
    events = [api_changes.dataset_tag_event(name, column, tag, is_set=is_set)]
    for tagged in () if is_set else context.catalog.newest_tags_facets(context.names_of(name)):
        left = [
            each
            for each in tagged.tags
            if (each.key, (each.column or "").casefold()) != (tag, (column or "").casefold())
        ]
        if len(left) < len(tagged.tags) and tagged.producer != events[0]["producer"]:
            events.append(api_changes.tags_event(tagged.name, tagged.producer, list(map(_tag_json, left))))
    return events


def _tag_json(tag: Tag) -> Json:
    members = {"key": tag.key, "value": tag.value, "field": tag.column}
    return {key: text for key, text in members.items() if text is not None}


def _with_tag(tags: list[str], tag: str, *, is_set: bool) -> list[str]:
    return sorted({*tags, tag} if is_set else {*tags} - {tag})
