"""Spells of unusual row counts of a dataset, as incidents list them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from headwater.events.statistics_facets import WRITTEN
from headwater.index.reading.measures import DatasetMeasures, ReportedNumbers
from headwater.index.stored.measures import RECENT_ROWS
from headwater.lineage.names.dataset_name import Name
from headwater.questions.health_reader import CachedHealth, HealthCache
from headwater.questions.volume import MIN_DAYS_OF_LARGE, Judgement, Write, judge_series

_HOUR_US = 3_600_000_000
_DAY_US = 24 * _HOUR_US
_WEEK_HOURS = 168

COMPARED_WEEKS = 5
"""The number of weeks before a write whose writes at the same hour of the week are compared with it."""

_MIN_COMPARED = 3
LEAST_DROP, LEAST_RISE = 0.75, 1.4
"""A write with fewer rows than this share of the median of the compared writes is a candidate, or with more than this
multiple. The median is robust to backfills."""


class VolumeSpell(NamedTuple):
    """A spell of unusual writes.

    first: the first write, with its rows and its judgement. ended_us: the time of the next usual write, or None.
    """

    first: ReportedNumbers
    judgement: Judgement
    ended_us: int | None


_Candidate = tuple[int, int, int, int]
"""(time in us, rows, number of earlier completed rows, checksum of their times) of a write"""


class FoundSpells(NamedTuple):
    """The spells of a dataset that had not ended before a time.

    candidates: the writes since then, and the one before, that the spells take into account.
    """

    candidates: frozenset[_Candidate] = frozenset()
    spells: tuple[VolumeSpell, ...] = ()

    @property
    def has_open_spell(self) -> bool:
        """Whether the newest spell has not ended."""
        return bool(self.spells) and self.spells[-1].ended_us is None


NO_SPELLS = FoundSpells()


class _CheckedVolume(NamedTuple):
    """What was found for a dataset with a state of its health and a start of the period (us)."""

    health: CachedHealth
    since_us: int
    found: FoundSpells


class VolumeCache:
    """The spells of all written datasets. A dataset is examined again when an event names it."""

    def __init__(self) -> None:
        self._checked: dict[Name, _CheckedVolume] = {}

    def check_due(self, known: HealthCache, measures: DatasetMeasures, since_us: int, max_checks: int) -> bool:
        """Examine up to `max_checks` datasets. Return whether the spells of all datasets are known.

        known: an up-to-date cache of health. since_us: the start of the period (us).
        """
        checked, datasets = self._checked, known.datasets
        for name in checked.keys() - datasets.keys():
            del checked[name]
        due = [
            (name, health)
            for name, health in datasets.items()
            if (last := checked.get(name)) is None or last.health is not health or last.since_us > since_us
        ]
        for name, health in due[:max_checks]:
            last = checked.get(name)
            before = last.found if last and last.since_us <= since_us else NO_SPELLS
            found = find_spells(measures, name, since_us, before) if health.success_us is not None else NO_SPELLS
            checked[name] = _CheckedVolume(health, since_us, found)
        return len(due) <= max_checks

    def spells(self, since_us: int) -> Iterator[tuple[Name, VolumeSpell]]:
        """Yield the spells of all datasets that had not ended before a time (us), sorted by name."""
        for name in sorted(name for name, each in self._checked.items() if each.found.spells):
            for spell in self._checked[name].found.spells:
                if spell.ended_us is None or spell.ended_us > since_us:
                    yield name, spell


def find_spells(measures: DatasetMeasures, dataset: Name, since_us: int, before: FoundSpells) -> FoundSpells:
    """Find the spells of unusual writes that had not ended before a time (us).

    A judgement replays the whole series, which takes 11 to 23 ms of CPU for 400 writes. The series is therefore judged
    only if a write in the period, or the last write before it, is a candidate: a write that clearly differs from others
    at the same hour of the week.

    before: the result for an earlier time. It is reused if it has no open spell and there are no new candidates.
    """
    names = measures.names_of(dataset)
    newest = measures.reported(names, WRITTEN, limit=1)
    oldest_us = measures.oldest_us(names) if newest else None
    if oldest_us is None or newest[0].time_us - oldest_us < MIN_DAYS_OF_LARGE * _DAY_US:
        return NO_SPELLS  # too little history for a judgement
    last = measures.reported(names, WRITTEN, until_us=since_us, limit=1)
    first_us = min(last[0].time_us if last else since_us, newest[0].time_us)
    window = completed_rows(measures.reported(names, WRITTEN, after_us=first_us - (7 * COMPARED_WEEKS + 1) * _DAY_US))
    candidates = frozenset(
        (*window.writes[at], *measures.completed_before(names, WRITTEN, window.writes[at][0]))
        for at in window.places_since(first_us)
        if window.is_candidate(at)
    )
    if not candidates and not before.has_open_spell:
        return NO_SPELLS
    if candidates <= before.candidates and not before.has_open_spell:
        return FoundSpells(candidates, before.spells)
    every = completed_rows(measures.reported(names, WRITTEN, limit=RECENT_ROWS[WRITTEN]))
    spells = (each for each in every.spells() if each.ended_us is None or each.ended_us > since_us)
    return FoundSpells(candidates, tuple(spells))


class CompletedRows:
    """The row counts of completed writes in order of time."""

    def __init__(self, points: Sequence[ReportedNumbers], writes: Sequence[Write]):
        """points, writes: of the same length."""
        self.points, self.writes = points, writes
        self._by_hour: dict[int, list[int]] = {}
        for place, (time_us, _) in enumerate(writes):
            self._by_hour.setdefault(time_us // _HOUR_US % _WEEK_HOURS, []).append(place)

    def places_since(self, time_us: int) -> range:
        """Return the places of the writes at or after a time (us)."""
        return range(bisect_left(self.writes, (time_us, -1)), len(self.writes))

    def is_candidate(self, place: int) -> bool:
        """Return whether a write differs clearly from earlier writes at the same hour of the week.

        It does too if there are fewer than three of them in five weeks.
        """
        time_us, rows = self.writes[place]
        hour, since_us = time_us // _HOUR_US, time_us - COMPARED_WEEKS * _WEEK_HOURS * _HOUR_US - 2 * _HOUR_US
        compared = [
            self.writes[other][1]
            for near in (hour - 1, hour, hour + 1)
            for other in self._by_hour.get(near % _WEEK_HOURS, ())
            if since_us <= self.writes[other][0] <= time_us - _DAY_US
        ]
        if len(compared) < _MIN_COMPARED:
            return True
        usual = median(compared)
        return not LEAST_DROP * usual <= rows <= LEAST_RISE * usual

    def spells(self) -> Iterator[VolumeSpell]:
        """Yield the spells of writes that are candidates and unusual, oldest first."""
        spell: VolumeSpell | None = None
        for place, judgement in enumerate(judge_series(self.writes)):
            point = self.points[place]
            if judgement.verdict == "unusual" and self.is_candidate(place):
                spell = spell or VolumeSpell(point, judgement, None)
            elif spell and (judgement.verdict != "not judged" or _is_usual(self.writes[place][1], spell.judgement)):
                yield spell._replace(ended_us=point.time_us)
                spell = None
        if spell:
            yield spell


def completed_rows(reported: Iterable[ReportedNumbers]) -> CompletedRows:
    """Return the row counts of the completed writes. reported: oldest first."""
    points = [each for each in reported if each.state == "COMPLETE" and each.numbers.rows is not None]
    return CompletedRows(points, [(each.time_us, int(each.numbers.rows or 0)) for each in points])


def _is_usual(rows: int, judgement: Judgement) -> bool:
    """Return whether a write that is not judged, such as a repeat, has as many rows as the unusual one should have."""
    return judgement.low is not None and judgement.high is not None and judgement.low <= rows <= judgement.high
