"""The text of an incident for people."""

from collections.abc import Callable, Mapping

from headwater.events.times import iso_time
from headwater.questions.answer_types.incidents import IncidentKind
from headwater.questions.incidents.incident import FoundIncident

_NAMED = 3
"""The number of affected datasets that a text names."""

_LONGEST = 1_000


def summary(incident: FoundIncident, now_us: int) -> str:
    """Return one or two sentences: what happened, and what else is not up to date at a moment (us)."""
    subject = incident.subject.name
    affected = [each.name.name for each in incident.not_up_to_date(now_us) if each.name != subject]
    if not affected:
        return f"{_cause(incident)}."[:_LONGEST]
    more = f" and {len(affected) - _NAMED} more" if len(affected) > _NAMED else ""
    return f"{_cause(incident)}. Not up to date: {', '.join(affected[:_NAMED])}{more}."[:_LONGEST]


def _cause(incident: FoundIncident) -> str:
    return _CAUSES[incident.kind](incident)


def _failed_run(incident: FoundIncident) -> str:
    again = f", and completed again at {iso_time(incident.resolved_us)}" if incident.resolved_us else ""
    return f"Job {incident.subject.name.name} failed{again}{_error(incident)}"


def _lost_run(incident: FoundIncident) -> str:
    again = f", and the job completed again at {iso_time(incident.resolved_us)}" if incident.resolved_us else ""
    job = incident.subject.name.name
    return f"A run of job {job} sent no event for 24 hours and never ended{again}{_error(incident)}"


def _error(incident: FoundIncident) -> str:
    return f": {incident.error.message.rstrip('.')}" if incident.error else ""


def _failed_test(incident: FoundIncident) -> str:
    subject = incident.subject
    column = f" on column {subject.column}" if subject.column else ""
    passed = f", and passed again at {iso_time(incident.resolved_us)}" if incident.resolved_us else ""
    detail = f": {incident.detail.rstrip('.')}" if incident.detail else ""
    return f"Test {subject.test}{column} of dataset {subject.name.name} failed{passed}{detail}"


def _late_dataset(incident: FoundIncident) -> str:
    now = f"was written at {iso_time(incident.resolved_us)}" if incident.resolved_us else "has not been written since"
    return f"Dataset {incident.subject.name.name} was due at {iso_time(incident.due_us)} and {now}"


def _silent_producer(incident: FoundIncident) -> str:
    again = f"; the first run came at {iso_time(incident.resolved_us)}" if incident.resolved_us else ""
    return (
        f"Nothing runs in job namespace {incident.subject.name.namespace}: all {incident.detail} with a rhythm are "
        f"overdue, the first one was due at {iso_time(incident.due_us)}{again}"
    )


def _emptied_dataset(incident: FoundIncident) -> str:
    return (
        f"Dataset {incident.subject.name.name} has 0 rows: the newest write replaced all rows, an earlier one wrote "
        f"{incident.detail}"
    )


def _schema_break(incident: FoundIncident) -> str:
    subject = incident.subject
    return f"Column {subject.column} left dataset {subject.name.name}, but the newest run of {incident.detail} reads it"


_CAUSES: Mapping[IncidentKind, Callable[[FoundIncident], str]] = {
    "run.failed": _failed_run,
    "run.lost": _lost_run,
    "test.failed": _failed_test,
    "dataset.late": _late_dataset,
    "producer.silent": _silent_producer,
    "dataset.emptied": _emptied_dataset,
    "schema.changed": _schema_break,
}
