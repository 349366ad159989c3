"""The text of an incident for people."""

from collections.abc import Callable, Mapping

from headwater.events.times import iso_time
from headwater.lineage.names.dataset_name import Name
from headwater.questions.answer_types.incidents import IncidentKind
from headwater.questions.incidents.incident import FoundIncident

_NAMED = 3
"""The number of affected datasets that a text names."""

_NAMED_COLUMNS = 10
"""The number of columns that a text names."""

_LONGEST = 1_000


def summary(incident: FoundIncident, now_us: int, display_name_of: Callable[[Name], str]) -> str:
    """Return one or two sentences: what happened, and what else is not up to date at a moment (us).

    display_name_of: returns the display name of a dataset.
    """
    subject = incident.subject.name
    cause = _CAUSES[incident.kind](
        incident, display_name_of(subject) if incident.subject.kind == "dataset" else subject.name
    )
    affected = [each.name for each in incident.not_up_to_date(now_us) if each.name != subject]
    if not affected:
        return f"{cause}."[:_LONGEST]
    more = f" and {len(affected) - _NAMED} more" if len(affected) > _NAMED else ""
    return f"{cause}. Not up to date: {', '.join(map(display_name_of, affected[:_NAMED]))}{more}."[:_LONGEST]


def _failed_run(incident: FoundIncident, name: str) -> str:
    again = f", and completed again at {iso_time(incident.resolved_us)}" if incident.resolved_us else ""
    return f"Job {name} failed{again}{_error(incident)}"


def _lost_run(incident: FoundIncident, name: str) -> str:
    again = f", and the job completed again at {iso_time(incident.resolved_us)}" if incident.resolved_us else ""
    return f"A run of job {name} sent no event for 24 hours and never ended{again}{_error(incident)}"


def _error(incident: FoundIncident) -> str:
    return f": {incident.error.message.rstrip('.')}" if incident.error else ""


def _failed_test(incident: FoundIncident, name: str) -> str:
    subject = incident.subject
    column = f" on column {subject.column}" if subject.column else ""
    passed = f", and passed again at {iso_time(incident.resolved_us)}" if incident.resolved_us else ""
    detail = f": {incident.detail.rstrip('.')}" if incident.detail else ""
    return f"Test {subject.test}{column} of dataset {name} failed{passed}{detail}"


def _late_dataset(incident: FoundIncident, name: str) -> str:
    now = f"was written at {iso_time(incident.resolved_us)}" if incident.resolved_us else "has not been written since"
    return f"Dataset {name} was due at {iso_time(incident.due_us)} and {now}"


def _silent_producer(incident: FoundIncident, _: str) -> str:
    again = f"; the first run came at {iso_time(incident.resolved_us)}" if incident.resolved_us else ""
    return (
        f"Nothing runs in job namespace {incident.subject.name.namespace}: all {incident.detail} with a rhythm are "
        f"overdue, the first one was due at {iso_time(incident.due_us)}{again}"
    )


def _emptied_dataset(incident: FoundIncident, name: str) -> str:
    return f"Dataset {name} has 0 rows: the newest write replaced all rows, an earlier one wrote {incident.detail}"


def _schema_break(incident: FoundIncident, name: str) -> str:
    columns = incident.columns
    more = f" and {len(columns) - _NAMED_COLUMNS} more" if len(columns) > _NAMED_COLUMNS else ""
    shown, one = ", ".join(columns[:_NAMED_COLUMNS]) + more, len(columns) == 1
    return (
        f"{'Column' if one else 'Columns'} {shown} left dataset {name}, but the newest run of {incident.detail} reads "
        f"{'it' if one else 'them'}"
    )


def _unusual_volume(incident: FoundIncident, name: str) -> str:
    again = f"; the write at {iso_time(incident.resolved_us)} was usual" if incident.resolved_us else ""
    return f"The write of dataset {name} at {iso_time(incident.opened_us)} had {incident.detail}{again}"


_CAUSES: Mapping[IncidentKind, Callable[[FoundIncident, str], str]] = {
    "run.failed": _failed_run,
    "run.lost": _lost_run,
    "test.failed": _failed_test,
    "dataset.late": _late_dataset,
    "producer.silent": _silent_producer,
    "dataset.emptied": _emptied_dataset,
    "schema.changed": _schema_break,
    "volume.unusual": _unusual_volume,
}
