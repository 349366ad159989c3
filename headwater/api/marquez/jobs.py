"""Jobs, their versions and runs."""

from collections.abc import Mapping
from typing import Any

from headwater.api.marquez.nodes import version_text
from headwater.api.marquez.requests import Answer, MarquezError, RequestContext, not_found_error
from headwater.api.marquez.runs import STATES, DeferredAnswer, brief_run_json, run_json, with_run_facets
from headwater.api.marquez.texts import raw_facets, text_in, url_in
from headwater.events.times import iso_time
from headwater.index.reading.catalog import Catalog, JobRow
from headwater.index.reading.catalog_history import VersionRow
from headwater.index.stored.database import JOB
from headwater.index.stored.versions import job_value_from
from headwater.lineage.names.dataset_name import Name

LATEST_RUNS = 10
_TYPES: dict[str | None, str] = {"STREAMING": "STREAM", "SERVICE": "SERVICE"}
_STATES_OF = {shown: [state for state, each in STATES.items() if each == shown] for shown in STATES.values()}


def job_json(catalog: Catalog, row: JobRow, *, runs: int = LATEST_RUNS) -> Answer:
    """Return a job with its newest runs. Without runs, `latestRuns` is null, as Marquez's page reads its item 0."""
    name = catalog.name_of_number(row.display_name)
    facets = catalog.job_facets(name)
    newest = catalog.runs.newest_runs(row.key_number, max(1, runs))
    versions = catalog.versions.versions(JOB, row.key_number, 1)
    parent = catalog.name_of_number(row.parent).name if row.parent else None
    return {
        "id": name.as_json,
        "type": _TYPES.get(newest[0].processing if newest else text_in(facets, "jobType", "processingType"), "BATCH"),
        "name": name.name,
        "simpleName": name.name.removeprefix(f"{parent}."),
        "parentJobName": parent,
        "parentJobUuid": None,
        "createdAt": iso_time(row.first_us),
        "updatedAt": iso_time(row.last_us),
        "namespace": name.namespace,
        **inputs_and_outputs_of(catalog, versions[0] if versions else None),
        "location": url_in(facets, "sourceCodeLocation", "url"),
        "description": text_in(facets, "documentation", "description"),
        "latestRun": run_json(catalog, newest[0], versions=False) if newest else None,
        "latestRuns": [brief_run_json(run) for run in newest[:runs]] or None,
        "tags": job_tags(catalog, name, facets),
        "facets": raw_facets(facets),
        "currentVersion": version_text(versions[0].version) if versions else None,
        "labels": [],
    }


def job_tags(catalog: Catalog, name: Name, facets: Mapping[str, str]) -> list[str]:
    """Return the tags of a job: the tags of its newest tags facet, with later changes by hand applied."""
    found = {tag["key"]: True for tag in raw_tags(facets)}
    for (mark, tag), (_, value) in catalog.api_changes(name).items():
        if mark == "tag":
            found[tag] = value == "true"
    return sorted(tag for tag, holds in found.items() if holds)


def raw_tags(facets: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the valid tags of a tags facet."""
    listed = text_in(facets, "tags", "tags", kind=list) or []
    return [tag for tag in listed if isinstance(tag, dict) and isinstance(tag.get("key"), str)]


def inputs_and_outputs_of(catalog: Catalog, version: VersionRow | None) -> dict[str, list[dict[str, str]]]:
    """Return the inputs and outputs of a job version. version: None returns empty lists."""
    inputs, outputs = job_value_from(version.packed_value) if version else ((), ())
    return {
        side: sorted(
            (catalog.name_of_number(name).as_json for name in names), key=lambda each: (each["namespace"], each["name"])
        )
        for side, names in (("inputs", inputs), ("outputs", outputs))
    }


def list_jobs(context: RequestContext) -> Answer:
    """GET /jobs and GET /namespaces/{namespace}/jobs, most recent event first."""
    namespace = context.namespace() if "namespace" in context.path else None
    states, page = _requested_states(context), context.list_range()
    rows, total = context.catalog.lists.jobs(namespace, states, page.limit, page.offset)
    return page.list_answer("jobs", [job_json(context.catalog, row) for row in rows], total)


def _requested_states(context: RequestContext) -> list[str]:
    states = [state for part in context.query.getlist("lastRunStates") for state in part.split(",") if state]
    known = ("NEW", "RUNNING", *_STATES_OF)
    wrong = next((state for state in states if state.upper() not in known), None)
    if wrong is not None:
        message = f"query param lastRunStates must be one of [{', '.join(known)}], not {wrong[:40]!r}."
        raise MarquezError(400, {"code": 400, "message": message})
    return [each for state in states for each in _STATES_OF.get(state.upper(), [state.upper()])]


def find_job(context: RequestContext) -> JobRow:
    """Return the job in the path. Raises MarquezError if it is unknown."""
    row = context.find_job(context.path["namespace"], context.path["job"])
    if row is None:
        context.namespace()
        raise not_found_error("Job", context.path["job"])
    return row


def get_job(context: RequestContext) -> Answer | DeferredAnswer:
    """GET /namespaces/{namespace}/jobs/{job}, with the facets of its newest run."""
    row = find_job(context)
    shown = job_json(context.catalog, row)
    newest = context.catalog.runs.newest_runs(row.key_number, 1)
    if not newest:
        return shown
    return with_run_facets(context, newest, [shown["latestRun"]], lambda: shown)


def list_runs(context: RequestContext) -> DeferredAnswer:
    """GET /namespaces/{namespace}/jobs/{job}/runs, newest first."""
    row, page = find_job(context), context.list_range()
    rows = context.catalog.runs.newest_runs(row.key_number, page.limit, page.offset)
    shown = [run_json(context.catalog, run) for run in rows]
    total = context.catalog.runs.count_runs(row.key_number)
    return with_run_facets(context, rows, shown, lambda: page.list_answer("runs", shown, total))


def list_versions(context: RequestContext) -> Answer:
    """GET /namespaces/{namespace}/jobs/{job}/versions."""
    row, page = find_job(context), context.list_range()
    found = context.catalog.versions.versions(JOB, row.key_number, page.limit, page.offset)
    shown = [_version_json(context.catalog, row, version) for version in found]
    return page.list_answer("versions", shown, context.catalog.versions.count_versions(JOB, row.key_number))


def get_version(context: RequestContext) -> Answer:
    """GET /namespaces/{namespace}/jobs/{job}/versions/{version}."""
    row, wanted = find_job(context), context.path["version"].lower()
    for version in context.catalog.versions.versions(JOB, row.key_number, -1):
        if version_text(version.version) == wanted:
            return _version_json(context.catalog, row, version)
    raise not_found_error("Job version", context.path["version"])


def _version_json(catalog: Catalog, row: JobRow, version: VersionRow) -> Answer:
    name = catalog.name_of_number(row.display_name)
    facets = catalog.job_facets(name)
    run = catalog.runs.newest_of_version(row.key_number, version.version, version.last_us) or catalog.runs.run_by_key(
        version.run
    )
    text = version_text(version.version)
    return {
        "id": {**name.as_json, "version": text},
        "name": name.name,
        "version": text,
        "namespace": name.namespace,
        "createdAt": iso_time(version.first_us),
        "updatedAt": iso_time(version.last_us),
        "location": url_in(facets, "sourceCodeLocation", "url"),
        **inputs_and_outputs_of(catalog, version),
        "latestRun": run_json(catalog, run, versions=False) if run else None,
        "facets": raw_facets(facets),
    }
