"""Generate planted volume series: 400 days of writes of one dataset, with seasons, noise and labelled anomalies.

The series do not depend on a detector; `bench.volume_anomalies` runs detectors on them.
Tune detectors on `DEVELOPMENT_SEEDS`. Use `UNSEEN_SEEDS` only for published figures.

The rows of a regular write are `expected * exp(noise * N(0, 1))`, rounded. `expected` is the product of

- the size of the dataset, 1,000 to 100 million rows,
- growth: none, linear or exponential up to three times in a year, or one shift of the level that stays,
- the weekday: seven profiles, among them weekends with few rows, with writes of 0 rows, and without writes,
- the end of the month: a peak or dip on its last or first days,
- the hour, for hourly writers.

A weekly write contains the mean of the seven days before it, so a weekly writer has no weekday season.
These disturbances are not anomalies:

- A missed run writes nothing, and the next run does not catch up.
- A doubled run writes twice in one period: a rewrite repeats the rows with a noise of 0.5 %, an append exactly.
- A backfill writes the rows of past periods again, minutes apart during working hours, in addition to regular writes.

An anomaly multiplies the expected rows. A one-off is a single write. A lasting anomaly covers the regular writes of
five days, which is a single write of a weekly writer. Anomalies start at day 90 or later, at least 26 days apart, and
never in a period that usually has less than a tenth of the usual rows, where a drop of 40 % does not matter.

A level shift is not an anomaly once the level has stayed. Writes of its first 14 days (weekly: 28) are *settling*: an
alarm on them counts neither as found nor as false. Later alarms are false.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from statistics import median
from typing import Literal

DAYS = 400
NOISES = (0.02, 0.05, 0.10, 0.20)
DEVELOPMENT_SEEDS = range(480)
UNSEEN_SEEDS = range(1_000_000, 1_000_480)
QUICK_SEEDS = 20

ANOMALIES = 4  # per planted series
FIRST_ANOMALY_DAY = 90
LASTING_DAYS = 5
START_RANGE_DAYS = 50  # an anomaly starts in the first 50 days of its part of the series, 76 days long
MIN_SHARE = 0.1  # of the usual rows, in a period with an anomaly
BEFORE_SHIFT_DAYS = 5  # without anomalies before a level shift
REPEAT_NOISE = 0.005

_MINUTE_US = 60_000_000
HOUR_US = 60 * _MINUTE_US
DAY_US = 24 * HOUR_US

Cadence = Literal["hourly", "daily", "weekly"]
Kind = Literal["regular", "repeat", "backfill"]

SETTLING_DAYS: dict[Cadence, int] = {"hourly": 14, "daily": 14, "weekly": 28}

WEEKDAYS: dict[str, tuple[float, ...]] = {
    "none": (1, 1, 1, 1, 1, 1, 1),
    "office": (1.1, 1, 1, 1, 0.9, 0.5, 0.4),
    "Monday peak": (2, 1, 1, 1, 1, 0.9, 0.9),
    "weekend peak": (0.8, 0.8, 0.9, 1, 1.3, 1.8, 1.6),
    "weekend low": (1, 1, 1, 1, 1, 0.02, 0.02),
    "weekend zero": (1, 1, 1, 1, 1, 0, 0),
    "weekend unwritten": (1, 1, 1, 1, 1, 1, 1),
}
HOURS: dict[str, Callable[[int], float]] = {
    "none": lambda _: 1.0,
    "wave": lambda hour: 1 - 0.6 * math.cos((hour - 2) * math.pi / 12),
    "office": lambda hour: 1.0 if 7 <= hour < 19 else 0.05,
}
MONTHS = ("last day", "last working day", "last three days", "first day", "first three days")


@dataclass(frozen=True, slots=True)
class Change:
    """How an anomaly changes rows; `factor` is the share of the expected rows that it writes."""

    name: str
    factor: float


CHANGES = (
    *(Change(f"drop of {percent} %", 1 - percent / 100) for percent in (20, 30, 40, 60, 90)),
    Change("drop to zero", 0.0),
    *(Change(f"rise x{factor:g}", factor) for factor in (1.5, 3, 30)),
)


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A planted anomaly; `day` counts from the first day of the series, `is_lasting` means five days."""

    day: int
    change: Change
    is_lasting: bool


@dataclass(frozen=True, slots=True)
class Write:
    """One write with its labels; `expected` rows are without noise and anomaly, `anomaly` is an index in the series."""

    time_us: int
    rows: int
    expected: float
    kind: Kind = "regular"
    anomaly: int | None = None
    is_settling: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """The writes of a dataset, ordered by time. `start_us` is midnight (UTC) of day 0; `shift_day` is a day number."""

    seed: int
    noise: float
    cadence: Cadence
    is_append: bool
    weekday: str
    month: str
    growth: str
    start_us: int
    shift_day: int | None
    anomalies: tuple[Anomaly, ...]
    writes: tuple[Write, ...]

    def day_of(self, time_us: int) -> int:
        """Return the day number of a time, starting at 0."""
        return (time_us - self.start_us) // DAY_US


