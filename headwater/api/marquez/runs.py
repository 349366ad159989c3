"""Runs: their states, times, datasets and facets."""

from collections.abc import Callable, Sequence
from typing import Any

from headwater.api.marquez.nodes import version_text
from headwater.api.marquez.requests import Answer, MarquezError, RequestContext, not_found_error
from headwater.common.errors import NotKnown, WrongQuestion
from headwater.events.decode import decode
from headwater.events.times import iso_time
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.catalog_history import RunRow, undescribed_version
from headwater.index.reading.run_history import RunHistory
from headwater.index.stored.events import JOB, RUN
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import events_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import run_id_of
from headwater.lineage.runs.lost_runs import ENDED
from headwater.lineage.runs.run_facts import duration_us
from headwater.questions.facets import merge_facets

DeferredAnswer = Callable[[Bronze], Answer]
"""Completes an answer from bronze. Called after the view of the index is closed, because reading bronze is slow."""

STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED", ENDED: "ABORTED"}
"""Maps states to Marquez's names; all other states are RUNNING. ENDED means that the run ended with its application."""

CREATED_FACET = "headwater_created"
"""Name of the facet with the arguments of a run that an older client of Marquez created."""

_WITH_FACETS = 20
"""Maximum number of runs on a page with facets; the other runs have none."""


def run_json(catalog: Catalog, row: RunRow, *, versions: bool = True) -> Answer:
    """Return a run without facets, which are in bronze. versions: whether to include job and dataset versions."""
    datasets = row.datasets()
    job = catalog.name_of_number(row.job_key)
    return {
        **brief_run_json(row),
        "jobVersion": {**job.as_json, "version": version_text(datasets.job)} if datasets.job else None,
        **(_run_versions_json(catalog, row) if versions else {}),
        "facets": {},
    }


def brief_run_json(row: RunRow) -> Answer:
    """Return a run without facets and versions, for pages of jobs with hundreds of runs."""
    ended, took_us = row.ended_us, duration_us(row.started_us, row.ended_us)
    started, stopped = iso_time(row.started_us), iso_time(ended)
    return {
        "id": run_id_of(row.run),
        "createdAt": started,
        "updatedAt": stopped if ended == row.time_us else iso_time(row.time_us),
        "nominalStartTime": iso_time(row.nominal_start_us),
        "nominalEndTime": iso_time(row.nominal_end_us),
        "state": STATES.get(row.state, "RUNNING"),
        "startedAt": started,
        "endedAt": stopped,
        "durationMs": None if took_us is None else took_us // 1000,
        "args": {},
    }


def _run_versions_json(catalog: Catalog, row: RunRow) -> Answer:
    datasets = row.datasets()
    read = map(catalog.name_of_number, datasets.inputs)
    inputs = [(name, catalog.versions.version_at(name, row.started_us)) for name in read]
    written = [(catalog.name_of_number(number), version) for number, version in datasets.outputs]
    outputs = [(name, undescribed_version(name) if version is None else version) for name, version in written]
    found = {}
    for side, pairs in (("input", inputs), ("output", outputs)):
        listed: list[Answer] = [{**name.as_json, "version": version_text(version)} for name, version in pairs]
        found[f"{side}Versions"] = listed
        found[f"{side}DatasetVersions"] = [{"datasetVersionId": each, "facets": {}} for each in listed]
    return found


def with_run_facets(
    context: RequestContext, rows: Sequence[RunRow], shown: Sequence[Answer], finish: Callable[[], Answer]
) -> DeferredAnswer:
    """Return a deferred answer that adds facets to runs and then returns `finish()`.

    rows: the runs. shown: the answer of each run, to which the facets are added.
    """
    add = facets_reader(context, [row.run for row in rows[:_WITH_FACETS]], "run")

    def answer_with_facets(bronze: Bronze) -> Answer:
        found = add(bronze)
        for row, run in zip(rows, shown, strict=True):
            run["facets"] = found.get(row.run, {})
            if CREATED_FACET in run["facets"]:
                run.update(_created_run_arguments(row, run["facets"][CREATED_FACET]))
        return finish()

    return answer_with_facets


def _created_run_arguments(row: RunRow, facet: Any) -> Answer:
    """Return the members of a run that a client created through the API: its arguments, and the state NEW.

    The state stays NEW until the run has other events.
    """
    args = facet.get("args") if isinstance(facet, dict) else None
    found = {"args": args} if isinstance(args, dict) and all(isinstance(each, str) for each in args.values()) else {}
    is_new = row.ended_us is None and row.time_us == row.started_us
    return found | ({"state": "NEW", "startedAt": None} if is_new else {})


