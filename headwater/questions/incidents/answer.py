"""The answer to the question `incidents`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from heapq import nlargest
from itertools import count
from operator import attrgetter
from typing import NamedTuple

from headwater.common.errors import NotKnown, WrongQuestion
from headwater.events.times import iso_time
from headwater.index.reading.failures import Failures
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.measures import DatasetMeasures
from headwater.index.reading.view_opener import ViewOpener
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import run_id_of
from headwater.lineage.snapshots.as_of import AsOf, View
from headwater.lineage.snapshots.whole_rewrites import DAY_US
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.health import Owner
from headwater.questions.answer_types.incidents import (
    Incident,
    IncidentDataset,
    IncidentError,
    IncidentRun,
    Incidents,
    IncidentSubject,
)
from headwater.questions.health_lists import EmptiedTable, ReplacedTable, emptied_tables, replaced_tables
from headwater.questions.health_reader import HealthCache, HealthReader
from headwater.questions.incidents.affected import AffectedDataset, AffectedDatasets
from headwater.questions.incidents.content import find_emptied, find_schema_breaks, find_unusual_volumes
from headwater.questions.incidents.failures import find_failures
from headwater.questions.incidents.incident import Finder, FoundIncident, IncidentContext
from headwater.questions.incidents.lateness import find_late
from headwater.questions.incidents.summaries import summary
from headwater.questions.owners import OwnerReader, unique_owners
from headwater.questions.unusual_volumes import MAX_SINCE_US, VolumeCache

FINDERS: tuple[Finder, ...] = (find_failures, find_late, find_emptied, find_schema_breaks, find_unusual_volumes)
"""The finders of incidents, in order. A finder sees what the finders before it have found.

