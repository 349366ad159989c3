"""Split the writes of a dataset into histories, each of which is judged on its own."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

_DAY_US = 86_400_000_000
MIN_LIFE_US = 42 * _DAY_US
"""A drop or replacement within this time (us) after the one before is regular, and starts no new history."""


def history_starts(ends_us: Iterable[int]) -> list[int]:
    """Return when (us) new histories of a dataset start.

    ends_us: when it was dropped or replaced by a rename, oldest first. A job may do this each night.
    """
    found: list[int] = []
    before_us: int | None = None
    for end_us in ends_us:
        if before_us is None or end_us - before_us >= MIN_LIFE_US:
            found.append(end_us)
        before_us = end_us
    return found


def split_histories(writes: Sequence[tuple[int, int | None]], starts: Sequence[int]) -> list[list[int]]:
    """Return the places of the writes of each history, in order of time.

    writes: (time in us, number of the job) in order of time. starts: the result of `history_starts`. Jobs that write by
    turns have a history each. A job whose writes all follow those of another one, such as a renamed job or a job with a
    new name for each run, continues its history.
    """
    of_jobs: dict[tuple[int, int | None], list[int]] = {}
    for place, (time_us, job) in enumerate(writes):
        of_jobs.setdefault((bisect_right(starts, time_us), job), []).append(place)
    found: dict[int, list[list[int]]] = {}
    for (start, _), places in of_jobs.items():  # in the order of their first writes
        histories = found.setdefault(start, [])
        ended = [each for each in histories if each[-1] < places[0]]
        if ended:
            max(ended, key=lambda each: each[-1]).extend(places)
        else:
            histories.append([*places])
    return [each for histories in found.values() for each in histories]
