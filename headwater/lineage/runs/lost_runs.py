"""Rule 1.9: batch runs that report no end are lost after a while, or ended with what they are part of."""

from collections.abc import Iterable
from datetime import timedelta

LOST_AFTER = timedelta(hours=24)
"""Silence behind a run's newest event (rule 1's order) that makes it lost."""
LOST_AFTER_US = LOST_AFTER // timedelta(microseconds=1)


def lost_sql(last_us: str, now_us: str, table: str | None = None) -> str:
    """Return the condition, for SQLite and Spark, over columns `state` and `processing` of a run.

    last_us, now_us: expressions in microseconds. table: qualifies both columns, for a query that joins tables which
    also have a column of that name. Runs of STREAMING and SERVICE jobs have no end to wait for, and many
    say nothing between beginning and end: silence proves nothing of them.
    """
    silence = f"{last_us} < {now_us} - {LOST_AFTER_US}"
    of_run = f"{table}." if table else ""
    return f"{of_run}state = 'RUNNING' AND {of_run}processing = 'BATCH' AND {silence}"


def is_lost(*, has_ended: bool, is_streaming: bool, last_us: int, now_us: int) -> bool:
    """Tell the same of one run; times in microseconds."""
    return not (has_ended or is_streaming) and last_us < now_us - LOST_AFTER_US


ENDED = "ENDED"
"""The state of a batch run that reports no end although its parent or its root run ended: it ended with them."""


def ended_sql(run: str, above: str) -> str:
    """Return the condition, for SQLite and Spark, that a run ended with a run that is its parent or its root.

    run, above: names of tables with the columns `ended_us`, and `time_us` of the newest event.
    """
    return f"{run}.state IN ('RUNNING', '{ENDED}') AND {run}.processing = 'BATCH' AND {above}.ended_us >= {run}.time_us"


def has_ended(*, is_open: bool, is_streaming: bool, last_us: int, ends_us: Iterable[int | None]) -> bool:
    """Tell the same of one run; ends_us: of its parent and its root run."""
    return is_open and not is_streaming and any(end_us is not None and end_us >= last_us for end_us in ends_us)
