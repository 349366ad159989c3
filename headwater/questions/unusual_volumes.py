"""Spells of unusual row counts of a dataset, as incidents list them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from statistics import median
from typing import NamedTuple

from headwater.events.statistics_facets import WRITTEN
from headwater.index.reading.measures import DatasetMeasures, ReportedNumbers, time_checksum
from headwater.index.stored.measures import RECENT_ROWS
from headwater.lineage.names.dataset_name import Name
from headwater.questions.health_reader import CachedHealth, HealthCache
from headwater.questions.volume import MIN_DAYS_OF_LARGE, Judgement, Write, judge_series
from headwater.questions.volume_histories import history_starts, split_histories

_HOUR_US = 3_600_000_000
_DAY_US = 24 * _HOUR_US
_WEEK_HOURS = 168

COMPARED_WEEKS = 5
"""The number of weeks before a write whose writes at the same hour of the week are compared with it."""

_MIN_COMPARED = 3
LEAST_DROP, LEAST_RISE = 0.75, 1.4
"""A write with fewer rows than this share of the median of the compared writes is a candidate, or with more than this
multiple. The median is robust to backfills."""


LEFT_US = 14 * _DAY_US
"""If a job writes no more, its spell ends with the first write of another job after this time (us)."""

_JUDGEMENT = 50
"""A judgement takes about as long as so many examinations without one."""

MAX_SINCE_US = 31 * _DAY_US
"""How long (us) before a moment a spell may have ended so that incidents list it."""


class VolumeSpell(NamedTuple):
    """A spell of unusual writes.

    first: the first write, with its rows and its judgement. ended_us: the time of the next usual write, or None.
    """

    first: ReportedNumbers
    judgement: Judgement
    ended_us: int | None


_Candidate = tuple[int, int, int, int, int]
"""(time in us, rows, time of the write before in its history, number of earlier completed rows of the dataset, checksum
of their times) of a write"""


class FoundSpells(NamedTuple):
    """The spells of a dataset that had not ended before a time.

    candidates: the writes since then, and the one before, that the spells take into account. is_judged:
    whether the series was judged for this result.
    """

    candidates: frozenset[_Candidate] = frozenset()
    spells: tuple[VolumeSpell, ...] = ()
    is_judged: bool = False

    @property
    def has_open_spell(self) -> bool:
        """Whether a spell has not ended."""
        return any(each.ended_us is None for each in self.spells)


NO_SPELLS = FoundSpells()


class _CheckedVolume(NamedTuple):
    """What was found for a dataset with a state of its events and a start of the period (us)."""

    state: tuple[int, int | None]
    since_us: int
    found: FoundSpells


class VolumeCache:
    """The spells of all written datasets. A dataset is examined again when an event names it."""

    def __init__(self) -> None:
        self._checked: dict[Name, _CheckedVolume] = {}

    def check_due(self, known: HealthCache, measures: DatasetMeasures, since_us: int, max_checks: int) -> bool:
        """Examine datasets. Return whether the spells of all datasets are known.

        known: an up-to-date cache of health. since_us: the start of the period (us). max_checks: how many datasets are
        examined; one whose series is judged counts as `_JUDGEMENT` datasets.
        """
        checked, datasets = self._checked, known.datasets
        for name in checked.keys() - datasets.keys():
            del checked[name]
        due = [
            (name, health)
            for name, health in datasets.items()
            if (last := checked.get(name)) is None or last.state != _state(health) or last.since_us > since_us
        ]
        cost = 0
        for place, (name, health) in enumerate(due):
            if cost >= max_checks:
                return place == len(due)
            last = checked.get(name)
            before = last.found if last and last.since_us <= since_us else NO_SPELLS
            found = find_spells(measures, name, since_us, before) if health.success_us is not None else NO_SPELLS
            checked[name] = _CheckedVolume(_state(health), since_us, found)
            cost += _JUDGEMENT if found.is_judged else 1
        return True

    def spells(self, since_us: int) -> Iterator[tuple[Name, VolumeSpell]]:
        """Yield the spells of all datasets that had not ended before a time (us), sorted by name."""
        for name in sorted(name for name, each in self._checked.items() if each.found.spells):
            for spell in self._checked[name].found.spells:
                if spell.ended_us is None or spell.ended_us > since_us:
                    yield name, spell


def _state(health: CachedHealth) -> tuple[int, int | None]:
    """Return what changes as soon as an event names a dataset, or the newest write changes."""
    return health.version, health.success_us


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
    starts = history_starts(measures.ends_us(dataset))
    reported = measures.reported(names, WRITTEN, after_us=first_us - (7 * COMPARED_WEEKS + 1) * _DAY_US)
    candidates = frozenset(_candidates(measures, names, completed_histories(reported, starts), since_us))
    if not candidates and not before.has_open_spell:
        return NO_SPELLS
    if candidates <= before.candidates and not before.has_open_spell:
        return FoundSpells(candidates, before.spells)
    histories = completed_histories(measures.reported(names, WRITTEN, limit=RECENT_ROWS[WRITTEN]), starts)
    spells = [each for each in _spells(histories) if each.ended_us is None or each.ended_us > since_us]
    return FoundSpells(candidates, tuple(spells), is_judged=True)


def _spells(histories: Sequence["CompletedRows"]) -> list[VolumeSpell]:
    """Return the spells of all histories of a dataset, oldest first."""
    times = sorted(time_us for history in histories for time_us, _ in history.writes)
    found = []
    for history in histories:
        for spell in history.spells():
            after = bisect_right(times, history.writes[-1][0] + LEFT_US)
            is_left = spell.ended_us is None and after < len(times)
            found.append(spell._replace(ended_us=times[after]) if is_left else spell)
    return sorted(found, key=lambda each: (each.first.time_us, each.first.run))


def _candidates(
    measures: DatasetMeasures, names: Sequence[int], histories: Sequence["CompletedRows"], since_us: int
) -> Iterator[_Candidate]:
    """Yield the writes after a time (us), and the last one before of each history, that differ clearly.

    histories: the newest writes.
    """
    found = [
        (history, place)
        for history in histories
        for place in range(max(0, history.places_since(since_us + 1).start - 1), len(history.writes))
        if history.is_candidate(place)
    ]
    if not found:
        return
    times = sorted(time_us for history in histories for time_us, _ in history.writes)
    number, checksum = measures.completed_before(names, WRITTEN, times[0])
    checksums = [*accumulate(map(time_checksum, times), initial=checksum)]
    for history, place in found:
        time_us, rows = history.writes[place]
        before_us = history.writes[place - 1][0] if place else -1
        earlier = bisect_left(times, time_us)
        yield time_us, rows, before_us, number + earlier, checksums[earlier]


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


def completed_histories(reported: Iterable[ReportedNumbers], starts: Sequence[int]) -> list[CompletedRows]:
    """Return the row counts of the completed writes of each history. reported: oldest first."""
    points = [each for each in reported if each.state == "COMPLETE" and each.numbers.rows is not None]
    writes = [(each.time_us, int(each.numbers.rows or 0)) for each in points]
    return [
        CompletedRows([points[place] for place in places], [writes[place] for place in places])
        for places in split_histories([(each.time_us, each.job) for each in points], starts)
    ]


def _is_usual(rows: int, judgement: Judgement) -> bool:
    """Return whether a write that is not judged, such as a repeat, has as many rows as the unusual one should have."""
    return judgement.low is not None and judgement.high is not None and judgement.low <= rows <= judgement.high
