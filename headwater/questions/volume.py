"""Judge the rows of a write by the dataset's own rhythm: growth, weekday, hour, end of the month, and noise.

The logarithm of the rows is `level + weekday + hour + month end + noise`. A Kalman filter follows the level, its growth
and the weekdays, and computes how uncertain each expected value is. The noise is a winsorised variance of its errors.

- A second write in a period (repeat, backfill) is neither history nor judged. A late write is not history, and is
  unusual only if it has fewer rows than any weekday.
- A write far outside the range does not change the expected rows. A level that stays for a week is the new level.
- The season at the end of the month is one of `month_ends.SEASONS`. If the history does not decide which, or whether
  there is one, the range covers all that are plausible.
- Drops have narrow limits and rises wide ones: both share one budget of false alarms. Both are twice as wide while the
  history is shorter than six weeks.

Weekdays and months are those of UTC.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import pairwise
from statistics import median
from typing import Literal

from headwater.questions.month_ends import MonthEnds

Verdict = Literal["usual", "unusual", "not judged"]
Write = tuple[int, int]
"""Time of a write (µs since 1970, UTC) and its rows."""

_HOUR_US = 3_600_000_000
_DAY_US = 24 * _HOUR_US
_WEEK_US = 7 * _DAY_US
_PERIODS_US = (*(hours * _HOUR_US for hours in (1, 2, 3, 4, 6, 8, 12, 24)), _WEEK_US)

FIRST_WRITES, FIRST_WRITES_OF_WEEKS, FIRST_WEEKS = 15, 4, 3
IRREGULAR_PERIODS, IRREGULAR_WRITES = 10, 400
MIN_DAYS = 42
MIN_DAYS_OF_LARGE, LARGE = 28, 2.0
"""From this day to `MIN_DAYS` on, limits are so many times as wide, so that only large changes are unusual."""
MAX_GAP_DAYS = 4
"""A gap between writes counts as at most so many days of the history, or two periods of a weekly writer."""

MIN_OF_WEEKDAY = 3
MIN_OF_WEEK = 12
MIN_ROWS = 10
MOST_LOGARITHM = 100.0
USUALLY_ZERO = 0.4
MOST_DROP = 0.9
"""A dataset in which only a larger drop is visible is not judged."""

# Limits in standard deviations. A schedule with more writes has wider limits, so that each has the same false alarms.
DROP_LIMITS = {_HOUR_US: 4.1, _DAY_US: 3.28, _WEEK_US: 2.88}
RISE_LIMIT = 4.3
BLIND, BLIND_LIMIT = 0.55, 0.25
"""Where the limit is beyond a drop of 40 % anyway, a wider one loses little and saves false alarms."""

START_NOISE, START_NOISE_WEIGHT = 0.1, 4.0
NOISE_MEMORY = 250.0
MIN_NOISE = 0.015
WINSOR, WINSOR_MEAN = 2.5, 0.9776
"""Limit of an error in deviations, and the mean of min(z², WINSOR²) of a normal z."""
START_WINSOR, START_WINSOR_WEIGHT = 4.0, 20.0

# Standard deviations of the logarithm before the first write, and their changes in a day.
SEASON = 1.0
START_LEVEL_OF_WEEKS = 0.3
GROWTH, GROWTH_CHANGE = 0.004, 0.00005
LEVEL_CHANGE, WEEKDAY_CHANGE, MIN_HOUR_SHARE = 0.05, 0.01, 0.01  # of the noise

HUBER, OUTLIER = 2.5, 5.0
SHIFT_START, SHIFT_CONTINUES = 2.5, 1.5
SHIFT_WRITES, SHIFT_US = 3, int(6.5 * _DAY_US)

_GROWTH, _WEEKDAYS = 1, 2  # places in the state, after the level


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with the range of usual rows.

    `smallest_drop` is a share of the expected rows: 0.3 means that a write with 30 % fewer rows is unusual. A verdict
    "not judged" has a `reason`. It has a smallest drop as soon as the noise is known, and no range.
    """

    verdict: Verdict
    low: float | None = None
    expected: float | None = None
    high: float | None = None
    smallest_drop: float | None = None
    reason: str = ""


