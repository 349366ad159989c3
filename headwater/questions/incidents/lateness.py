"""Incidents that the clock opens: late writes and silent producers (rules 6 and 7)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.index.api_changes import NAMESPACE
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.questions.health_reader import CachedHealth
from headwater.questions.incidents.affected import AffectedDataset
from headwater.questions.incidents.incident import FoundIncident, IncidentContext, IncidentSubject
from headwater.questions.rhythm import LateSpell

_MIN_SILENT_JOBS = 2
"""The number of jobs with a rhythm from which on a producer can be silent."""


class _LateJob(NamedTuple):
    """A job that is or was late. job: the number of its key."""

    job: int
    spell: LateSpell


class _LateDataset(NamedTuple):
    """A dataset that is or was late. due_us: when the write was due (us, UTC)."""

    due_us: int
    name: Name
    spell: LateSpell


def find_late(context: IncidentContext, found: Sequence[FoundIncident]) -> list[FoundIncident]:
    """Find silent producers, and late writes that do not follow from another incident."""
    silent = list(_silent_producers(context))
    for incident in silent:
        incident.affected = context.affected.find(incident.roots)
    causes = _Causes(context, [*found, *silent])
    late = [each for each in _late_datasets(context) if not causes.explain(each)]
    for incident in late:
        incident.affected = context.affected.find(incident.roots)
    by_dataset = _by_affected_dataset(late)
    return [
        *silent,
        *(each for each in late if not any(_precedes(other, each) for other in by_dataset.get(min(each.roots), ()))),
    ]


def _by_affected_dataset(incidents: Iterable[FoundIncident]) -> dict[Name, list[FoundIncident]]:
    """Return the incidents by the datasets that they affect, or affected for a while."""
    found: dict[Name, list[FoundIncident]] = {}
    for incident in incidents:
        for name, each in incident.affected.items():
            if _explains_lateness(incident, each):
                found.setdefault(name, []).append(incident)
    return found


def _explains_lateness(incident: FoundIncident, affected: AffectedDataset) -> bool:
    """Return whether an incident can be the reason why an affected dataset is late.

    The dataset of a failed test was written, so this test is no reason for its next write to be late.
    """
    return affected.distance > 0 or incident.kind != "test.failed"


class _Causes:
    """The incidents that may explain late writes, by dataset and by failed job."""

    def __init__(self, context: IncidentContext, incidents: Sequence[FoundIncident]):
        self._times = context.reader.times
        self._by_dataset = _by_affected_dataset(incidents)
        self._by_job: dict[int, list[FoundIncident]] = {}
        for incident in incidents:
            for job in incident.jobs | {row.job for row in incident.failures}:
                self._by_job.setdefault(job, []).append(incident)

    def explain(self, late: FoundIncident) -> bool:
        """Return whether late datasets are late because of another incident.

        All of them are affected by it, or their writer or a job that contains the writer had failed when the write was
        due. In this last case, for example of a task that did not start because its DAG had failed, the late datasets
        are added to the incident.
        """
        if any(_affects_all(other, late) for other in self._by_dataset.get(min(late.roots), ())):
            return True
        (writer,) = late.jobs
        for job in (writer, *self._times.jobs_above(writer)):
            other = next((each for each in self._by_job.get(job, ()) if _overlap(each, late)), None)
            if other is not None:
                for name in late.roots:
                    other.affected.setdefault(name, AffectedDataset(name, 0, late.ended_us))
                return True
        return False


def _affects_all(other: FoundIncident, late: FoundIncident) -> bool:
    return other.opened_us < late.ended_us and all(
        (each := other.affected.get(name)) is not None
        and _explains_lateness(other, each)
        and each.refreshed_us > late.opened_us
        for name in late.roots
    )


def _ended_us(spell: LateSpell) -> int:
    return MAX_TIME_US if spell.ended_us is None else spell.ended_us


def _late_datasets(context: IncidentContext) -> Iterator[FoundIncident]:
    """Yield the late writes, those of one job that were late at the same time together."""
    by_job: dict[int, list[_LateDataset]] = {}
    for name, health in context.known.datasets.items():
        for spell in _current_spells(health, context.since_us):
            by_job.setdefault(spell.last.job, []).append(_LateDataset(spell.due_us, name, spell))
    for job, late in by_job.items():
        for together in _overlapping(sorted(late)):
            roots: dict[Name, int] = {}
            for each in together:
                roots[each.name] = max(each.spell.last.time_us, roots.get(each.name, 0))
            ended_us = max(_ended_us(each.spell) for each in together)
            yield FoundIncident(
                "dataset.late", IncidentSubject("dataset", min(roots)),
                context.reader.times.run_key(together[0].spell.last.execution), together[0].due_us,
                None if ended_us == MAX_TIME_US else ended_us, roots, due_us=together[0].due_us, jobs={job},
                detected_us=min(each.spell.late_from_us for each in together),
                identity=context.live.names.name(job).parts,
            )  # fmt: skip


def _overlapping(late: Sequence[_LateDataset]) -> Iterator[list[_LateDataset]]:
    """Yield groups of spells in which each one begins before the earlier ones have ended. late: by due time."""
    group: list[_LateDataset] = []
    for each in late:
        if group and each.due_us >= max(_ended_us(other.spell) for other in group):
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _current_spells(health: CachedHealth, since_us: int) -> Iterator[LateSpell]:
    """Yield the late spells of a dataset or a job that had not ended before a time (us)."""
    return (spell for spell in health.late_spells if _ended_us(spell) > since_us)


def _overlap(one: FoundIncident, other: FoundIncident) -> bool:
    return one.opened_us < other.ended_us and other.opened_us < one.ended_us


def _precedes(other: FoundIncident, late: FoundIncident) -> bool:
    """Return whether late datasets are downstream of other late datasets."""
    if other is late or not _is_downstream(late, other):
        return False
    return not _is_downstream(other, late) or (other.opened_us, other.id) < (late.opened_us, late.id)


def _is_downstream(late: FoundIncident, other: FoundIncident) -> bool:
    return _overlap(other, late) and all(
        (each := other.affected.get(name)) is not None and each.distance > 0 for name in late.roots
    )


def _silent_producers(context: IncidentContext) -> Iterator[FoundIncident]:
    """Yield the namespaces of jobs in which every job with a rhythm was late at the same time."""
    namespaces: dict[str, dict[int, CachedHealth]] = {}
    for job, health in context.known.jobs.items():
        if health.has_rhythm:
            namespaces.setdefault(context.live.names.name(job).namespace, {})[job] = health
    for namespace, jobs in sorted(namespaces.items()):
        if len(jobs) >= _MIN_SILENT_JOBS and namespace != NAMESPACE:
            yield from _silences(context, namespace, jobs)


def _silences(context: IncidentContext, namespace: str, jobs: Mapping[int, CachedHealth]) -> Iterator[FoundIncident]:
    spells = {job: list(_job_spells(context, health)) for job, health in jobs.items()}
    if not all(spells.values()):
        return
    moments = sorted({_ended_us(spell) for each in spells.values() for spell in each})
    seen: set[str] = set()
    for moment_us in moments:
        late = [_spell_before(job, each, moment_us) for job, each in spells.items()]
        if not all(late):
            continue
        known = [each for each in late if each]
        newest_us = max(each.spell.last.time_us for each in known)
        newest = [each.spell for each in known if each.spell.last.time_us == newest_us]
        opened_us, ended_us = min(each.spell.due_us for each in known), min(_ended_us(each.spell) for each in known)
        cause = min(context.reader.times.run_key(spell.last.run) for spell in newest)
        if cause in seen or ended_us <= context.since_us:
            continue
        seen.add(cause)
        subject = IncidentSubject("namespace", Name(namespace, ""))
        yield FoundIncident(
            "producer.silent", subject, cause, opened_us, None if ended_us == MAX_TIME_US else ended_us,
            _late_outputs(context, jobs, newest_us), due_us=opened_us, jobs=set(jobs),
            detected_us=max(each.spell.late_from_us for each in known), detail=f"{len(jobs)} jobs",
        )  # fmt: skip


def _job_spells(context: IncidentContext, health: CachedHealth) -> Iterator[LateSpell]:
    """Yield the late spells of a job. A job with a newer run in any state is not silent."""
    for spell in _current_spells(health, context.since_us):
        run = health.problem.run if health.problem and spell.ended_us is None else None
        if run is None or run.time_us <= spell.due_us:
            yield spell


def _spell_before(job: int, spells: Sequence[LateSpell], moment_us: int) -> _LateJob | None:
    """Return the spell of a job in which it was late just before a moment (us), or None."""
    found = (spell for spell in spells if spell.late_from_us < moment_us <= _ended_us(spell))
    return next((_LateJob(job, spell) for spell in found), None)


def _late_outputs(context: IncidentContext, jobs: Mapping[int, CachedHealth], newest_us: int) -> dict[Name, int]:
    """Return the late datasets of silent jobs, each with the time of the last sign of life."""
    return {
        name: newest_us
        for name, health in sorted(context.known.datasets.items())
        for spell in _current_spells(health, context.since_us)
        if spell.last.job in jobs
    }
