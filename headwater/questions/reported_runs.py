"""The question `reported`: runs with their ids in other systems, from bronze, for comparison with job history."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.events.times import iso_time
from headwater.events.transport_losses import FACET
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import events_at
from headwater.lake.reported_events import ReceiptWindow, job_bodies_with, reported_rows, run_page, shapes_of
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import is_rdd_job
from headwater.lineage.runs.run_facts import TERMINAL_TYPES
from headwater.questions.answer_types.common import Dataset, Job
from headwater.questions.answer_types.reports import ReportedOutput, ReportedRun, ReportedRuns, TransportLoss

ID_FACETS = frozenset(
    {"airflow", "environment-properties", "spark_applicationDetails", "spark_properties", "tags", "trident_properties"}
)
"""Run facets that contain ids of the run in other systems."""


def external_ids_in(facets: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids that a run has in other systems, from its facets.

    The id of an Airflow task is `dag/run/task`, with `/index` if it is mapped.
    """
    properties = facets.get("spark_properties")
    environment = facets.get("environment-properties")
    texts = (
        text_at(facets.get("spark_applicationDetails"), "applicationId"),
        text_at(properties, "properties", "spark.app.id"),
        text_at(environment, "environment-properties", "spark.databricks.job.runId"),
        *_ids_in_tags(facets.get("tags")),
        _airflow_task_id(facets.get("airflow")),
    )
    return (text for text in texts if text)


def _ids_in_tags(facet: Any) -> Iterator[str | None]:
    tags = facet.get("tags") if isinstance(facet, dict) else None
    return (text_at(tag, "value") for tag in (tags if isinstance(tags, list) else ()))


def _airflow_task_id(facet: Any) -> str | None:
    paths = ("dag", "dag_id"), ("dagRun", "run_id"), ("task", "task_id")
    parts = [text_at(facet, *path) for path in paths]
    instance = facet.get("taskInstance") if isinstance(facet, dict) else None
    index = instance.get("map_index") if isinstance(instance, dict) else None
    mapped = [str(index)] if isinstance(index, int) and index >= 0 else []
    return "/".join([*map(str, parts), *mapped]) if all(parts) else None


_Row = Mapping[str, Any]


def reported_runs(
    bronze: Bronze, names: NameRules, window: ReceiptWindow, after: str | None, limit: int
) -> ReportedRuns:
    """Answer the runs with events in a window, sorted by run id.

    after: return only runs with greater ids; None starts at the first.
    """
    if not bronze.exists():
        return ReportedRuns([], [], None)
    page = run_page(bronze, window, after, limit + 1)
    shown = page[:limit]
    by_run: dict[str, list[_Row]] = {run_id: [] for run_id in shown}
    for row in reported_rows(bronze, window, after, shown[-1]) if shown else ():
        by_run[row["id"]].append(row)
    shapes = shapes_of(bronze, {row["shape"] for rows in by_run.values() for row in rows if row["shape"]})
    facets = _long_facets(bronze, by_run, shapes)
    runs = [_to_reported_run(run_id, rows, shapes, facets, names) for run_id, rows in by_run.items()]
    losses = [*_transport_losses(bronze, window)] if after is None else []
    return ReportedRuns(runs, losses, shown[-1] if len(page) > limit else None)


def _to_reported_run(
    run_id: str, rows: Sequence[_Row], shapes: Mapping[str, _Row], facets: Mapping[str, Any], names: NameRules
) -> ReportedRun:
    newest = rows[-1]
    ends = [
        (row["time_us"], TERMINAL_TYPES.index(row["event_type"])) for row in rows if row["event_type"] in TERMINAL_TYPES
    ]
    end_us, end = max(ends, default=(None, None))
    shapes_of_run = [shapes[row["shape"]] for row in rows if row["shape"] in shapes]
    ids = {found for row in rows for found in external_ids_in(_run_facets(row, facets))}
    return ReportedRun(
        id=run_id,
        job=Job(newest["job_namespace"] or "", newest["job_name"] or ""),
        producer=newest["producer"] or "",
        state="RUNNING" if end is None else TERMINAL_TYPES[end],
        streaming=any(each["processing_type"] in ("STREAMING", "SERVICE") for each in shapes_of_run),
        parent=next((row["parent_run_id"].lower() for row in reversed(rows) if row["parent_run_id"]), None),
        ids=sorted(ids),
        started=str(iso_time(rows[0]["time_us"])),
        ended=iso_time(end_us),
        last_event=str(iso_time(newest["time_us"])),
        reads=len({(each["namespace"], each["name"]) for row in rows for each in row["inputs"]}),
        writes=[*_reported_outputs(rows, shapes, names)],
    )