To add a kind, add its finder here, its name to `IncidentKind` and its text to `summaries`.
"""

_MAX_AFFECTED, _MAX_FAILURES, _MAX_OWNED = 100, 50, 50
"""Maximum numbers of datasets, failed runs, and datasets whose owners are read, for each incident."""

_CHECKED = 200
"""Maximum number of datasets whose row counts are checked. The most recently written are checked."""

_BATCH = 500
_RECENT_US = 15_000_000
"""How long (us) an answer about the present is used again if no event arrives. The start page asks more often."""

_MAX_RECENT = 8
"""Maximum number of answers about the present that are kept."""

_EMPTIED = "emptied datasets"


class IncidentPeriod(NamedTuple):
    """A period. since_us, until_us: its ends (us, UTC). is_present: whether it ends now."""

    since_us: int
    until_us: int
    is_present: bool


def incident_period(since_us: int | None, as_of_us: int | None, now_us: int) -> IncidentPeriod:
    """Return the period of a question. Raises WrongQuestion if its start is not before its end.

    since_us: None for 24 hours before the end. as_of_us: None for now.
    """
    until_us = now_us if as_of_us is None else as_of_us
    begin_us = until_us - DAY_US if since_us is None else since_us
    if begin_us >= until_us:
        raise WrongQuestion(f"since ({iso_time(begin_us)}) is not before {iso_time(until_us)}. Use an earlier time.")
    return IncidentPeriod(begin_us, until_us, as_of_us is None)


def incidents_answer(open_views: ViewOpener, period: IncidentPeriod, limit: int, bronze: Bronze) -> Incidents:
    """Answer the incidents that were open at some time of a period."""
    for max_checks in count(_BATCH, _BATCH):  # larger batches each time, so that it ends despite new events
        with open_views.open_view_and_index(AsOf()) as (view, live):
            known = _health_cache(live, period)
            reader = HealthReader(live, view.counted_edges, known.answer_time_us(period.until_us))
            volumes = _volume_cache(live, period)
            since_us = period.since_us + reader.now_us - period.until_us
            if not known.check_due_items(live, reader, max_checks) or not volumes.check_due(
                known, DatasetMeasures(live, reader.now_us), max(since_us, reader.now_us - MAX_SINCE_US), max_checks
            ):
                continue
            newest = _newest_datasets(known)
            unchecked = _unchecked_tables(live, reader, newest)
            if not unchecked:
                context = _context(view, live, reader, known, period, newest=newest, volumes=volumes)
                return _recent_answer(live, context, period, limit)
            names = view.rules.names
        found = emptied_tables(bronze, names, {name: table for name, (_, table) in unchecked.items()})
        with open_views.open_view_and_index(AsOf()) as (_, live):
            checked: dict[Name, tuple[int, EmptiedTable | None]] = live.cached_across_generations(_EMPTIED, dict)
            checked.update((name, (success_us, found.get(name))) for name, (success_us, _) in unchecked.items())
    raise AssertionError  # count() never ends


def incident_by_id(
    open_views: ViewOpener, incident_id: str, period: IncidentPeriod, limit: int, bronze: Bronze
) -> Incident:
    """Answer one incident of a period. Raises NotKnown if there is no incident with this id."""
    found = incidents_answer(open_views, period, limit, bronze)
    for each in found.items:
        if each.id == incident_id:
            return each
    hint = f"Incidents that were open since {found.since} are known; ask with an earlier `since`."
    raise NotKnown("incident", incident_id, [], hint)


def _health_cache(live: LiveGraph, period: IncidentPeriod) -> HealthCache:
    """Return the health of all datasets and jobs, which for the present is shared with the question `health`."""
    if period.is_present:
        return live.cached_across_generations("health", HealthCache)
    return live.cached_in_generation(("health at", period.until_us), HealthCache)


def _volume_cache(live: LiveGraph, period: IncidentPeriod) -> VolumeCache:
    if period.is_present:
        return live.cached_across_generations("unusual volumes", VolumeCache)
    return live.cached_in_generation(("unusual volumes at", period.until_us), VolumeCache)


def _unchecked_tables(
    live: LiveGraph, reader: HealthReader, newest: Sequence[tuple[Name, int]]
) -> dict[Name, tuple[int, ReplacedTable]]:
    """Return (time of the newest write, its events) of replaced tables whose row counts were not read since.

    newest: the result of `_newest_datasets`.
    """
    checked: dict[Name, tuple[int, EmptiedTable | None]] = live.cached_across_generations(_EMPTIED, dict)
    new = {name: success_us for name, success_us in newest if name not in checked or checked[name][0] != success_us}
    replaced = replaced_tables(live, reader, new)
    checked.update((name, (success_us, None)) for name, success_us in new.items() if name not in replaced)
    return {name: (new[name], table) for name, table in replaced.items()}


def _newest_datasets(known: HealthCache) -> list[tuple[Name, int]]:
    """Return (dataset, time of its newest write) of the healthy datasets that were written last."""
    healthy = (
        (name, each.success_us)
        for name, each in known.datasets.items()
        if each.problem is None and each.success_us is not None
    )
    return nlargest(_CHECKED, healthy, key=lambda each: (each[1], each[0]))


def _context(
    view: View,
    live: LiveGraph,
    reader: HealthReader,
    known: HealthCache,
    period: IncidentPeriod,
    *,
    newest: Sequence[tuple[Name, int]],
    volumes: VolumeCache,
) -> IncidentContext:
    since_us = period.since_us + reader.now_us - period.until_us
    readers: dict[int, list[int]] = live.cached_in_generation("readers of datasets", dict)
    failures, affected = Failures(live, since_us, reader.now_us), AffectedDatasets(view, reader, known, readers)
    return IncidentContext(
        view, live, reader, known, failures, affected, since_us, reader.now_us, _emptied(live, newest), volumes
    )


class _RecentAnswer(NamedTuple):
    """An answer about the present. now_us: the moment for which it was computed."""

    now_us: int
    answer: Incidents


class RecentAnswers:
    """Answers about the present, each for `_RECENT_US`. Old ones are removed, so that polls do not fill the memory."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int, int], _RecentAnswer] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def get_or_compute(
        self, period: IncidentPeriod, limit: int, now_us: int, compute: Callable[[], Incidents]
    ) -> Incidents:
        """Return the answer for a period and a limit at a moment (us). compute: called if there is no recent one."""
        length_us = period.until_us - period.since_us
        key = (0 if length_us == DAY_US else period.since_us, limit)  # the default period moves with each question
        for each in [each for each, known in self._answers.items() if not 0 <= now_us - known.now_us <= _RECENT_US]:
            del self._answers[each]
        known = self._answers.get(key)
        if known is None:
            while len(self._answers) >= _MAX_RECENT:
                del self._answers[next(iter(self._answers))]
            known = self._answers[key] = _RecentAnswer(now_us, compute())
        return known.answer


def _recent_answer(live: LiveGraph, context: IncidentContext, period: IncidentPeriod, limit: int) -> Incidents:
    """Return the answer. An answer about the present is used again for `_RECENT_US` if no event arrives."""
    if not period.is_present:
        return _answer(context, limit)
    recent = live.cached_in_generation("recent incidents", RecentAnswers)
    return recent.get_or_compute(period, limit, context.now_us, lambda: _answer(context, limit))


def _answer(context: IncidentContext, limit: int) -> Incidents:
    found = find_incidents(context)
    listed = [to_incident(context, each) for each in found[:limit]]
    return Incidents(
        iso_time(context.since_us) or "", iso_time(context.now_us) or "", listed,
        dict(Counter(each.kind for each in found)), len(found), len(found) > limit,
    )  # fmt: skip


def _emptied(live: LiveGraph, newest: Sequence[tuple[Name, int]]) -> Mapping[Name, int]:
    checked: dict[Name, tuple[int, EmptiedTable | None]] = live.cached_across_generations(_EMPTIED, dict)
    return {
        name: table.rows_before
        for name, success_us in newest
        if (table := checked[name][1]) is not None and checked[name][0] == success_us and table.rows_before is not None
    }


