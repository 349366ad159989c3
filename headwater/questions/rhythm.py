"""The rhythm of writes and whether the next one is late, derived from past writes without a schedule.

The verdict is `unknown` without proof: too few writes, no rhythm, or a gap longer than the known period.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

from headwater.index.reading.write_times import TimedWrite

MIN_WRITES = 6
"""Minimum number of writes for a rhythm: five intervals."""

MAX_WRITES = 30
"""Number of newest writes that define the rhythm."""

_US = timedelta(microseconds=1)
_HOUR_US, _DAY_US, _WEEK_US = (timedelta(hours=hours) // _US for hours in (1, 24, 168))
_MIN_GRACE_US = timedelta(minutes=5) // _US
_MAD_TO_DEVIATION = 1.4826
"""Factor from the median absolute deviation to the standard deviation of a normal distribution."""


class Rhythm(NamedTuple):
    """The rhythm of writes.

    usual_us: the median interval between writes. grace_us: additional time before a write counts as late.
    """

    usual_us: int
    grace_us: int


class Punctuality(NamedTuple):
    """Whether something is on time. due_us: when the next write was expected. late_us: the delay since then."""

    verdict: Literal["on time", "late", "unknown"]
    reason: str
    rhythm: Rhythm | None = None
    due_us: int | None = None
    late_us: int | None = None


def separate_writes(writes: Iterable[TimedWrite]) -> list[TimedWrite]:
    """Return writes, oldest first. Of the writes of one execution within an hour, only the last one is returned."""
    last: dict[int, int] = {}
    found: list[TimedWrite] = []
    for write in sorted(writes, reverse=True):
        later = last.get(write.execution)
        if later is None or later - write.time_us > _HOUR_US:
            found.append(write)
        last[write.execution] = write.time_us
    return found[::-1]


def write_times(writes: Iterable[TimedWrite]) -> list[int]:
    """Return the times of the newest writes that define the rhythm, oldest first. See `separate_writes`."""
    return [write.time_us for write in separate_writes(writes)][-MAX_WRITES:]


def rhythm_of(times: Sequence[int]) -> Rhythm | str:
    """Return the rhythm of writes (oldest first), or the reason why there is none."""
    if len(times) < MIN_WRITES:
        return f"only {len(times)} completed writes or runs are known, and a rhythm needs {MIN_WRITES}"
    intervals = [later - earlier for earlier, later in pairwise(times)]
    usual = median(intervals)
    spread = _MAD_TO_DEVIATION * median(abs(each - usual) for each in intervals)
    if usual <= 0 or spread > usual / 2:
        return "its writes have no regular rhythm"
    return Rhythm(round(usual), round(max(usual / 4, 3 * spread, _MIN_GRACE_US)))


def punctuality(
    times: Sequence[int], now_us: int, first_us: int, silence_us: Callable[[int], int | None]
) -> Punctuality:  # fmt: skip
    """Return whether the next write is late.

    times: times of writes (us), oldest first, none in the future. first_us: time of the first known write. silence_us:
    receives a moment (us), and returns the time that had passed since the last write at this moment; None if no write
    is known. A similar gap at the same time a day or a week earlier, as at night or on weekends, is not late.
    """
    rhythm = rhythm_of(times)
    if isinstance(rhythm, str):
        return Punctuality("unknown", rhythm)
    last, usual = times[-1], format_duration(rhythm.usual_us)
    due, silent = last + rhythm.usual_us, now_us - last
    if now_us <= due + rhythm.grace_us:
        return Punctuality("on time", f"usually every {usual}", rhythm, due)
    if silent > last - first_us:
        reason = f"no write for {format_duration(silent)}, which is longer than the whole known period of writes"
        return Punctuality("unknown", reason, rhythm, due)
    for period, ago in ((_DAY_US, "day"), (_WEEK_US, "week")):
        before = silence_us(now_us - (silent // period + 1) * period)
        if before is not None and before >= silent * 3 / 4:
            reason = f"usually every {usual}, with a similar gap at the same time one {ago} earlier"
            return Punctuality("on time", reason, rhythm, due)
    late = now_us - due
    return Punctuality("late", f"late by {format_duration(late)}, usually every {usual}", rhythm, due, late)


class LateSpell(NamedTuple):
    """A time in which a write was late.

    last: the write before. due_us: when the next write was expected. late_from_us: the end of the grace period.
    ended_us: when the next write came, None if it has not come.
    """

    last: TimedWrite
    due_us: int
    late_from_us: int
    ended_us: int | None


_LONG_GAP = 1.2
"""A gap that is shorter than this many usual intervals is never late, because the grace period is a quarter of one."""


def past_late_spells(
    writes: Sequence[TimedWrite], first_us: int, silence_us: Callable[[int], int | None]
) -> tuple[LateSpell, ...]:
    """Return the spells in which a write was late that came since, oldest first.

    writes: from `separate_writes`. first_us, silence_us: as in `punctuality`. Each spell is judged by the writes before
    it, as it was judged then.
    """
    times = [write.time_us for write in writes]
    if len(times) <= MIN_WRITES:
        return ()
    usual = median(later - earlier for earlier, later in pairwise(times))
    found: list[LateSpell] = []
    for at in range(MIN_WRITES, len(times)):
        if times[at] - times[at - 1] > _LONG_GAP * usual:
            known = punctuality(times[max(0, at - MAX_WRITES) : at], times[at] - 1, first_us, silence_us)
            if known.verdict == "late" and known.rhythm and known.due_us is not None:
                late_from_us = known.due_us + known.rhythm.grace_us
                found.append(LateSpell(writes[at - 1], known.due_us, late_from_us, times[at]))
    return tuple(found)


def format_duration(span_us: int) -> str:
    """Format a duration with its two largest units, such as `1 d 3 h`."""
    rest, parts = max(0, round(span_us / 1_000_000)), []
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        many, rest = divmod(rest, seconds)
        if many:
            parts.append(f"{many} {unit}")
        elif parts:
            break
    return " ".join(parts[:2]) or "0 s"
