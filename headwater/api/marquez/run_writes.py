"""Runs that Marquez's older clients create and move from state to state, as run events."""

# ruff: noqa: N815 - members are called as Marquez calls them

from collections.abc import Callable
from uuid import uuid4

from msgspec import Struct

from headwater.api.marquez.declared_writes import event_of, run_event
from headwater.api.marquez.jobs import find_job, sides_of
from headwater.api.marquez.marquez_writing import Write, body_of
from headwater.api.marquez.requests import Answer, Asked, Refused, Unknown, time_us
from headwater.api.marquez.run_answers import CREATED, STATES, find_run, get_run, run_json
from headwater.events.times import iso
from headwater.index.reading.catalog import Catalog
from headwater.index.stored.catalog_tables import JOB
from headwater.index.writing.announced_changes import facet
from headwater.lineage.runs.job_identity import run_id_of


class RunMeta(Struct):
    """Body of POST …/jobs/{job}/runs."""

    id: str | None = None
    nominalStartTime: str | None = None
    nominalEndTime: str | None = None
    args: dict[str, str] | None = None


def create_run(asked: Asked) -> Write:
    """POST /namespaces/{namespace}/jobs/{job}/runs: an event OTHER, with what was told of the run in its facets."""
    row, meta = find_job(asked), body_of(asked, RunMeta)
    run_id = meta.id or str(uuid4())
    _refuse_known(asked, run_id)
    times = {
        key: iso(time_us({key: text}, key))
        for key, text in (("nominalStartTime", meta.nominalStartTime), ("nominalEndTime", meta.nominalEndTime))
        if text
    }
    facets = {CREATED: facet(args=meta.args or {})} | ({"nominalTime": facet(**times)} if times else {})
    event = run_event(run_id, asked.catalog.name(row.shown), "OTHER", {}, run=facets)
    now, none = event["eventTime"], {"startedAt": None, "endedAt": None, "durationMs": None, "jobVersion": None}
    answer: Answer = {
        "id": run_id, "createdAt": now, "updatedAt": now, "nominalStartTime": None, "nominalEndTime": None, **times,
        "state": "NEW", **none, "args": meta.args or {}, "facets": {}, "inputVersions": [], "outputVersions": [],
        "inputDatasetVersions": [], "outputDatasetVersions": [],
    }  # fmt: skip
    return Write([event], answer, _shown(run_id), 201)


def _refuse_known(asked: Asked, run_id: str) -> None:
    try:
        run = find_run(asked, run_id, whole=True)
    except Unknown:
        return
    if run.said is None:
        return  # only runs below it name it
    raise Refused(400, {"code": 400, "message": f"Run '{run_id}' already exists."})


def mark_run(kind: str) -> Callable[[Asked], Write]:
    """Return what answers POST /jobs/runs/{id}/start and the like: an event of this type, at `at=` or now.

    A run of which no event says what it reads reads what its job does; likewise what it writes.
    """

    def answer(asked: Asked) -> Write:
        run, at_us = find_run(asked, asked.path["run"], whole=True), time_us(asked.query, "at")
        said = run.datasets()
        own = {side for side, named in (("inputs", said.inputs), ("outputs", said.outputs)) if named}
        of_job = _of_job(asked.catalog, run.job_key) if len(own) < 2 else {}
        sides = {side: named for side, named in of_job.items() if side not in own}
        event = event_of(asked, run, kind, sides, at_us=at_us)
        shown = {**run_json(asked.catalog, run), "state": STATES.get(kind, "RUNNING"), "updatedAt": event["eventTime"]}
        return Write([event], shown, _shown(run_id_of(run.run)))

    return answer


def _of_job(catalog: Catalog, job: int) -> dict[str, list[dict[str, str]]]:
    versions = catalog.versions.listed(JOB, job, 1)
    return sides_of(catalog, versions[0] if versions else None)


def _shown(run_id: str) -> Callable[[Asked], object]:
    return lambda asked: get_run(asked._replace(path={"run": run_id}))