def judge_volume(history: Iterable[Write], now: Write) -> Judgement:
    """Judge the newest write by all earlier ones, oldest first."""
    rhythm = VolumeRhythm()
    for write in history:
        rhythm.add(write)
    return rhythm.judge(now)


def judge_series(writes: Iterable[Write]) -> list[Judgement]:
    """Judge every write by those before it, in one pass over a series in order of time."""
    rhythm = VolumeRhythm()
    judgements = []
    for write in writes:
        judgements.append(rhythm.judge(write))
        rhythm.add(write)
    return judgements


class VolumeRhythm:
    """The rhythm of one dataset, which learns write by write in order of time."""

    def __init__(self) -> None:
        self._first_writes: list[Write] = []
        self._period = 0
        self._irregular_periods = 0  # in a row, with a write outside the schedule
        self._is_irregular = False
        self._irregular: deque[Write] = deque(maxlen=IRREGULAR_WRITES)
        self._model: _Model | None = None

    def judge(self, write: Write) -> Judgement:
        """Judge the next write without learning from it."""
        if self._model is None:
            return _not_judged("too few writes to find the schedule")
        return self._model.judge(write)

    def add(self, write: Write) -> None:
        """Learn from a write."""
        if self._model is None:
            self._first_writes.append(write)
            self._start(self._first_writes)
            return
        period, is_on_time = self._model.add(write)
        if period != self._period:
            if not self._is_irregular:
                self._irregular_periods = 0
                self._irregular.clear()
            self._period = period
            self._is_irregular = False
        if not is_on_time and not self._is_irregular:
            self._is_irregular = True
            self._irregular_periods += 1
        self._irregular.append(write)
        if self._irregular_periods >= IRREGULAR_PERIODS:
            self._start(list(self._irregular))

    def _start(self, writes: Sequence[Write]) -> None:
        """Learn from the first writes of a schedule as soon as they show its period."""
        weeks = (writes[-1][0] - writes[0][0]) / _WEEK_US
        if len(writes) < FIRST_WRITES and not (len(writes) >= FIRST_WRITES_OF_WEEKS and weeks >= FIRST_WEEKS):
            return
        gap_us = max(1.0, median(after[0] - before[0] for before, after in pairwise(writes)))
        period_us = min(_PERIODS_US, key=lambda each: abs(math.log(each / gap_us)))
        self._model = _Model(period_us, writes)
        for write in writes:
            self._model.add(write)
        self._first_writes = []
        self._irregular_periods = 0
        self._is_irregular = False
        self._irregular.clear()


@dataclass(frozen=True, slots=True)
class _Period:
    """The period of a write on a schedule: its nominal time, its date, and its place in the seasons."""

    number: int
    time_us: int
    date: date
    weekday: int
    hour: int


@dataclass(frozen=True, slots=True)
class _Expectation:
    """Expected logarithm of the rows without a month end, its variance without noise, and its covariances."""

    mean: float
    variance: float
    covariances: list[float]
    days: float


