"""Time series over a window: received events, rejections, refusals, and states of runs."""

from collections.abc import Sequence
from typing import NamedTuple

from headwater.api.freshness import FreshnessMeter
from headwater.api.shapes.operations import Overview, OverviewRun, RunHealth, Window
from headwater.common.errors import WrongQuestion
from headwater.events.times import iso
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_lists import RunState, failed_runs, lost_runs, states_in_time
from headwater.index.reading.view_opener import ViewOpener
from headwater.intake.event_log import LogReader, each
from headwater.lake.bronze_tables import Bronze
from headwater.lake.row_lists import counts_in_time
from headwater.questions.answers.answer_parts import Job
from headwater.tables import EVENTS, REFUSED, REJECTED

_HOUR_US = 3600 * 1_000_000
_MAX_US = 366 * 24 * _HOUR_US
_LATEST_US = 7_030 * 366 * 24 * _HOUR_US


class TimeBuckets(NamedTuple):
    """A window of time in buckets of equal length (us, UTC)."""

    since_us: int
    bucket_us: int
    buckets: int

    @property
    def until_us(self) -> int:
        """End of the window, exclusive."""
        return self.since_us + self.bucket_us * self.buckets


def overview_of(
    readers: Sequence[LogReader],
    bronze: Bronze,
    open_views: ViewOpener,
    freshness: FreshnessMeter,
    *,
    window: TimeBuckets,
    now_us: int,
) -> Overview:
    """Return series of events, rejections and refusals (by time of receipt) and of runs (by event time)."""
    passed = bronze.watermarks([reader.source for reader in readers])
    pending = sum(each(readers, lambda reader: reader.pending(passed[reader.source])))
    return Overview(
        Window(iso(window.since_us) or "", iso(window.until_us) or "", window.bucket_us / 1e6),
        counts_in_time(bronze, EVENTS, *window).get("", [0] * window.buckets),
        counts_in_time(bronze, REJECTED, *window),
        counts_in_time(bronze, REFUSED, *window),
        open_views.now(lambda live, _: run_health(live, window, now_us)) if bronze.exists() else None,
        pending,
        freshness.answer(),
    )


def run_health(live: LiveGraph, window: TimeBuckets, now_us: int) -> RunHealth:
    """Return the number of runs by state and time of their end or newest event, and the failed and lost runs."""
    series: dict[str, list[int]] = {}
    for state, bucket, count in states_in_time(live, window.since_us, window.bucket_us, window.until_us):
        series.setdefault(state, [0] * window.buckets)[bucket] = count
    lost, lost_count = lost_runs(live, now_us)
    return RunHealth(
        {state: sum(counts) for state, counts in series.items()},
        series,
        [_item(run) for run in failed_runs(live, window.since_us, window.until_us)],
        [_item(run) for run in lost],
        lost_count,
    )


def _item(run: RunState) -> OverviewRun:
    times = iso(run.started_us), iso(run.ended_us), iso(run.time_us)
    return OverviewRun(run.run, Job(*run.job.parts), run.state, *times)


def window_of(from_us: int | None, to_us: int | None, buckets: int, now_us: int) -> TimeBuckets:
    """Return the requested window; by default, the last hour. Raises WrongQuestion if it is empty or too long."""
    until_us = now_us if to_us is None else to_us
    since_us = until_us - _HOUR_US if from_us is None else from_us
    if not 0 < until_us - since_us <= _MAX_US:
        raise WrongQuestion(
            "The window from `from` to `to` is empty or longer than 366 days. Choose a later `to` or a shorter window."
        )
    if until_us > _LATEST_US:
        raise WrongQuestion("to= is after the year 9000. Choose an earlier time.")
    return TimeBuckets(since_us, max(1, -(-(until_us - since_us) // buckets)), buckets)
