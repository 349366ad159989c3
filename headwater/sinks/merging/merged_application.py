"""A Spark application as one run: what its runs say together; D9 of docs/sinks.md."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Raw

from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.merging.merged_event import MergedEvent, facet, fold

_INTEGRATION = re.compile(r"https://github\.com/OpenLineage/OpenLineage/.*/([^/]+)/?")


class Application(NamedTuple):
    """Which run a run is a part of."""

    run_id: str
    job: Name


def engine_of(said: MergedEvent) -> str:
    """Return the engine of a run or job (D4); `unknown` where nothing says it, and the job is told all the same."""
    if isinstance(engine := facet(said.of_run, "processing_engine").get("name"), str) and engine:
        return engine.lower()
    if found := _INTEGRATION.fullmatch(said.producer):
        return found[1].lower()
    return next((name for name in ("airflow", "trino") if name in said.producer.lower()), "unknown")


def application_of(said: MergedEvent) -> Application | None:
    """Return the application of which a run is one action; None for its own run, and for what is not Spark's.

    The application's own run may have a parent, too: the task that started it.
    """
    parent = facet(said.of_run, "parent")
    run_id, namespace, name = (
        text_at(parent, *path) for path in (("run", "runId"), ("job", "namespace"), ("job", "name"))
    )
    if not (run_id and name) or "SPARK" not in (said.job_type("integration"), engine_of(said).upper()):
        return None
    kind = said.job_type("jobType")
    is_action = kind in ("SQL_JOB", "RDD_JOB") or (not kind and said.job.name.startswith(f"{name}."))
    return Application(run_id, Name(namespace or "", name)) if is_action else None


def united(application: Application, own: MergedEvent | None, actions: Sequence[MergedEvent]) -> MergedEvent:
    """Return what an application says: its own run and its actions, of which there is one at least.

    Datasets of actions that count are united, a later facet wins; of runs and jobs the first word of each counts; it
    lasts from the first to the last, and one that failed is its failure.
    """
    ordered = sorted(actions, key=lambda each: (each.began_us, each.newest_us, each.run_id or ""))
    said = [own, *ordered] if own else ordered
    counted = [each for each in said if each.counts]
    found = MergedEvent(
        "RUN",
        min(each.began_us for each in said),
        max(each.newest_us for each in said),
        started_us=min((each.started_us for each in said if each.started_us is not None), default=None),
        producer=said[0].producer,
        run_id=application.run_id,
        job=application.job,
        of_run=_first([own.of_run] if own else [_without_parent(each.of_run) for each in ordered]),
        of_job=_first(each.of_job for each in said),
        inputs=_newest(each.inputs for each in counted),
        outputs=_newest(each.outputs for each in counted),
        counts_as_told=True,
    )
    for kept in (found.of_run, found.of_job):
        kept.pop("lineage", None)
    for each in counted:
        fold(found.of_run, _lineage(each.of_run))
        fold(found.of_job, _lineage(each.of_job))
    found.state, found.ended_us = _end(own, ordered)
    found.completed_us = found.ended_us if found.state == "COMPLETE" else None
    return found


def _end(own: MergedEvent | None, actions: Sequence[MergedEvent]) -> tuple[str | None, int | None]:
    """Return how it ended and when: with its own end, without a word of its own with all its actions' ends."""
    if not all(each.state for each in ([own] if own else actions)):
        return None, None
    said = [each for each in (own, *actions) if each and each.state]
    bad = [each.state for each in said if each.state != "COMPLETE"]
    return (bad or ["COMPLETE"])[0], max(each.ended_us or 0 for each in said)


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
