"""Create runs and change their states, which older clients of Marquez do. Each becomes a run event."""

# ruff: noqa: N815 - members are called as Marquez calls them

from collections.abc import Callable
from uuid import uuid4

from msgspec import Struct

from headwater.api.marquez.changes import Change, body_of
from headwater.api.marquez.declared_writes import event_of, run_event
from headwater.api.marquez.jobs import find_job, sides_of
from headwater.api.marquez.requests import Answer, MarquezError, MarquezNotFound, RequestContext, time_us
from headwater.api.marquez.run_answers import CREATED_FACET, STATES, find_run, get_run, run_json
from headwater.events.times import iso
from headwater.index.api_changes import facet
from headwater.index.reading.catalog import Catalog
from headwater.index.stored.database import JOB
from headwater.lineage.runs.job_identity import run_id_of


class RunMeta(Struct):
    """Body of POST …/jobs/{job}/runs."""

    id: str | None = None
    nominalStartTime: str | None = None
    nominalEndTime: str | None = None
    args: dict[str, str] | None = None


def create_run(context: RequestContext) -> Change:
    """POST /namespaces/{namespace}/jobs/{job}/runs: an event OTHER with nominal time and arguments as facets."""
    row, meta = find_job(context), body_of(context, RunMeta)
    run_id = meta.id or str(uuid4())
    _refuse_known(context, run_id)
    times = {
        key: iso(time_us({key: text}, key))
        for key, text in (("nominalStartTime", meta.nominalStartTime), ("nominalEndTime", meta.nominalEndTime))
        if text
    }
    facets = {CREATED_FACET: facet(args=meta.args or {})} | ({"nominalTime": facet(**times)} if times else {})
    event = run_event(run_id, context.catalog.name(row.shown), "OTHER", {}, run=facets)
    now, none = event["eventTime"], {"startedAt": None, "endedAt": None, "durationMs": None, "jobVersion": None}
    answer: Answer = {
        "id": run_id, "createdAt": now, "updatedAt": now, "nominalStartTime": None, "nominalEndTime": None, **times,
        "state": "NEW", **none, "args": meta.args or {}, "facets": {}, "inputVersions": [], "outputVersions": [],
        "inputDatasetVersions": [], "outputDatasetVersions": [],
    }  # fmt: skip
    return Change([event], answer, _shown(run_id), 201)


def _refuse_known(context: RequestContext, run_id: str) -> None:
    try:
        run = find_run(context, run_id, whole=True)
    except MarquezNotFound:
        return
    if run.packed_datasets is None:
        return  # only its child runs name it
    raise MarquezError(400, {"code": 400, "message": f"Run '{run_id}' already exists."})


def mark_run(kind: str) -> Callable[[RequestContext], Change]:
    """Return the handler of POST /jobs/runs/{id}/start and so on. It sends an event of this type at `at=` or now.

    If no event of the run has inputs, the event has the inputs of its job; likewise for outputs.
    """

    def answer(context: RequestContext) -> Change:
        run, at_us = find_run(context, context.path["run"], whole=True), time_us(context.query, "at")
        datasets = run.datasets()
        own = {side for side, named in (("inputs", datasets.inputs), ("outputs", datasets.outputs)) if named}
        of_job = _of_job(context.catalog, run.job_key) if len(own) < 2 else {}
        sides = {side: named for side, named in of_job.items() if side not in own}
        event = event_of(context, run, kind, sides, at_us=at_us)
        shown = {
            **run_json(context.catalog, run),
            "state": STATES.get(kind, "RUNNING"),
            "updatedAt": event["eventTime"],
        }
        return Change([event], shown, _shown(run_id_of(run.run)))

    return answer


def _of_job(catalog: Catalog, job: int) -> dict[str, list[dict[str, str]]]:
    versions = catalog.versions.listed(JOB, job, 1)
    return sides_of(catalog, versions[0] if versions else None)


def _shown(run_id: str) -> Callable[[RequestContext], object]:
    return lambda context: get_run(context._replace(path={"run": run_id}))