def _reported_outputs(rows: Sequence[_Row], shapes: Mapping[str, _Row], names: NameRules) -> Iterator[ReportedOutput]:
    """Yield each output once, with all its names, and with the version from the end event of the run.

    The START event has the version before the run.
    """
    found: dict[Any, dict[str, Any]] = {}
    for row in rows:
        versions = row["versions"] or [None] * (len(row["inputs"]) + len(row["outputs"]))
        mentions = shapes[row["shape"]]["outputs"] if row["shape"] in shapes else [{}] * len(row["outputs"])
        canonical = _canonical_names_in(row, names)
        for each, mention, version in zip(row["outputs"], mentions, versions[len(row["inputs"]) :], strict=False):
            name = canonical(each["namespace"], each["name"])
            known = found.setdefault(name, {"names": {name}, "version": None, "lifecycle": None})
            known["names"] |= {canonical(link["namespace"], link["name"]) for link in each["symlinks"] or ()}
            known["lifecycle"] = mention.get("lifecycle") or known["lifecycle"]
            known["version"] = version if row["event_type"] in TERMINAL_TYPES and version else known["version"]
    is_echo = _repeats_inputs_as_outputs(rows, shapes, names, found.keys())
    for each in found.values():
        shown = [Dataset(*name.parts) for name in sorted(each["names"])]
        yield ReportedOutput(shown, each["version"], each["lifecycle"], is_echo)


def _canonical_names_in(row: _Row, names: NameRules) -> Callable[[str, str], Name]:
    """Return a function for canonical dataset names in the event of a row (rule 2.1)."""
    job = names.canonical_job(Name(row["job_namespace"] or "", row["job_name"] or ""))
    return names.canonical_in_event(row["producer"] or "", job.namespace)


def _repeats_inputs_as_outputs(
    rows: Sequence[_Row], shapes: Mapping[str, _Row], names: NameRules, outputs: Collection[Name]
) -> bool:
    """Return whether a run reports only its inputs as outputs, as RDD jobs do (rule 11.2 of lineage)."""
    inputs = {
        _canonical_names_in(row, names)(each["namespace"], each["name"]) for row in rows for each in row["inputs"]
    }
    shapes_of_run = [shapes[row["shape"]] for row in rows if row["shape"] in shapes]
    has_lineage = any(each["run_lineage"] or each["job_lineage"] for each in shapes_of_run) or any(
        mention.get("lineage") or mention.get("declared") for each in shapes_of_run for mention in each["outputs"]
    )
    newest = rows[-1]
    is_step = is_rdd_job(Name(newest["job_namespace"] or "", newest["job_name"] or ""))
    return is_step and bool(inputs) and inputs == set(outputs) and not has_lineage


def _run_facets(row: _Row, long: Mapping[str, Any]) -> Mapping[str, Any]:
    found = decode(row["run_facets"].encode()) if row["run_facets"] else long.get(row["event_id"])
    return found if isinstance(found, dict) else {}


def _long_facets(
    bronze: Bronze, by_run: Mapping[str, Sequence[_Row]], shapes: Mapping[str, _Row]
) -> dict[str, Mapping[str, Any]]:
    """Return the run facets that are too long for the column `run_facets`, by event id.

    They are read from the body of the first event of each run that has them.
    """
    places = []
    for rows in by_run.values():
        row = next((each for each in rows if _has_ids_in_body(each, shapes)), None)
        if row:
            places.append((row["log"], row["incarnation"], row["partition"], row["sequence"]))
    found = events_at(bronze, places).values()
    bodies = {each.event_id: decode(each.body.encode()) for each in found}
    return {event_id: body["run"]["facets"] for event_id, body in bodies.items()}


def _has_ids_in_body(row: _Row, shapes: Mapping[str, _Row]) -> bool:
    names = shapes[row["shape"]]["run_facets"] if row["shape"] in shapes else ()
    return row["run_facets"] is None and not ID_FACETS.isdisjoint(names)


def _transport_losses(bronze: Bronze, window: ReceiptWindow) -> Iterator[TransportLoss]:
    for body in job_bodies_with(bronze, window, FACET):
        event = decode(body.encode())
        try:
            facet = event["job"]["facets"][FACET]
            job = Job(event["job"]["namespace"], event["job"]["name"])
            texts = {name: facet.get(name) or "" for name in ("application", "transport")}
            loss = TransportLoss(job, **texts, dropped=facet["dropped"], since=facet.get("since"), until=facet["until"])
            yield msgspec.convert(msgspec.to_builtins(loss), TransportLoss)
        except (KeyError, TypeError, AttributeError, msgspec.ValidationError):
            continue  # another producer's facet of that name
