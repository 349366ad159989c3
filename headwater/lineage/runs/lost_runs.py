"""Rule 1.9: batch runs without a terminal event become LOST after a time, or ENDED with their parent or root run."""

from collections.abc import Iterable
from datetime import timedelta

LOST_AFTER = timedelta(hours=24)
"""The time after the newest event of a run (in the order of rule 1.3) after which the run is lost."""
LOST_AFTER_US = LOST_AFTER // timedelta(microseconds=1)


def lost_sql(last_us: str, now_us: str, table: str | None = None) -> str:
    """Return the SQL condition, for SQLite and Spark, that a run is lost. It uses its columns `state` and `processing`.

    last_us, now_us: SQL expressions in microseconds. table: qualifies both columns if the query joins other tables.
    Runs of STREAMING and SERVICE jobs are never lost, because many send no event between start and end.
    """
    silence = f"{last_us} < {now_us} - {LOST_AFTER_US}"
    of_run = f"{table}." if table else ""
    return f"{of_run}state = 'RUNNING' AND {of_run}processing = 'BATCH' AND {silence}"


def is_lost(*, has_ended: bool, is_streaming: bool, last_us: int, now_us: int) -> bool:
    """Tell whether a run is lost; times in microseconds."""
    return not (has_ended or is_streaming) and last_us < now_us - LOST_AFTER_US


ENDED = "ENDED"
"""The state of a batch run without a terminal event whose parent or root run has ended."""


def ended_sql(run_table: str, parent_table: str) -> str:
    """Return the SQL condition, for SQLite and Spark, that a run ended with its parent or its root run.

    run_table, parent_table: names of tables with the columns `ended_us`, and `time_us` of the newest event.
    """
    is_open = f"{run_table}.state IN ('RUNNING', '{ENDED}') AND {run_table}.processing = 'BATCH'"
    return f"{is_open} AND {parent_table}.ended_us >= {run_table}.time_us"


def has_ended(*, is_open: bool, is_streaming: bool, last_us: int, ends_us: Iterable[int | None]) -> bool:
    """Tell whether a run ended with its parent or its root run, whose ends are in `ends_us`; times in microseconds."""
    return is_open and not is_streaming and any(end_us is not None and end_us >= last_us for end_us in ends_us)
