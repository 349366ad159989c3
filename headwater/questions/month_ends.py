"""Seasons at the end of a month: which one explains the errors of a dataset's expected rows, and by how much."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median

MIN_MONTHS = 2
MEMORY_DAYS = 248
MIN_EFFECT = 0.2
"""Smallest effect, of the logarithm of the rows, that is a season."""
PENALTY = 2.5
"""Likelihood, as a logarithm, that a season must gain to be as likely as none."""
PLAUSIBLE, DECIDED = 0.002, 0.9
MOST_LOSS = 12.0
"""Of one day, so that one anomaly does not decide."""


def _is_last_working_day(day: date) -> bool:
    after = day + timedelta(days=3 if day.weekday() == 4 else 1)
    return day.weekday() < 5 and after.month != day.month


def _is_first_working_day(day: date) -> bool:
    return day.weekday() < 5 and day.day <= (3 if day.weekday() == 0 else 1)


SEASONS: Mapping[str, Callable[[date], bool]] = {
    "last day": lambda day: (day + timedelta(days=1)).month != day.month,
    "last three days": lambda day: (day + timedelta(days=3)).month != day.month,
    "last working day": _is_last_working_day,
    "first day": lambda day: day.day == 1,
    "first three days": lambda day: day.day <= 3,
    "first working day": _is_first_working_day,
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What one season adds to the logarithm of the rows of a day; `weight` is its share of the likelihood of all."""

    weight: float
    least: float = 0.0
    middle: float = 0.0
    greatest: float = 0.0


class MonthEnds:
    """Errors of the expected rows around month ends.

    A weekly write covers seven days, so its effect depends on how many of them are in the season. All effects between
    the smallest and the greatest of the history are then plausible.
    """

    def __init__(self, *, is_weekly: bool) -> None:
        self._is_weekly = is_weekly
        self._errors: dict[date, list[float]] = {}
        self._seasons: dict[date, frozenset[str]] = {}
        self._of_day: tuple[date, list[Effect] | None] | None = None

    def is_season(self, day: date) -> bool:
        """Say whether any of the seasons covers a day."""
        return bool(self._seasons_of(day))

    def add(self, day: date, error: float) -> None:
        """Add the error of a write, of the logarithm of its rows."""
        self._errors.setdefault(day, []).append(error)
        if self._of_day and self._of_day[0] != day:
            self._of_day = None
        while (day - (first := next(iter(self._errors)))).days > MEMORY_DAYS:
            del self._errors[first]

    def range(self, day: date, noise: float) -> tuple[float, float] | None:
        """Return the least and the greatest plausible effect; None if the history has too few month ends."""
        if not self.is_season(day):
            return 0.0, 0.0
        effects = self._effects(day, noise)
        if effects is None:
            return None
        return min(each.least for each in effects), max(each.greatest for each in effects)

    def decided(self, day: date, noise: float) -> float | None:
        """Return the effect of the one likely season, which may be none (0.0); None if the history does not decide."""
        if not self.is_season(day):
            return 0.0
        effects = self._effects(day, noise)
        if effects is None:
            return None
        best = max(effects, key=lambda each: each.weight)
        return best.middle if best.weight > DECIDED else None

    def lowest(self) -> float:
        """Return the lowest error of the history, at most 0."""
        return min(0.0, *(median(errors) for errors in self._errors.values()), 0.0)

    def _effects(self, day: date, noise: float) -> list[Effect] | None:
        """Return the plausible effects of a day, computed at its first write from the days before."""
        if self._of_day is None or self._of_day[0] != day:
            self._of_day = day, self._computed(day, noise)
        return self._of_day[1]

    def _computed(self, day: date, noise: float) -> list[Effect] | None:
        past = {each: median(errors) for each, errors in self._errors.items() if each != day}
        of_day = self._seasons_of(day)
        if len({_month_end(each) for each in past if of_day & self._seasons_of(each)} - {_month_end(day)}) < MIN_MONTHS:
            return None
        seasons_and_errors = [(self._seasons_of(each), error) for each, error in past.items()]
        gains = [(0.0, Effect(0.0))]
        for season in SEASONS:
            errors = [error for seasons, error in seasons_and_errors if season in seasons]
            if not errors:
                if season in of_day:
                    return None
                continue
            effect = median(errors)
            if abs(effect) < MIN_EFFECT:
                continue
            gain = sum(_loss(error / noise) - _loss((error - effect) / noise) for error in errors) - PENALTY
            if season not in of_day:
                gains.append((gain, Effect(0.0)))
            elif self._is_weekly:
                gains.append((gain, Effect(0.0, min(0.0, *errors), effect, max(0.0, *errors))))
            else:
                gains.append((gain, Effect(0.0, effect, effect, effect)))
        most = max(gain for gain, _ in gains)
        total = sum(math.exp(gain - most) for gain, _ in gains)
        weighted = (
            Effect(math.exp(gain - most) / total, each.least, each.middle, each.greatest) for gain, each in gains
        )
        return [each for each in weighted if each.weight >= PLAUSIBLE]

    def _seasons_of(self, day: date) -> frozenset[str]:
        found = self._seasons.get(day)
        if found is None:
            covered = [day - timedelta(days=back) for back in range(7 if self._is_weekly else 1)]
            found = frozenset(name for name, covers in SEASONS.items() if any(map(covers, covered)))
            self._seasons[day] = found
        return found


def _month_end(day: date) -> tuple[int, int]:
    near = day + timedelta(days=10)
    return near.year, near.month


def _loss(size: float) -> float:
    return min(size * size / 2, MOST_LOSS)
