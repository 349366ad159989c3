"""How often something is written, and whether it is late: from the times at which it was, never from a schedule.

A verdict needs proof: too few writes, no rhythm in them, or a silence longer than all that is known say `unknown`.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

from headwater.index.reading.written_times import RanWrite

LEAST = 6
"""Writes from which a rhythm is known: five intervals."""

NEWEST = 30
"""Newest writes that it is taken from."""

_US = timedelta(microseconds=1)
_HOUR_US, _DAY_US, _WEEK_US = (timedelta(hours=hours) // _US for hours in (1, 24, 168))
_LEAST_GRACE_US = timedelta(minutes=5) // _US
_TO_DEVIATION = 1.4826
"""From a median absolute deviation to the standard deviation of what is distributed normally."""


class Rhythm(NamedTuple):
    """usual_us: the median interval; grace_us: how much longer one may be before it says something."""

    usual_us: int
    grace_us: int


class Punctuality(NamedTuple):
    """Whether something is on time; due_us: by when the next write was to be expected; late_us: since when it was."""

    verdict: Literal["on time", "late", "unknown"]
    reason: str
    rhythm: Rhythm | None = None
    due_us: int | None = None
    late_us: int | None = None


def times_of(writes: Iterable[RanWrite]) -> list[int]:
    """Return when it was written, oldest first; writes of one execution, within an hour of one another, are one."""
    last: dict[int, int] = {}
    times: list[int] = []
    for write in sorted(writes, reverse=True):
        later = last.get(write.execution)
        if later is None or later - write.time_us > _HOUR_US:
            times.append(write.time_us)
        last[write.execution] = write.time_us
    return times[:NEWEST][::-1]


def rhythm_of(times: Sequence[int]) -> Rhythm | str:
    """Return the rhythm of writes, oldest first, or why none is known."""
    if len(times) < LEAST:
        return f"{len(times)} writes that completed are known, and a rhythm needs {LEAST}"
    intervals = [later - earlier for earlier, later in pairwise(times)]
    usual = median(intervals)
    spread = _TO_DEVIATION * median(abs(each - usual) for each in intervals)
    if usual <= 0 or spread > usual / 2:
        return "its writes have no rhythm"
    return Rhythm(round(usual), round(max(usual / 4, 3 * spread, _LEAST_GRACE_US)))


def punctuality(
    times: Sequence[int], now_us: int, first_us: int, silence_us: Callable[[int], int | None]
) -> Punctuality:  # fmt: skip
    """Tell whether the next write is late.

    times: of writes, oldest first, none later than now; first_us: of the first that is known.
    silence_us: how long nothing had been written at a moment, None where nothing is known of before. So long a silence
    at the same time a day or a week earlier is no lateness: nights, weekends.
    """
    rhythm = rhythm_of(times)
    if isinstance(rhythm, str):
        return Punctuality("unknown", rhythm)
    last, usual = times[-1], spoken(rhythm.usual_us)
    due, silent = last + rhythm.usual_us, now_us - last
    if now_us <= due + rhythm.grace_us:
        return Punctuality("on time", f"usually every {usual}", rhythm, due)
    if silent > last - first_us:
        reason = f"nothing was written for {spoken(silent)}, which is longer than it is known to have been written"
        return Punctuality("unknown", reason, rhythm, due)
    for period, ago in ((_DAY_US, "day"), (_WEEK_US, "week")):
        before = silence_us(now_us - (silent // period + 1) * period)
        if before is not None and before >= silent * 3 / 4:
            reason = f"usually every {usual}, and as silent at this time of a {ago} before"
            return Punctuality("on time", reason, rhythm, due)
    late = now_us - due
    return Punctuality("late", f"late by {spoken(late)}, usually every {usual}", rhythm, due, late)


def spoken(span_us: int) -> str:
    """Return a span of time in its two largest units, such as `1 d 3 h`."""
    rest, parts = max(0, round(span_us / 1_000_000)), []
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        many, rest = divmod(rest, seconds)
        if many:
            parts.append(f"{many} {unit}")
        elif parts:
            break
    return " ".join(parts[:2]) or "0 s"
