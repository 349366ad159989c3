"""Rule 1.9: the states LOST and ENDED of batch runs without a terminal event.

A run is LOST if it sends no events for `LOST_AFTER`. It is ENDED if its parent or root run has ended.
"""

from collections.abc import Iterable
from datetime import timedelta

LOST_AFTER = timedelta(hours=24)
"""The time without events after which a run is lost. It begins at the newest event of the run (rule 1.3)."""
LOST_AFTER_US = LOST_AFTER // timedelta(microseconds=1)


def lost_run_condition(last_us: str, now_us: str, table: str | None = None) -> str:
    """Return a SQL condition, for SQLite and Spark, that is true if a run is lost.

    The condition uses the columns `state` and `processing` of the run.
    last_us: a SQL expression for the time of the newest event of the run in microseconds.
    now_us: a SQL expression for the present time in microseconds.
    table: the table with the two columns, if the query joins several tables; else None.
    Runs of STREAMING and SERVICE jobs are never lost, because many of them send no event between start and end.
    """
    silence = f"{last_us} < {now_us} - {LOST_AFTER_US}"
    of_run = f"{table}." if table else ""
    return f"{of_run}state = 'RUNNING' AND {of_run}processing = 'BATCH' AND {silence}"


def is_lost(*, has_ended: bool, is_streaming: bool, last_us: int, now_us: int) -> bool:
    """Tell whether a run is lost. last_us: the time (us) of its newest event. now_us: the present time (us)."""
    return not (has_ended or is_streaming) and last_us < now_us - LOST_AFTER_US


ENDED = "ENDED"
"""The state of a batch run without a terminal event whose parent or root run has ended."""


def ended_with_parent_condition(run_table: str, parent_table: str) -> str:
    """Return a SQL condition, for SQLite and Spark, that is true if a run ended with its parent or root run.

    run_table: the table of the run, with the columns `state`, `processing`, and `time_us` of its newest event.
    parent_table: the table of the parent or root run, with the column `ended_us`.
    """
    is_open = f"{run_table}.state IN ('RUNNING', '{ENDED}') AND {run_table}.processing = 'BATCH'"
    return f"{is_open} AND {parent_table}.ended_us >= {run_table}.time_us"


def ended_with_parent(*, is_open: bool, is_streaming: bool, last_us: int, ends_us: Iterable[int | None]) -> bool:
    """Tell whether a run ended with its parent or its root run.

    is_open: whether the run has no terminal event. last_us: the time of the newest event of the run.
    ends_us: the ends of the parent and root run; None for a run that has not ended. All times are in microseconds.
    """
    return is_open and not is_streaming and any(end_us is not None and end_us >= last_us for end_us in ends_us)
