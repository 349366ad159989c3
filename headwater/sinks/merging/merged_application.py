"""Merge the runs of a Spark application into one run; rule D9 in docs/sinks.md."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Raw

from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.merging.merged_event import MergedEvent, facet, merge_facets

_INTEGRATION = re.compile(r"https://github\.com/OpenLineage/OpenLineage/.*/([^/]+)/?")


class Application(NamedTuple):
    """The application that a run belongs to."""

    run_id: str
    job: Name


def engine_of(merged: MergedEvent) -> str:
    """Return the engine of a run or job (D4), `unknown` if no facet and no producer names it."""
    if isinstance(engine := facet(merged.of_run, "processing_engine").get("name"), str) and engine:
        return engine.lower()
    if found := _INTEGRATION.fullmatch(merged.producer):
        return found[1].lower()
    return next((name for name in ("airflow", "trino") if name in merged.producer.lower()), "unknown")


def application_of(merged: MergedEvent) -> Application | None:
    """Return the application that a run is an action of; None for the application's own run and for other engines.

    The application's own run may have a parent, too: the task that started it.
    """
    parent = facet(merged.of_run, "parent")
    run_id, namespace, name = (
        text_at(parent, *path) for path in (("run", "runId"), ("job", "namespace"), ("job", "name"))
    )
    if not (run_id and name) or "SPARK" not in (merged.job_type("integration"), engine_of(merged).upper()):
        return None
    kind = merged.job_type("jobType")
    is_action = kind in ("SQL_JOB", "RDD_JOB") or (not kind and merged.job.name.startswith(f"{name}."))
    return Application(run_id, Name(namespace or "", name)) if is_action else None


def merge_application(application: Application, own: MergedEvent | None, actions: Sequence[MergedEvent]) -> MergedEvent:
    """Merge an application's own run with its actions, of which there is at least one.

    Datasets of actions that count are united and later facets win; of run and job facets the first value wins. The
    application lasts from the first to the last event, and fails if any of its runs failed.
    """
    ordered = sorted(actions, key=lambda each: (each.first_event_us, each.last_event_us, each.run_id or ""))
    whole = [own, *ordered] if own else ordered
    counted = [each for each in whole if each.counts]
    found = MergedEvent(
        "RUN",
        min(each.first_event_us for each in whole),
        max(each.last_event_us for each in whole),
        started_us=min((each.started_us for each in whole if each.started_us is not None), default=None),
        producer=whole[0].producer,
        run_id=application.run_id,
        job=application.job,
        of_run=_first([own.of_run] if own else [_without_parent(each.of_run) for each in ordered]),
        of_job=_first(each.of_job for each in whole),
        inputs=_newest(each.inputs for each in counted),
        outputs=_newest(each.outputs for each in counted),
        counts_in_any_state=True,
    )
    for facets in (found.of_run, found.of_job):
        facets.pop("lineage", None)
    for each in counted:
        merge_facets(found.of_run, _lineage(each.of_run))
        merge_facets(found.of_job, _lineage(each.of_job))
    found.state, found.ended_us = _end(own, ordered)
    found.completed_us = found.ended_us if found.state == "COMPLETE" else None
    return found


def _end(own: MergedEvent | None, actions: Sequence[MergedEvent]) -> tuple[str | None, int | None]:
    """Return state and time of the end: the own run's end, or the actions' ends if there are no own events."""
    if not all(each.state for each in ([own] if own else actions)):
        return None, None
    finished = [each for each in (own, *actions) if each and each.state]
    failures = [each.state for each in finished if each.state != "COMPLETE"]
    return (failures or ["COMPLETE"])[0], max(each.ended_us or 0 for each in finished)


def _first(some: Iterable[Facets]) -> dict[str, Raw]:
    found: dict[str, Raw] = {}
    for facets in some:
        found = {**facets, **found}
    return found


def _newest(some: Iterable[Mapping[Name, Facets]]) -> dict[Name, Facets]:
    found: dict[Name, Facets] = {}
    for datasets in some:
        for name, facets in datasets.items():
            found[name] = {**found.get(name, {}), **facets}
    return found


def _lineage(facets: Facets) -> Facets:
    return {name: raw for name, raw in facets.items() if name == "lineage"}


def _without_parent(facets: Facets) -> Facets:
    return {name: raw for name, raw in facets.items() if name != "parent"}