class _Model:
    """A Kalman filter of level, growth and weekdays; hours of the day are filtered apart, for they would be many."""

    def __init__(self, period_us: int, writes: Sequence[Write]) -> None:
        self._period_us = period_us
        self._phase_us = _circular_mean([time_us for time_us, _ in writes], period_us)
        self._tolerance_us = min(period_us // 4, _HOUR_US) if period_us <= _DAY_US else 3 * _HOUR_US
        self._drop_limit = next(limit for most_us, limit in DROP_LIMITS.items() if period_us <= most_us)
        self._min_count = MIN_OF_WEEK if period_us == _WEEK_US else MIN_OF_WEEKDAY
        self._slots = max(1, _DAY_US // period_us)
        self._last_number: int | None = None
        self._last_us = writes[0][0]
        self._covered_us, self._last_write_us = 0, writes[0][0]
        self._max_gap_us = max(2 * period_us, MAX_GAP_DAYS * _DAY_US)
        logarithms = [math.log(rows) for _, rows in writes if rows > 0]
        self._state = [median(logarithms) if logarithms else 0.0, *[0.0] * 8]
        # A weekly writer has no weekdays to learn.
        of_level, of_weekday = (START_LEVEL_OF_WEEKS, 0.0) if period_us == _WEEK_US else (SEASON, SEASON)
        self._covariance = [[0.0] * 9 for _ in range(9)]
        for place, deviation in enumerate((of_level, GROWTH, *[of_weekday] * 7)):
            self._covariance[place][place] = deviation**2
        self._hours = [0.0] * self._slots
        self._hour_variances = [SEASON**2 if self._slots > 1 else 0.0] * self._slots
        self._counts = [[0] * self._slots for _ in range(7)]
        self._zero_shares = [[0.0] * self._slots for _ in range(7)]
        self._noise_variance = START_NOISE**2
        self._noise_weight = START_NOISE_WEIGHT
        self._month_ends = MonthEnds(is_weekly=period_us == _WEEK_US)
        self._early_month_ends: list[tuple[_Period, float]] = []  # before the weekdays are known
        self._outside: list[tuple[int, float]] = []  # times and levels of writes that may show a new level
        self._outside_of_weekday: list[dict[date, list[float]]] = [{} for _ in range(7)]

    def judge(self, write: Write) -> Judgement:
        time_us, rows = write
        period, is_on_time = self._period(time_us)
        if self._last_number is not None and period.number <= self._last_number:
            return _not_judged("written again in the same period")
        expectation = self._expect(period)
        usual = _rows(expectation.mean)
        deviation = math.sqrt(expectation.variance + self._noise_variance)
        drop_limit = self._drop_limit + (BLIND_LIMIT if self._drop_limit * deviation > BLIND else 0.0)
        of_t = 1 + (drop_limit**2 + 1) / (4 * self._noise_weight)  # the noise is estimated: quantile of Student's t
        if self._history_us(time_us) < MIN_DAYS * _DAY_US:
            of_t *= LARGE
        if not is_on_time:
            return self._judge_late(rows, period, expectation, drop_limit * of_t * deviation, time_us)
        deviation = max(deviation, 1 / math.sqrt(usual + 1))  # counts vary at least as much as Poisson's
        to_low, to_high = drop_limit * of_t * deviation, RISE_LIMIT * of_t * deviation
        smallest_drop = 1 - math.exp(-to_low)
        effects = self._month_ends.range(period.date, math.sqrt(self._noise_variance))
        if effects is None:
            return _not_judged("the history has too few ends of a month", smallest_drop)
        if reason := self._reason(period, time_us, usual, smallest_drop):
            return _not_judged(reason, smallest_drop)
        low = _rows(expectation.mean + effects[0] - to_low)
        high = _rows(expectation.mean + effects[1] + to_high)
        effect = self._month_ends.decided(period.date, math.sqrt(self._noise_variance)) or 0.0
        verdict: Verdict = "usual" if low - 1 <= rows <= high + 1 else "unusual"
        return Judgement(verdict, low, _rows(expectation.mean + effect), high, smallest_drop)

    def _reason(self, period: _Period, time_us: int, usual: float, smallest_drop: float) -> str:
        """Say why a write on time is not judged; empty if it is."""
        if not self._is_ready(period, time_us):
            return "too little history"
        if self._zero_shares[period.weekday][period.hour] >= USUALLY_ZERO:
            return "usually no rows at this time"
        if usual < MIN_ROWS:
            return f"usually fewer than {MIN_ROWS} rows at this time"
        return "too much noise" if smallest_drop > MOST_DROP else ""

    def _judge_late(
        self, rows: int, period: _Period, expectation: _Expectation, to_low: float, time_us: int
    ) -> Judgement:
        """Compare with the lowest weekday, hour and month end, for the write may be a backfill of any of them."""
        weekdays, hours = self._state[_WEEKDAYS:], self._hours
        lowest = min(weekdays) - weekdays[period.weekday] + min(hours) - hours[period.hour] + self._month_ends.lowest()
        low = _rows(expectation.mean + lowest - to_low)
        may_be_zero = any(share >= USUALLY_ZERO for shares in self._zero_shares for share in shares)
        if rows < low and self._is_ready(period, time_us) and not may_be_zero:
            return Judgement("unusual", low)
        return _not_judged("outside the schedule")

    def _is_ready(self, period: _Period, time_us: int) -> bool:
        is_long = self._history_us(time_us) >= MIN_DAYS_OF_LARGE * _DAY_US
        return is_long and self._counts[period.weekday][period.hour] >= self._min_count

    def _history_us(self, time_us: int) -> int:
        """Return the length (us) of the history before a time, in which a long gap counts only in part."""
        return self._covered_us + max(0, min(time_us - self._last_write_us, self._max_gap_us))

    def _period(self, time_us: int) -> tuple[_Period, bool]:
        """Return the period of a write, and whether it is on time; a late write belongs to the period before."""
        number, after_us = divmod(time_us - self._phase_us + self._tolerance_us, self._period_us)
        nominal_us = self._phase_us + number * self._period_us
        time = datetime.fromtimestamp(nominal_us / 1e6, UTC)
        period = _Period(number, nominal_us, time.date(), time.weekday(), time.hour * self._slots // 24)
        return period, after_us <= 2 * self._tolerance_us

    def _mean(self, period: _Period) -> float:
        days = (period.time_us - self._last_us) / _DAY_US
        state = self._state
        return state[0] + days * state[_GROWTH] + state[_WEEKDAYS + period.weekday] + self._hours[period.hour]

    def _expect(self, period: _Period) -> _Expectation:
        days = max(0.0, (period.time_us - self._last_us) / _DAY_US)
        place = _WEEKDAYS + period.weekday
        covariances = [row[0] + days * row[_GROWTH] + row[place] for row in self._covariance]
        covariances[0] += days * covariances[_GROWTH] + days * LEVEL_CHANGE**2 * self._noise_variance
        covariances[place] += days * WEEKDAY_CHANGE**2 * self._noise_variance
        variance = covariances[0] + covariances[place] + self._hour_variances[period.hour]
        return _Expectation(self._mean(period), variance, covariances, days)

    def add(self, write: Write) -> tuple[int, bool]:
        """Learn from a write, and return the number of its period and whether it is on time."""
        time_us, rows = write
        period, is_on_time = self._period(time_us)
        if not is_on_time or (self._last_number is not None and period.number <= self._last_number):
            return period.number, is_on_time
        self._covered_us = self._history_us(time_us)
        self._last_write_us = time_us
        self._last_number = period.number
        self._phase_us += (time_us - period.time_us) // 20
        counts, zero_shares = self._counts[period.weekday], self._zero_shares[period.weekday]
        counts[period.hour] += 1
        zero_shares[period.hour] += ((rows <= 0) - zero_shares[period.hour]) / min(counts[period.hour], 6)
        if rows > 0:
            self._learn(period, rows)
        return period.number, True

    def _learn(self, period: _Period, rows: int) -> None:
        value = math.log(rows)
        expectation = self._expect(period)
        noise_variance = max(self._noise_variance, MIN_NOISE**2, 1 / (rows + 1))
        is_mature = expectation.variance < noise_variance
        effect = self._month_ends.decided(period.date, math.sqrt(self._noise_variance))
        if self._month_ends.is_season(period.date):
            self._early_month_ends.append((period, value))
        if is_mature:
            for early, of_early in self._early_month_ends:
                self._month_ends.add(early.date, of_early - self._mean(early))
            self._early_month_ends.clear()
        if effect is None:
            return
        error = value - expectation.mean - effect
        size = abs(error) / math.sqrt(expectation.variance + noise_variance)
        if is_mature:
            if size < OUTLIER:
                self._learn_noise(error, expectation.variance, noise_variance)
            if self._is_new_level(period, expectation, error, size) or self._is_new_weekday(period, error, size):
                return
        if size > OUTLIER:
            return
        if is_mature and size > HUBER:
            noise_variance *= (size / HUBER) ** 2
        self._update(period, expectation, error, noise_variance)

    def _learn_noise(self, error: float, variance: float, noise_variance: float) -> None:
        winsor = WINSOR if self._noise_weight >= START_WINSOR_WEIGHT else START_WINSOR
        square = min(error**2 / (1 + variance / noise_variance), winsor**2 * noise_variance) / WINSOR_MEAN
        self._noise_weight = min(self._noise_weight + 1, NOISE_MEMORY)
        self._noise_variance += (square - self._noise_variance) / self._noise_weight
        self._noise_variance = max(self._noise_variance, MIN_NOISE**2)

    def _is_new_level(self, period: _Period, expectation: _Expectation, error: float, size: float) -> bool:
        """Move the level if the writes of a week were outside on one side."""
        outside = self._outside
        if outside and (size < SHIFT_CONTINUES or (error > 0) != (outside[-1][1] > self._state[0])):
            outside.clear()
        if not outside and size < SHIFT_START:
            return False
        level = self._state[0] + expectation.days * self._state[_GROWTH] + error
        outside.append((period.time_us, level))
        is_short = len(outside) < SHIFT_WRITES or period.time_us - outside[0][0] < SHIFT_US
        if is_short or size < SHIFT_START:
            return False
        self._advance(period, expectation.days)
        self._state[0] = median(each for _, each in outside)
        self._covariance[0][0] += 2 * self._noise_variance / len(outside)
        outside.clear()
        return True

    def _is_new_weekday(self, period: _Period, error: float, size: float) -> bool:
        """Move the season of a weekday if three of them in a row were outside on one side."""
        outside = self._outside_of_weekday[period.weekday]
        if outside and (size < SHIFT_CONTINUES or (error > 0) != (next(iter(outside.values()))[0] > 0)):
            outside.clear()
        if not outside and size < SHIFT_START:
            return False
        outside.setdefault(period.date, []).append(error)
        if len(outside) < SHIFT_WRITES or size < SHIFT_START:
            return False
        place = _WEEKDAYS + period.weekday
        self._state[place] += median(each for errors in outside.values() for each in errors)
        self._covariance[place][place] += self._noise_variance
        outside.clear()
        return True

    def _update(self, period: _Period, expectation: _Expectation, error: float, noise_variance: float) -> None:
        self._advance(period, expectation.days)
        total = expectation.variance + noise_variance
        if self._slots > 1:
            gain = self._hour_variances[period.hour] / total
            self._hours[period.hour] += gain * error
            least = MIN_HOUR_SHARE * self._noise_variance
            self._hour_variances[period.hour] = max(least, (1 - gain) * self._hour_variances[period.hour])
        covariances = expectation.covariances
        gains = [each / total for each in covariances]
        self._state = [each + gain * error for each, gain in zip(self._state, gains, strict=True)]
        self._covariance = [
            [each - gain * other for each, other in zip(row, covariances, strict=True)]
            for row, gain in zip(self._covariance, gains, strict=True)
        ]

    def _advance(self, period: _Period, days: float) -> None:
        """Move the level by its growth to the time of a period."""
        state, covariance = self._state, self._covariance
        state[0] += days * state[_GROWTH]
        covariance[0] = [each + days * other for each, other in zip(covariance[0], covariance[_GROWTH], strict=True)]
        for row in covariance:
            row[0] += days * row[_GROWTH]
        of_weekday = days * WEEKDAY_CHANGE**2 * self._noise_variance
        for place in range(_WEEKDAYS, _WEEKDAYS + 7):
            covariance[place][place] += of_weekday
        covariance[0][0] += days * LEVEL_CHANGE**2 * self._noise_variance
        covariance[_GROWTH][_GROWTH] += days * GROWTH_CHANGE**2
        self._last_us = max(self._last_us, period.time_us)


def _not_judged(reason: str, smallest_drop: float | None = None) -> Judgement:
    return Judgement("not judged", smallest_drop=smallest_drop, reason=reason)


def _rows(logarithm: float) -> float:
    return math.exp(min(logarithm, MOST_LOGARITHM))


def _circular_mean(times_us: Sequence[int], period_us: int) -> int:
    angles = [2 * math.pi * (time_us % period_us) / period_us for time_us in times_us]
    angle = math.atan2(sum(map(math.sin, angles)), sum(map(math.cos, angles)))
    return int(angle / (2 * math.pi) * period_us) % period_us