def facets_reader(
    context: RequestContext, keys: Sequence[str], entity: str
) -> Callable[[Bronze], dict[str, dict[str, Any]]]:
    """Return a function that reads the facets of runs or of their jobs, and returns them by key of the run.

    keys: keys of the runs. entity: `run` or `job`. The index contains the run facets of the newest runs of each job;
    the function reads all other facets from bronze.
    """
    runs, whose = context.catalog.runs, JOB if entity == "job" else RUN
    known = runs.run_facets(keys) if whose == RUN else {}
    places = {run: runs.event_places_of_facets(run, whose) for run in keys if run not in known}

    def read_facets(bronze: Bronze) -> dict[str, dict[str, Any]]:
        events = events_at(bronze, set().union(*places.values()))
        found = {run: {facet: decode(text) for facet, text in facets.items()} for run, facets in known.items()}
        return found | {
            run: merge_facets([events[place] for place in own if place in events], entity)
            for run, own in places.items()
        }

    return read_facets


def find_run(context: RequestContext, run_id: str, *, whole: bool = False) -> RunRow:
    """Return a run by its id or the beginning of its id.

    whole: whether to require the whole id. Set it for requests that change the run. Raises MarquezError if the run is
    unknown, or if several runs match. Only ids that are not UUIDs can belong to several runs.
    """
    try:
        row = context.catalog.runs.run_by_key(RunHistory(context.catalog.live).find_run_key(run_id, exact=whole))
    except WrongQuestion as error:
        raise MarquezError(400, {"code": 400, "message": str(error)}) from error
    except NotKnown:
        row = context.catalog.runs.run_by_key(run_id.lower())
    if row is None:
        raise not_found_error("Run", run_id)
    return row


def get_run(context: RequestContext) -> DeferredAnswer:
    """GET /jobs/runs/{id}."""
    row = find_run(context, context.path["run"])
    shown = run_json(context.catalog, row)
    return with_run_facets(context, [row], [shown], lambda: shown)


def get_facets(context: RequestContext) -> DeferredAnswer:
    """GET /jobs/runs/{id}/facets: facets of the run, or with `type=job` those of its job in the events of this run."""
    row = find_run(context, context.path["run"])
    entity = context.query.get("type", "run").lower()
    if entity not in ("run", "job"):
        message = f"query param type must be one of [JOB, RUN], not {entity[:40]!r}."
        raise MarquezError(400, {"code": 400, "message": message})
    read = facets_reader(context, [row.run], entity)
    return lambda bronze: {"runId": run_id_of(row.run), "facets": read(bronze).get(row.run, {})}


def get_upstream_runs(context: RequestContext) -> Answer:
    """GET /runlineage/upstream: the runs that wrote the inputs of a run, up to `depth` steps back."""
    text = context.query.get("runId")
    if not text:
        raise MarquezError(400, {"errors": ["query param runId must not be null"]})
    frontier, seen, shown = [find_run(context, text)], set[str](), []
    for depth in range(min(context.depth(), 20) + 1):
        fresh = [row for row in frontier if row.run not in seen]
        seen.update(row.run for row in fresh)
        shown += [_upstream_item(context.catalog, row, depth) for row in fresh]
        if len(shown) > context.list_range().limit:
            break
        frontier = [
            writer
            for row in fresh
            for name in row.datasets().inputs
            for writer in _newest_writer_before(context.catalog, context.catalog.name_of_number(name), row)
        ]
    limit = context.list_range().limit
    return {"runs": shown[:limit], "truncated": len(shown) > limit or any(row.run not in seen for row in frontier)}


def _upstream_item(catalog: Catalog, row: RunRow, depth: int) -> Answer:
    datasets = row.datasets()
    version = version_text(datasets.job) if datasets.job else None
    return {
        "depth": depth,
        "job": {**catalog.name_of_number(row.job_key).as_json, "version": version},
        "run": {
            "id": run_id_of(row.run), "start": iso_time(row.started_us), "end": iso_time(row.ended_us),
            "status": STATES.get(row.state, "RUNNING"),
        },
        "inputs": [catalog.name_of_number(name).as_json for name in datasets.inputs],
        "outputs": [catalog.name_of_number(name).as_json for name, _ in datasets.outputs],
    }  # fmt: skip


def _newest_writer_before(catalog: Catalog, name: Name, reader: RunRow) -> list[RunRow]:
    """Return the newest run that wrote a dataset before another run started to read it; empty if unknown."""
    found = RunHistory(catalog.live).previous_writer(name, reader.time_us, reader.run)
    row = catalog.runs.run_by_key(found.key) if found else None
    return [row] if row else []