def find_incidents(context: IncidentContext) -> list[FoundIncident]:
    """Return all incidents in the order of rule 10."""
    found: list[FoundIncident] = []
    for finder in FINDERS:
        found += finder(context, tuple(found))
    return sorted(
        found,
        key=lambda each: (
            each.resolved_us is not None,
            each.severity != "error",
            -len(each.not_up_to_date(context.now_us)),
            each.opened_us,
            each.id,
        ),
    )


def to_incident(context: IncidentContext, found: FoundIncident) -> Incident:
    """Return an incident for answers."""
    affected = found.not_up_to_date(context.now_us)
    subject = found.subject
    owned, downstream_owners = _owners(context, found, affected[:_MAX_OWNED])
    tags, downstream_tags = _tags(context, found, affected[:_MAX_OWNED])
    return Incident(
        found.id,
        found.kind,
        found.severity,
        "open" if found.resolved_us is None else "resolved",
        IncidentSubject(subject.kind, *subject.name.parts, subject.column or None, subject.test or None),
        iso_time(found.opened_us) or "",
        iso_time(max(found.opened_us, found.detected_us)) or "",
        iso_time(found.resolved_us),
        iso_time(found.due_us),
        list(found.columns),
        summary(found, context.now_us, context.live.display_names(context.view.rules.names).display_name),
        IncidentError(*found.error) if found.error else None,
        [
            IncidentRun(
                run_id_of(row.key),
                Job(*context.job_name(row.job).parts),
                "LOST" if row.is_lost else "FAIL",
                iso_time(row.at_us),
            )
            for row in found.failures[:_MAX_FAILURES]
        ],
        len(found.failures),
        [IncidentDataset(*each.name.parts, each.distance) for each in affected[:_MAX_AFFECTED]],
        len(affected),
        owned,
        downstream_owners,
        tags,
        downstream_tags,
    )


def _owners(
    context: IncidentContext, found: FoundIncident, affected: Sequence[AffectedDataset]
) -> tuple[list[Owner], list[Owner]]:
    """Return the owners of the failed jobs, of the subject and of the affected datasets, sorted by name.

    The second list contains those that own only datasets at a distance above 0.
    """
    reader = OwnerReader(context.live, context.view.rules)
    jobs = (context.live.names.name(row.job) for row in found.failures[:_MAX_OWNED])  # the first one is the cause
    near, far = _near_and_far(found, affected)
    of_jobs = [owner for job in dict.fromkeys(jobs) for owner in reader.owners_of_job(job)]
    of_cause = unique_owners([*of_jobs, *(owner for name in near for owner in reader.owners_of(name))])
    owners = unique_owners([*of_cause, *(owner for name in far for owner in reader.owners_of(name))])
    known = {each.name for each in of_cause}
    by_name = attrgetter("name")
    return sorted(owners, key=by_name), sorted((each for each in owners if each.name not in known), key=by_name)


def _near_and_far(found: FoundIncident, affected: Sequence[AffectedDataset]) -> tuple[list[Name], list[Name]]:
    """Return two lists: the affected datasets at distance 0, and the other affected datasets.

    If the subject is a dataset, it is the first item of the first list.
    """
    near = [found.subject.name] if found.subject.kind == "dataset" else []
    near += [each.name for each in affected if not each.distance]
    far = [each.name for each in affected if each.distance]
    return list(dict.fromkeys(near)), [name for name in dict.fromkeys(far) if name not in near]


def _tags(
    context: IncidentContext, found: FoundIncident, affected: Sequence[AffectedDataset]
) -> tuple[list[str], list[str]]:
    """Return the tags of the subject and the datasets at distance 0, and the other tags of the affected datasets."""
    near, far = _near_and_far(found, affected)
    of_cause = {tag for name in near for tag in _tags_of(context, name)}
    if found.subject.column:
        of_column = context.view.rules.tags_of(*found.subject.name.parts, found.subject.column)
        of_cause |= {_tag_text(*pair) for pair in of_column}
    return sorted(of_cause), sorted({tag for name in far for tag in _tags_of(context, name)} - of_cause)


def _tags_of(context: IncidentContext, dataset: Name) -> set[str]:
    """Return the tags that producers set on a dataset or its columns, and those of the tags file on the dataset."""
    sent = context.view.snapshot.current_tags().get(dataset.without_generation, ())
    pairs = {(tag.key, tag.value) for tag in sent if tag.value.casefold() != "false"}
    return {_tag_text(*pair) for pair in pairs | context.view.rules.tags_of(*dataset.parts, None)}


def _tag_text(key: str, value: str) -> str:
    return key if value.casefold() in ("", "true") else f"{key}={value}"
