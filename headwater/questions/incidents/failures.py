"""Incidents of failed and lost runs and of failed tests (rules 1 to 5)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.index.reading.failures import FailedTest, RunRow, is_warning
from headwater.lineage.names.dataset_name import Name
from headwater.questions.failed_ancestors import failed_ancestors
from headwater.questions.incidents.incident import FoundIncident, IncidentContext, IncidentSubject

_PREVIOUS_RUNS = 5
"""Number of earlier runs of a job that are read to find what its failed run did not write or read."""

_MAX_TASK_IDS = 10_000
"""The maximum number of characters of a list of tasks that is read."""

_TASK_ID = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def find_failures(context: IncidentContext, _: Sequence[FoundIncident]) -> list[FoundIncident]:
    """Find the incidents of failed and lost runs and of failed tests."""
    by_job = {rows[0].job: rows for rows in context.failures.runs_of_failed_jobs() if rows}
    failed = {row.run: row for rows in by_job.values() for row in rows if row.is_failed}
    failed |= _failed_runs_below(context, failed)
    above = failed_ancestors(context.reader.times, failed.keys())
    containers = {run for runs in above.values() for run in runs}
    tested = context.failures.runs_with_failed_tests(failed.keys())
    tests = _test_incidents(context, failed)
    runs = [
        incident
        for rows in by_job.values()
        for incident in _run_incidents(context, [row for row in rows if row.run not in containers | tested])
    ]
    _add_containers([*runs, *tests], failed, above)
    for incident in (*runs, *tests):
        _describe_failure(context, incident)
    return [*_join_consequences(context, runs), *tests]


def _failed_runs_below(context: IncidentContext, failed: Mapping[int, RunRow]) -> dict[int, RunRow]:
    """Return the failed runs that other failed runs contain, also of jobs that completed since."""
    found: dict[int, RunRow] = {}
    todo = [row for row in failed.values() if not row.is_lost]
    for row in todo:  # grows during the loop
        for below in context.failures.failed_runs_below(row.run):
            if below.run not in failed and below.run not in found:
                found[below.run] = below
                todo.append(below)
    return found


def _run_incidents(context: IncidentContext, rows: Sequence[RunRow]) -> Iterator[FoundIncident]:
    """Yield the spells of one job (rule 1). rows: its completed runs, and its failed runs that are causes."""
    spell: list[RunRow] = []
    for row in (*rows, None):
        if row is not None and row.is_failed:
            spell.append(row)
        elif spell:
            ended_us = None if row is None else row.at_us
            if ended_us is None or ended_us > context.since_us:
                first = spell[0]
                subject = IncidentSubject("job", context.job_name(first.job))
                yield FoundIncident(
                    "run.lost" if first.is_lost else "run.failed", subject, first.key, first.at_us, ended_us,
                    _roots(context, spell), failures=list(spell), jobs={first.job},
                )  # fmt: skip
            spell = []


def _roots(context: IncidentContext, spell: Sequence[RunRow]) -> dict[Name, int]:
    """Return the outputs of a job's failed and earlier runs, each with the beginning of the spell (rule 4)."""
    times, job, began_us = context.reader.times, spell[0].job, spell[0].started_us
    outputs = {name.without_generation for name in times.datasets_written_by_job(job)}
    for row in spell[:_PREVIOUS_RUNS]:
        outputs |= context.failures.datasets_of_run(row.run)[1]
    for write in times.newest_completed_runs(job, began_us, _PREVIOUS_RUNS):
        outputs |= times.datasets_written_by_run(write.run)
    return dict.fromkeys(sorted(context.live.resolve(name).without_generation for name in outputs), began_us)


def _test_incidents(context: IncidentContext, failed: Mapping[int, RunRow]) -> list[FoundIncident]:
    """Return the incidents of failed tests (rule 5). A test of several datasets in one run is one incident."""
    first_of: dict[tuple[int, str, str], FailedTest] = {}
    for each in sorted(context.failures.failed_tests(), key=lambda test: test.dataset):
        first_of.setdefault((each.run, each.test, each.column), each)
    found = []
    for each in first_of.values():
        rows = sorted((failed[run] for run in each.runs if run in failed), key=lambda row: (row.at_us, row.key))
        detail = each.detail
        facts = [
            f"expected {detail.expected}" if detail.expected else "", f"got {detail.actual}" if detail.actual else "",
            detail.description or "",
        ]  # fmt: skip
        found.append(FoundIncident(
            "test.failed", IncidentSubject("dataset", each.dataset, each.column, each.test),
            context.reader.times.run_key(each.run), each.opened_us, each.resolved_us,
            {each.dataset: each.opened_us}, lists_roots=False,
            severity="warning" if is_warning(detail) else "error", failures=rows, jobs={row.job for row in rows},
            detail=", ".join(filter(None, facts)),
        ))  # fmt: skip
    return found


