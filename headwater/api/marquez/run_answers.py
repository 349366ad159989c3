"""Runs: their states, times, datasets and facets."""

from collections.abc import Callable, Sequence
from typing import Any

from headwater.api.marquez.nodes import version_text
from headwater.api.marquez.requests import Answer, Asked, Refused, not_found
from headwater.errors import NotKnown, WrongQuestion
from headwater.events.decode import decode
from headwater.events.times import iso
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.catalog_runs import RunRow
from headwater.index.reading.catalog_versions import undescribed
from headwater.index.reading.run_history import RunHistory
from headwater.index.stored.facet_names_table import JOB, RUN
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import events_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_id_of
from headwater.lineage.runs.lost_runs import ENDED
from headwater.lineage.runs.run_facts import duration_us
from headwater.questions.facet_values import told_together

Later = Callable[[Bronze], Answer]
"""What is left to do with bronze, which is too slow to hold up other questions for it."""

STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED", ENDED: "ABORTED"}
"""As Marquez calls them; all others are RUNNING. Marquez has no state for a run that ended with its application."""

CREATED = "headwater_created"
"""Facet of a run that was created by Marquez's older clients: what they said of it."""

_WITH_FACETS = 20
"""Runs of a page whose facets are read; the others show none."""


def run_json(catalog: Catalog, row: RunRow, *, versions: bool = True) -> Answer:
    """Return a run; versions: also those of its job and datasets. Its facets are in bronze and not here."""
    said = row.datasets()
    job = catalog.name(row.job_key)
    return {
        **brief_json(row),
        "jobVersion": {**job.shown, "version": version_text(said.job)} if said.job else None,
        **(_versions(catalog, row) if versions else {}),
        "facets": {},
    }


def brief_json(row: RunRow) -> Answer:
    """Return a run without facets and versions: a page of jobs shows a hundred of them."""
    ended, took_us = row.ended_us, duration_us(row.started_us, row.ended_us)
    started, stopped = iso(row.started_us), iso(ended)
    return {
        "id": run_id_of(row.run),
        "createdAt": started,
        "updatedAt": stopped if ended == row.time_us else iso(row.time_us),
        "nominalStartTime": iso(row.nominal_start_us),
        "nominalEndTime": iso(row.nominal_end_us),
        "state": STATES.get(row.state, "RUNNING"),
        "startedAt": started,
        "endedAt": stopped,
        "durationMs": None if took_us is None else took_us // 1000,
        "args": {},
    }


def _versions(catalog: Catalog, row: RunRow) -> Answer:
    said = row.datasets()
    read = map(catalog.name, said.inputs)
    inputs = [(name, catalog.versions.at(name, row.started_us)) for name in read]
    written = [(catalog.name(number), version) for number, version in said.outputs]
    outputs = [(name, undescribed(name) if version is None else version) for name, version in written]
    found = {}
    for side, pairs in (("input", inputs), ("output", outputs)):
        listed: list[Answer] = [{**name.shown, "version": version_text(version)} for name, version in pairs]
        found[f"{side}Versions"] = listed
        found[f"{side}DatasetVersions"] = [{"datasetVersionId": each, "facets": {}} for each in listed]
    return found


def with_facets(asked: Asked, rows: Sequence[RunRow], shown: Sequence[Answer], finish: Callable[[], Answer]) -> Later:
    """Return what adds the facets to runs that are shown, then finishes the answer."""
    add = facets_later(asked, [row.run for row in rows[:_WITH_FACETS]], "run")

    def later(bronze: Bronze) -> Answer:
        found = add(bronze)
        for row, run in zip(rows, shown, strict=True):
            run["facets"] = found.get(row.run, {})
            if CREATED in run["facets"]:
                run.update(_created(row, run["facets"][CREATED]))
        return finish()

    return later


def _created(row: RunRow, facet: Any) -> Answer:
    """Return what is known besides of a run that was created by hand; NEW, if that is all that was heard of it."""
    args = facet.get("args") if isinstance(facet, dict) else None
    told = {"args": args} if isinstance(args, dict) and all(isinstance(each, str) for each in args.values()) else {}
    is_new = row.ended_us is None and row.time_us == row.started_us
    return told | ({"state": "NEW", "startedAt": None} if is_new else {})