def all_series(seeds: Sequence[int], noise: float, *, is_planted: bool) -> Iterator[Series]:
    """Yield the series of one noise level, with anomalies or clean."""
    return (make_series(seed, noise, is_planted=is_planted) for seed in seeds)


def make_series(seed: int, noise: float, *, is_planted: bool) -> Series:
    """Return one series; the same arguments give the same series.

    Of 20 consecutive seeds, one is hourly, four are weekly and 15 daily. All kinds of anomalies are equally frequent.
    """
    return _Maker(seed, noise, is_planted=is_planted).make()


@dataclass(frozen=True, slots=True)
class _Slot:
    """A period in which the dataset has a regular write."""

    time_us: int
    day: int
    expected: float
    share: float  # season only: 1 is usual


class _Maker:
    def __init__(self, seed: int, noise: float, *, is_planted: bool) -> None:
        self._seed = seed
        self._noise = noise
        self._is_planted = is_planted
        chance = self._chance = Random(f"{seed} {noise} {is_planted}")
        self._cadence: Cadence = "hourly" if seed % 20 == 0 else "weekly" if seed % 5 == 1 else "daily"
        self._first = datetime(2023, 1, 1, tzinfo=UTC) + timedelta(days=chance.randrange(365))
        self._start_us = int(self._first.timestamp()) * 1_000_000
        self._size = 10 ** chance.uniform(3, 8)
        self._is_append = chance.random() < 0.5
        self._weekday = chance.choice(list(WEEKDAYS))
        self._hour = chance.choice(list(HOURS))
        self._month = chance.choice(MONTHS) if chance.random() < 0.4 else "none"
        self._month_factor = chance.uniform(1.5, 4) if chance.random() < 0.6 else chance.uniform(0.3, 0.7)
        self._growth = chance.choice(("none", "linear", "exponential", "shift"))
        self._in_a_year = chance.uniform(1.2, 3)
        self._shift_day = chance.randrange(120, 300) if self._growth == "shift" else None
        self._shift_factor = chance.choice((0.5, 0.7, 1.5, 2.0))
        self._missed = chance.choice((0.0, 0.01, 0.03))
        self._doubled = chance.choice((0.0, 0.005, 0.02))
        self._backfills = chance.choice((0, 0, 0, 0, 1, 3))

    def make(self) -> Series:
        slots = list(self._slots())
        anomalies, anomaly_of = self._plant(slots) if self._is_planted else ((), {})
        planted_days = {slots[index].day for index in anomaly_of}
        writes = [
            *self._regular_writes(slots, anomalies, anomaly_of),
            *self._backfill_writes(slots, planted_days),
        ]
        writes.sort(key=lambda each: each.time_us)
        return Series(
            self._seed, self._noise, self._cadence, self._is_append, self._weekday, self._month, self._growth,
            self._start_us, self._shift_day, anomalies, tuple(writes),
        )  # fmt: skip

    def _slots(self) -> Iterator[_Slot]:
        chance = self._chance
        minute, hour, weekday = chance.randrange(30), chance.randrange(9), chance.randrange(7)
        seasons = [self._season(day) for day in range(DAYS)]
        usual = median(each for each in seasons if each)
        hours = [HOURS[self._hour](each) for each in range(24)] if self._cadence == "hourly" else [1.0]
        for day in range(DAYS):
            date = self._first + timedelta(days=day)
            if self._cadence == "weekly":
                if date.weekday() != weekday:
                    continue
                past = seasons[max(0, day - 6) : day + 1]
                season = sum(past) / len(past)
            elif self._weekday == "weekend unwritten" and date.weekday() >= 5:
                continue
            else:
                season = seasons[day]
            level = self._size * self._level(day)
            for number, of_hour in enumerate(hours):
                late_us = int(chance.random() * 20 * _MINUTE_US)
                at_hour = number if self._cadence == "hourly" else hour
                time_us = self._start_us + day * DAY_US + at_hour * HOUR_US + minute * _MINUTE_US + late_us
                yield _Slot(time_us, day, level * season * of_hour, season * of_hour / usual)

    def _season(self, day: int) -> float:
        date = self._first + timedelta(days=day)
        of_weekday = WEEKDAYS[self._weekday][date.weekday()]
        return of_weekday * self._month_factor if _is_at_month_end(self._month, date) else of_weekday

    def _level(self, day: int) -> float:
        year = day / 365
        if self._growth == "linear":
            return 1 + (self._in_a_year - 1) * year
        if self._growth == "exponential":
            return float(self._in_a_year**year)
        return self._shift_factor if self._shift_day is not None and day >= self._shift_day else 1.0

    def _settling_days(self) -> range:
        start = self._shift_day
        return range(0) if start is None else range(start, start + SETTLING_DAYS[self._cadence])

    def _plant(self, slots: Sequence[_Slot]) -> tuple[tuple[Anomaly, ...], dict[int, int]]:
        """Return the anomalies, and the anomaly index of each changed slot."""
        settling = self._settling_days()
        barred = range(settling.start - BEFORE_SHIFT_DAYS, settling.stop) if settling else settling
        part = (DAYS - FIRST_ANOMALY_DAY) // ANOMALIES - 1
        anomalies: list[Anomaly] = []
        anomaly_of: dict[int, int] = {}
        for number in range(ANOMALIES):
            first = FIRST_ANOMALY_DAY + number * part
            starts = range(first, first + START_RANGE_DAYS)
            index = self._chance.choice(
                [
                    index
                    for index, slot in enumerate(slots)
                    if slot.day in starts and slot.day not in barred and slot.share >= MIN_SHARE
                ]
            )
            change, is_lasting = _KINDS[(self._seed * ANOMALIES + number) % len(_KINDS)]
            anomalies.append(Anomaly(slots[index].day, change, is_lasting))
            end_us = slots[index].time_us + LASTING_DAYS * DAY_US - HOUR_US
            while index not in anomaly_of and index < len(slots) and slots[index].time_us < end_us:
                anomaly_of[index] = number
                index += 1
                if not is_lasting:
                    break
        return tuple(anomalies), anomaly_of

    def _regular_writes(
        self, slots: Sequence[_Slot], anomalies: Sequence[Anomaly], anomaly_of: dict[int, int]
    ) -> Iterator[Write]:
        chance = self._chance
        settling = self._settling_days()
        for index, slot in enumerate(slots):
            anomaly = anomaly_of.get(index)
            if anomaly is None and chance.random() < self._missed:
                continue
            factor = 1.0 if anomaly is None else anomalies[anomaly].change.factor
            rows = self._noisy(slot.expected * factor)
            is_settling = slot.day in settling
            yield Write(slot.time_us, rows, slot.expected, "regular", anomaly, is_settling)
            if anomaly is None and chance.random() < self._doubled:
                again = rows if self._is_append else round(rows * math.exp(REPEAT_NOISE * chance.gauss(0, 1)))
                later_us = 8 * _MINUTE_US if self._cadence == "hourly" else int(chance.uniform(1, 5) * HOUR_US)
                yield Write(slot.time_us + later_us, again, slot.expected, "repeat", None, is_settling)

    def _backfill_writes(self, slots: Sequence[_Slot], planted_days: set[int]) -> Iterator[Write]:
        chance = self._chance
        settling = self._settling_days()
        free = [day for day in range(40, DAYS) if day not in planted_days]
        for day in chance.sample(free, self._backfills):
            past = [slot for slot in slots if slot.day < day]
            if self._cadence == "daily":
                skipped, number, minutes = chance.randrange(8), chance.randint(3, 14), chance.uniform(2, 10)
            elif self._cadence == "hourly":
                skipped, number, minutes = chance.randrange(72), 24, chance.uniform(1, 2)
            else:
                skipped, number, minutes = chance.randrange(2), chance.randint(2, 4), chance.uniform(2, 10)
            time_us = self._start_us + day * DAY_US + int(chance.uniform(9, 17) * HOUR_US)
            for slot in past[: len(past) - skipped][-number:]:
                yield Write(time_us, self._noisy(slot.expected), slot.expected, "backfill", None, day in settling)
                time_us += int(minutes * _MINUTE_US)

    def _noisy(self, expected: float) -> int:
        return round(expected * math.exp(self._noise * self._chance.gauss(0, 1)))


_KINDS = tuple(Random("kinds").sample([*product(CHANGES, (False, True))], 2 * len(CHANGES)))


def _is_at_month_end(month: str, date: datetime) -> bool:
    after = [date + timedelta(days=each) for each in (1, 2, 3)]
    match month:
        case "last day":
            return after[0].month != date.month
        case "last three days":
            return after[2].month != date.month
        case "last working day":
            following = next(each for each in (date + timedelta(days=step) for step in (1, 2, 3)) if each.weekday() < 5)
            return date.weekday() < 5 and following.month != date.month
        case "first day":
            return date.day == 1
        case "first three days":
            return date.day <= 3
        case _:
            return False