def _add_containers(
    incidents: Sequence[FoundIncident], failed: Mapping[int, RunRow], above: Mapping[int, Sequence[int]]
) -> None:
    """Add each failed run that contains failed runs to the incident of the first of them (rule 2)."""
    owners: dict[int, FoundIncident] = {}
    for incident in sorted(
        incidents, key=lambda each: (each.opened_us, each.severity != "error", each.id), reverse=True
    ):
        owners.update((row.run, incident) for row in incident.failures)
    causes = sorted((failed[run] for run in owners if run in failed), key=lambda row: (row.at_us, row.key))
    added: set[int] = set()
    for row in causes:
        for container in above.get(row.run, ()):
            if container not in added and container not in owners:
                added.add(container)
                owners[row.run].failures.append(failed[container])
    for incident in incidents:
        incident.failures.sort(key=lambda row: (row.at_us, row.key))


def _describe_failure(context: IncidentContext, incident: FoundIncident) -> None:
    """Set the error of an incident, and what it affects."""
    errors = context.failures.errors([row.key for row in incident.failures])
    incident.error = next((errors[row.key] for row in incident.failures if row.key in errors), None)
    incident.affected = context.affected.find(incident.roots)


def _join_consequences(context: IncidentContext, incidents: Sequence[FoundIncident]) -> list[FoundIncident]:
    """Join the failures that follow from others to them (rule 3)."""
    found: list[FoundIncident] = []
    for incident in sorted(incidents, key=lambda each: (each.opened_us, each.id)):
        inputs = cache(partial(_datasets_read, context, incident))
        cause = next((each for each in found if _follows_from(context, incident, each, inputs)), None)
        if cause is None:
            found.append(incident)
            continue
        cause.failures = sorted([*cause.failures, *incident.failures], key=lambda row: (row.at_us, row.key))
        cause.jobs |= incident.jobs
        cause.resolved_us = None if incident.resolved_us is None else cause.resolved_us and max(
            cause.resolved_us, incident.resolved_us
        )  # fmt: skip
        for name, each in incident.affected.items():
            known = cause.affected.get(name)
            if known is None or known.refreshed_us < each.refreshed_us:
                cause.affected[name] = each if known is None else each._replace(distance=known.distance)
    return found


def _follows_from(
    context: IncidentContext, incident: FoundIncident, cause: FoundIncident, inputs: Callable[[], set[Name]]
) -> bool:
    """Return whether a failure follows from another one. inputs: returns what its job reads."""
    if not cause.is_in_force(incident.opened_us) or incident.jobs <= cause.jobs:
        return False
    affected = (cause.affected.get(name) for name in inputs())
    if any(each is not None and each.refreshed_us > incident.opened_us for each in affected):
        return True
    return _is_upstream_task(context, cause, incident)


def _datasets_read(context: IncidentContext, incident: FoundIncident) -> set[Name]:
    """Return what the failed run and the newest completed runs of a job read."""
    first = incident.failures[0]
    job, runs = first.job, [first.run]
    runs += [write.run for write in context.reader.times.newest_completed_runs(job, first.at_us, _PREVIOUS_RUNS)]
    return set().union(*(context.failures.datasets_of_run(run)[0] for run in runs))


def _is_upstream_task(context: IncidentContext, cause: FoundIncident, incident: FoundIncident) -> bool:
    """Return whether a task of the same DAG run names a failed task as upstream."""
    first = incident.failures[0]
    same = [row for row in cause.failures if row.parent is not None and row.parent == first.parent]
    if not same or first.parent is None:
        return False
    names = {context.job_name(row.job) for row in same}
    job = context.job_name(first.job)
    return any(
        each.namespace == job.namespace and each.name.endswith(f".{task}")
        for task in _upstream_tasks(context, first)
        for each in names
    )


def _upstream_tasks(context: IncidentContext, row: RunRow) -> set[str]:
    """Return the ids of the tasks before a task. Airflow sends them as the text of a Python list."""
    text = context.failures.facet_of_run(row.key, "airflow")
    sent = text_at(decode(text), "task", "upstream_task_ids") if text else None
    return {one or other for one, other in _TASK_ID.findall((sent or "")[:_MAX_TASK_IDS])}
