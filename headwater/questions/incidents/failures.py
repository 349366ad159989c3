"""Incidents of failed and lost runs and of failed tests (rules 1 to 5)."""

from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache, partial

from headwater.events.decode import decode
from headwater.index.reading.failures import FailedTest, RunRow, is_warning
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.task_order import read_task_order
from headwater.questions.failed_ancestors import failed_ancestors
from headwater.questions.incidents.incident import FoundIncident, IncidentContext, IncidentSubject

_PREVIOUS_RUNS = 5
"""Number of earlier runs of a job that are read to find what its failed run did not write or read."""


def find_failures(context: IncidentContext, _: Sequence[FoundIncident]) -> list[FoundIncident]:
    """Find the incidents of failed and lost runs and of failed tests."""
    by_job = {rows[0].job: rows for rows in context.failures.runs_of_failed_jobs() if rows}
    failed = {row.run: row for rows in by_job.values() for row in rows if row.is_failed}
    failed |= _failed_runs_below(context, failed)
    above = _failed_containers_by_run(context, failed)
    containers = {run for runs in above.values() for run in runs}
    tested = context.failures.runs_with_failed_tests(failed.keys())
    tests = _test_incidents(context, {run: failed[run] for run in tested})
    runs = [
        incident
        for rows in by_job.values()
        for incident in _run_incidents(context, [row for row in rows if row.run not in containers | tested])
    ]
    for incident in runs:
        incident.affected = context.affected.find(incident.roots)
    found = _join_consequences(context, runs, tests)
    _add_containers(context, found, failed, above)
    for incident in found:
        incident.failures.sort(key=partial(_failure_order, context, incident))
        errors = context.failures.errors([row.key for row in incident.failures])
        incident.error = next((errors[row.key] for row in incident.failures if row.key in errors), None)
    return found


def _failed_containers_by_run(context: IncidentContext, failed: Mapping[int, RunRow]) -> dict[int, list[int]]:
    """Return for each failed run the failed runs that contain it, and that ended before its job completed again.

    A run that fails later fails for another reason (rule 2).
    """
    found = {}
    for run, containers in failed_ancestors(context.reader.times, failed.keys()).items():
        recovered_us = context.failures.recovered_us(failed[run]) if containers else None
        found[run] = [each for each in containers if recovered_us is None or failed[each].ended_us < recovered_us]
    return found


def _failure_order(context: IncidentContext, incident: FoundIncident, row: RunRow) -> tuple[bool, int, Name, str]:
    """Return the sort key of a failed run: the cause first, then by their ends and jobs."""
    return row.key != incident.first_cause, row.at_us, context.job_name(row.job), row.key


def _incident_order(context: IncidentContext, incident: FoundIncident) -> tuple[int, Name, str]:
    """Return the sort key of an incident: when it was opened, then the job of its first failed run (rule 2)."""
    row = next(iter(incident.failures), None)
    return incident.opened_us, context.job_name(row.job) if row else incident.subject.name, incident.id


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


def _test_incidents(context: IncidentContext, tested: Mapping[int, RunRow]) -> list[FoundIncident]:
    """Return the incidents of failed tests (rule 5). A test of several datasets in one run is one incident.

    tested: the failed runs with failed tests of severity `error`, by their numbers.
    """
    by_test: dict[tuple[int, str, str], list[FailedTest]] = {}
    for each in sorted(
        context.failures.failed_tests(),
        key=lambda test: (is_warning(test.detail), test.test, test.dataset, test.column),
    ):
        by_test.setdefault((each.run, each.test, each.column), []).append(each)
    found, without_incident = [], {*tested}
    for first, *others in by_test.values():
        rows = sorted((tested[run] for run in first.runs & without_incident), key=lambda row: (row.at_us, row.key))
        without_incident -= first.runs
        detail, is_error = first.detail, not is_warning(first.detail)
        facts = [
            f"expected {detail.expected}" if detail.expected else "", f"got {detail.actual}" if detail.actual else "",
            detail.description or "",
        ]  # fmt: skip
        incident = FoundIncident(
            "test.failed", IncidentSubject("dataset", first.dataset, first.column, first.test),
            context.reader.times.run_key(first.run), first.opened_us, first.resolved_us,
            dict.fromkeys((first.dataset, *(each.dataset for each in others)), first.opened_us),
            severity="error" if is_error else "warning", failures=rows, jobs={row.job for row in rows},
            detail=", ".join(filter(None, facts)),
        )  # fmt: skip
        incident.affected = context.affected.find_until(incident.roots, incident.resolved_us, is_error)
        found.append(incident)
    return found


def _add_containers(
    context: IncidentContext,
    incidents: Sequence[FoundIncident],
    failed: Mapping[int, RunRow],
    above: Mapping[int, Sequence[int]],
) -> None:
    """Add each failed run that contains failed runs to the incident of the first of them (rule 2).

    Of runs that ended at the same time, those that are a cause come before those that follow from another failure.
    """
    owned = [(row, incident, incident.failures[0].job) for incident in incidents for row in incident.failures]
    owned.sort(key=lambda each: (each[0].at_us, each[0].job != each[2], context.job_name(each[0].job), each[0].key))
    with_incident = {row.run for row, *_ in owned}
    for row, incident, _ in owned:
        for container in above.get(row.run, ()):
            if container not in with_incident:
                with_incident.add(container)
                incident.failures.append(failed[container])


def _join_consequences(
    context: IncidentContext, incidents: Sequence[FoundIncident], tests: Sequence[FoundIncident]
) -> list[FoundIncident]:
    """Return the incidents, with the failures that follow from others joined to them (rule 3).

    incidents: those of failed and lost runs. tests: those of failed tests, which follow from no other incident.
    """
    order = partial(_incident_order, context)
    found = sorted(tests, key=order)
    for incident in sorted(incidents, key=order):
        inputs = cache(partial(_datasets_read, context, incident))
        cause = next((each for each in found if _follows_from(context, incident, each, inputs)), None)
        if cause is None:
            insort(found, incident, key=order)
            continue
        cause.failures += incident.failures
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
    if not cause.failures or not cause.is_in_force(incident.opened_us):
        return False
    if incident.jobs <= cause.jobs and cause.kind != "test.failed":
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


def _upstream_tasks(context: IncidentContext, row: RunRow) -> Set[str]:
    """Return the ids of the tasks directly before a task (rule 3.6 of lineage)."""
    text = context.failures.facet_of_run(row.key, "airflow")
    order = read_task_order(context.live.names.name(row.job), row.started_us, decode(text)) if text else None
    return (order.before if order else None) or frozenset()
