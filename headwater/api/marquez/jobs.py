"""Jobs, their versions and runs."""

from collections.abc import Mapping
from typing import Any

from headwater.api.marquez.facet_texts import raw_facets, text_in, url_in
from headwater.api.marquez.nodes import version_text
from headwater.api.marquez.requests import Answer, Asked, Refused, not_found
from headwater.api.marquez.run_answers import STATES, Later, brief_json, run_json, with_facets
from headwater.events.times import iso
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.catalog_lists import JobRow
from headwater.index.reading.catalog_versions import VersionRow
from headwater.index.stored.catalog_tables import JOB
from headwater.index.stored.version_table import job_value_from
from headwater.lineage.names.dataset_name import Name

LATEST_RUNS = 10
_TYPES: dict[str | None, str] = {"STREAMING": "STREAM", "SERVICE": "SERVICE"}
_STATES_OF = {shown: [state for state, each in STATES.items() if each == shown] for shown in STATES.values()}


def job_json(catalog: Catalog, row: JobRow, *, runs: int = LATEST_RUNS) -> Answer:
    """Return a job with its newest runs; null where it has none, as Marquez's page takes the first of any list."""
    name = catalog.name(row.shown)
    facets = catalog.job_facets(name)
    newest = catalog.runs.newest(row.key, max(1, runs))
    versions = catalog.versions.listed(JOB, row.key, 1)
    parent = catalog.name(row.parent).name if row.parent else None
    return {
        "id": name.shown,
        "type": _TYPES.get(newest[0].processing if newest else text_in(facets, "jobType", "processingType"), "BATCH"),
        "name": name.name,
        "simpleName": name.name.removeprefix(f"{parent}."),
        "parentJobName": parent,
        "parentJobUuid": None,
        "createdAt": iso(row.first_us),
        "updatedAt": iso(row.last_us),
        "namespace": name.namespace,
        **sides_of(catalog, versions[0] if versions else None),
        "location": url_in(facets, "sourceCodeLocation", "url"),
        "description": text_in(facets, "documentation", "description"),
        "latestRun": run_json(catalog, newest[0], versions=False) if newest else None,
        "latestRuns": [brief_json(run) for run in newest[:runs]] or None,
        "tags": job_tags(catalog, name, facets),
        "facets": raw_facets(facets),
        "currentVersion": version_text(versions[0].version) if versions else None,
        "labels": [],
    }


def job_tags(catalog: Catalog, name: Name, facets: Mapping[str, str]) -> list[str]:
    """Return the tags of a job: of its newest tags facet, and what was changed by hand since."""
    found = {tag["key"]: True for tag in raw_tags(facets)}
    for (mark, tag), (_, value) in catalog.marks(name).items():
        if mark == "tag":
            found[tag] = value == "true"
    return sorted(tag for tag, holds in found.items() if holds)


def raw_tags(facets: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the tags of a tags facet that say something."""
    listed = text_in(facets, "tags", "tags", kind=list) or []
    return [tag for tag in listed if isinstance(tag, dict) and isinstance(tag.get("key"), str)]


def sides_of(catalog: Catalog, version: VersionRow | None) -> dict[str, list[dict[str, str]]]:
    """Return what a version of a job reads and writes, nothing where it has none."""
    inputs, outputs = job_value_from(version.value) if version else ((), ())
    return {
        side: sorted((catalog.name(name).shown for name in names), key=lambda each: (each["namespace"], each["name"]))
        for side, names in (("inputs", inputs), ("outputs", outputs))
    }


def list_jobs(asked: Asked) -> Answer:
    """GET /jobs and GET /namespaces/{namespace}/jobs: what was heard of last comes first."""
    namespace = asked.namespace() if "namespace" in asked.path else None
    states, page = _states(asked), asked.page()
    rows, total = asked.catalog.lists.jobs(namespace, states, page.limit, page.offset)
    return page.listed("jobs", [job_json(asked.catalog, row) for row in rows], total)


def _states(asked: Asked) -> list[str]:
    states = [state for part in asked.query.getlist("lastRunStates") for state in part.split(",") if state]
    known = ("NEW", "RUNNING", *_STATES_OF)
    wrong = next((state for state in states if state.upper() not in known), None)
    if wrong is not None:
        message = f"query param lastRunStates must be one of [{', '.join(known)}]; {wrong[:40]!r} is none."
        raise Refused(400, {"code": 400, "message": message})
    return [each for state in states for each in _STATES_OF.get(state.upper(), [state.upper()])]


def find_job(asked: Asked) -> JobRow:
    """Return the job of the address; raises Refused if it is not known."""
    row = asked.find_job(asked.path["namespace"], asked.path["job"])
    if row is None:
        asked.namespace()
        raise not_found("Job", asked.path["job"])
    return row


def get_job(asked: Asked) -> Answer | Later:
    """GET /namespaces/{namespace}/jobs/{job}: with the facets of its newest run."""
    row = find_job(asked)
    shown = job_json(asked.catalog, row)
    newest = asked.catalog.runs.newest(row.key, 1)
    if not newest:
        return shown
    return with_facets(asked, newest, [shown["latestRun"]], lambda: shown)


def list_runs(asked: Asked) -> Later:
    """GET /namespaces/{namespace}/jobs/{job}/runs, newest first."""
    row, page = find_job(asked), asked.page()
    rows = asked.catalog.runs.newest(row.key, page.limit, page.offset)
    shown = [run_json(asked.catalog, run) for run in rows]
    total = asked.catalog.runs.count(row.key)
    return with_facets(asked, rows, shown, lambda: page.listed("runs", shown, total))


def list_versions(asked: Asked) -> Answer:
    """GET /namespaces/{namespace}/jobs/{job}/versions."""
    row, page = find_job(asked), asked.page()
    found = asked.catalog.versions.listed(JOB, row.key, page.limit, page.offset)
    shown = [_version_json(asked.catalog, row, version) for version in found]
    return page.listed("versions", shown, asked.catalog.versions.count(JOB, row.key))


def get_version(asked: Asked) -> Answer:
    """GET /namespaces/{namespace}/jobs/{job}/versions/{version}."""
    row, wanted = find_job(asked), asked.path["version"].lower()
    for version in asked.catalog.versions.listed(JOB, row.key, -1):
        if version_text(version.version) == wanted:
            return _version_json(asked.catalog, row, version)
    raise not_found("Job version", asked.path["version"])


def _version_json(catalog: Catalog, row: JobRow, version: VersionRow) -> Answer:
    name = catalog.name(row.shown)
    facets = catalog.job_facets(name)
    run = catalog.runs.newest_of_version(row.key, version.version, version.last_us) or catalog.runs.find(version.run)
    text = version_text(version.version)
    return {
        "id": {**name.shown, "version": text},
        "name": name.name,
        "version": text,
        "namespace": name.namespace,
        "createdAt": iso(version.first_us),
        "updatedAt": iso(version.last_us),
        "location": url_in(facets, "sourceCodeLocation", "url"),
        **sides_of(catalog, version),
        "latestRun": run_json(catalog, run, versions=False) if run else None,
        "facets": raw_facets(facets),
    }
