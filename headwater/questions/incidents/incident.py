"""An incident, its identity, and what the finders of incidents share."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct, field

from headwater.events.error_facets import FailureError
from headwater.index.reading.failures import Failures, RunRow
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.snapshots.as_of import View
from headwater.questions.answer_types.incidents import IncidentKind, Severity, SubjectKind
from headwater.questions.health_reader import HealthCache, HealthReader
from headwater.questions.incidents.affected import AffectedDataset, AffectedDatasets
from headwater.questions.unusual_volumes import VolumeCache


class IncidentSubject(NamedTuple):
    """The job, dataset or namespace to which a cause belongs. column, test: "" if they do not apply."""

    kind: SubjectKind
    name: Name
    column: str = ""
    test: str = ""


class FoundIncident(Struct):
    """An incident.

    first_cause: identifies the first cause, for example the key of the first failed run. opened_us, resolved_us: its
    ends (us, UTC); None while it is open. due_us: when a late write was due.
    detected_us: when its rule first applied, if later than opened_us. roots: the datasets that are not up to
    date because of it, each with the time after which a write makes it up to date; `MAX_TIME_US` for none. failures:
    the cause first, then in the order of their ends. jobs: the numbers of the keys of the jobs to which it belongs.
    detail: what the text says about the cause. identity: what identifies the incident instead of its subject, if later
    events can change the subject. columns: those that left a dataset. affected: the roots and the datasets downstream,
    also those that are up to date again.
    """

    kind: IncidentKind
    subject: IncidentSubject
    first_cause: str
    opened_us: int
    resolved_us: int | None
    roots: Mapping[Name, int]
    severity: Severity = "error"
    due_us: int | None = None
    detected_us: int = 0
    failures: list[RunRow] = field(default_factory=list)
    jobs: set[int] = field(default_factory=set)
    error: FailureError | None = None
    detail: str = ""
    identity: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    affected: dict[Name, AffectedDataset] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """16 hexadecimal digits that depend only on the kind, the subject and the first cause."""
        subject = self.subject
        identity = self.identity or (subject.kind, *subject.name.parts, subject.column, subject.test)
        return blake2b("\0".join((self.kind, *identity, self.first_cause)).encode(), digest_size=8).hexdigest()

    @property
    def ended_us(self) -> int:
        """Time at which the incident was resolved, or `MAX_TIME_US` while it is open."""
        return MAX_TIME_US if self.resolved_us is None else self.resolved_us

    def is_in_force(self, time_us: int) -> bool:
        """Return whether it was open at a time (us)."""
        return self.opened_us <= time_us < self.ended_us

    def not_up_to_date(self, time_us: int) -> list[AffectedDataset]:
        """Return the datasets that were not up to date at a time (us), nearest first."""
        found = (each for each in self.affected.values() if each.refreshed_us > time_us)
        return sorted(found, key=lambda each: (each.distance, each.name))


class IncidentContext(NamedTuple):
    """What the finders read: one generation of the index at one moment.

    since_us: incidents that ended at or before this time are left out. known: health of all datasets and jobs.
    emptied: for the datasets whose newest write replaced all rows with none, the row count before. volumes: the spells
    of unusual row counts.
    """

    view: View
    live: LiveGraph
    reader: HealthReader
    known: HealthCache
    failures: Failures
    affected: AffectedDatasets
    since_us: int
    now_us: int
    emptied: Mapping[Name, int]
    volumes: VolumeCache

    def job_name(self, key_number: int) -> Name:
        """Return the display name of a job by the number of its key."""
        return self.live.job_name(self.live.names.name(key_number))


Finder = Callable[[IncidentContext, Sequence[FoundIncident]], list[FoundIncident]]
"""Finds the incidents of some kinds. It receives the incidents that earlier finders have found."""