def facets_later(asked: Asked, keys: Sequence[str], entity: str) -> Callable[[Bronze], dict[str, dict[str, Any]]]:
    """Return what reads the facets of runs, or of their jobs, from bronze; those of a job's newest runs are here."""
    runs, whose = asked.catalog.runs, JOB if entity == "job" else RUN
    known = runs.facets(keys) if whose == RUN else {}
    places = {run: runs.facet_places(run, whose) for run in keys if run not in known}

    def read(bronze: Bronze) -> dict[str, dict[str, Any]]:
        events = events_at(bronze, set().union(*places.values()))
        found = {run: {facet: decode(text) for facet, text in facets.items()} for run, facets in known.items()}
        return found | {
            run: told_together([events[place] for place in own if place in events], entity)
            for run, own in places.items()
        }

    return read


def find_run(asked: Asked, run_id: str, *, whole: bool = False) -> RunRow:
    """Return a run by its id; raises Refused if there is none, or several of one id that is no UUID.

    whole: accept no beginning of an id, because the request changes the run.
    """
    try:
        row = asked.catalog.runs.find(RunHistory(asked.catalog.live).key(run_id, whole=whole))
    except WrongQuestion as error:
        raise Refused(400, {"code": 400, "message": str(error)}) from error
    except NotKnown:
        row = asked.catalog.runs.find(run_id.lower())
    if row is None:
        raise not_found("Run", run_id)
    return row


def get_run(asked: Asked) -> Later:
    """GET /jobs/runs/{id}."""
    row = find_run(asked, asked.path["run"])
    shown = run_json(asked.catalog, row)
    return with_facets(asked, [row], [shown], lambda: shown)


def get_facets(asked: Asked) -> Later:
    """GET /jobs/runs/{id}/facets: of the run, or with `type=job` of its job as this run told them."""
    row = find_run(asked, asked.path["run"])
    entity = asked.query.get("type", "run").lower()
    if entity not in ("run", "job"):
        message = f"query param type must be one of [JOB, RUN]; {entity[:40]!r} is none."
        raise Refused(400, {"code": 400, "message": message})
    read = facets_later(asked, [row.run], entity)
    return lambda bronze: {"runId": run_id_of(row.run), "facets": read(bronze).get(row.run, {})}


def upstream(asked: Asked) -> Answer:
    """GET /runlineage/upstream: the runs that wrote what a run read, as far back as `depth`."""
    text = asked.query.get("runId")
    if not text:
        raise Refused(400, {"errors": ["query param runId must not be null"]})
    front, seen, shown = [find_run(asked, text)], set[str](), []
    for depth in range(min(asked.depth(), 20) + 1):
        fresh = [row for row in front if row.run not in seen]
        seen.update(row.run for row in fresh)
        shown += [_upstream_item(asked.catalog, row, depth) for row in fresh]
        if len(shown) > asked.page().limit:
            break
        front = [
            writer
            for row in fresh
            for name in row.datasets().inputs
            for writer in _writer(asked.catalog, asked.catalog.name(name), row)
        ]
    limit = asked.page().limit
    return {"runs": shown[:limit], "truncated": len(shown) > limit or any(row.run not in seen for row in front)}


def _upstream_item(catalog: Catalog, row: RunRow, depth: int) -> Answer:
    said = row.datasets()
    version = version_text(said.job) if said.job else None
    return {
        "depth": depth,
        "job": {**catalog.name(row.job_key).shown, "version": version},
        "run": {
            "id": run_id_of(row.run), "start": iso(row.started_us), "end": iso(row.ended_us),
            "status": STATES.get(row.state, "RUNNING"),
        },
        "inputs": [catalog.name(name).shown for name in said.inputs],
        "outputs": [catalog.name(name).shown for name, _ in said.outputs],
    }  # fmt: skip


def _writer(catalog: Catalog, name: Name, reader: RunRow) -> list[RunRow]:
    """Return the newest run that had written a dataset when another began to read it."""
    found = RunHistory(catalog.live).written_before(name, reader.time_us, reader.run)
    row = catalog.runs.find(found.key) if found else None
    return [row] if row else []
