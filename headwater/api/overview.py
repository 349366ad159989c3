"""What came in, what lags and how runs fare, as series over a window."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from headwater.api.freshness import FreshnessMeter
from headwater.errors import WrongQuestion
from headwater.eventlog import LogReader, each
from headwater.events.times import iso
from headwater.index.reading.run_health import run_health
from headwater.index.reading.view_opener import ViewOpener
from headwater.lake.bronze_tables import Bronze
from headwater.tables import EVENTS, REFUSED, REJECTED, Table

_HOUR_US = 3600 * 1_000_000
_MAX_US = 366 * 24 * _HOUR_US
_LATEST_US = 7_030 * 366 * 24 * _HOUR_US
_REASONS = 100


class TimeBuckets(NamedTuple):
    """A time in buckets of equal length (us)."""

    since_us: int
    bucket_us: int
    buckets: int

    @property
    def until_us(self) -> int:
        """The end, not included."""
        return self.since_us + self.bucket_us * self.buckets


def overview_of(
    readers: Sequence[LogReader],
    bronze: Bronze,
    open_views: ViewOpener,
    freshness: FreshnessMeter,
    *,
    window: TimeBuckets,
    now_us: int,
) -> dict[str, Any]:
    """Answer series of events, rejections, refusals (by time of receipt) and runs (by event time); see docs/api.md."""
    there = bronze.exists()
    passed = bronze.watermarks([reader.source for reader in readers])
    pending = sum(each(readers, lambda reader: reader.pending(passed[reader.source])))
    health = partial(run_health, since_us=window.since_us, bucket_us=window.bucket_us, buckets=window.buckets)
    return {
        "window": {
            "from": iso(window.since_us),
            "to": iso(window.until_us),
            "bucketSeconds": window.bucket_us / 1e6,
        },
        "events": (_series(bronze, EVENTS, "count(*)", window) if there else {}).get("", [0] * window.buckets),
        "rejected": _series(bronze, REJECTED, "sum(to_sequence - sequence + 1)", window, "reason") if there else {},
        "refused": _series(bronze, REFUSED, "sum(count)", window, "reason") if there else {},
        "runs": open_views.now(lambda live, _: health(live, now_us=now_us)) if there else None,
        "pending": pending,
        "freshness": freshness.answer(),
    }


def window_of(from_us: int | None, to_us: int | None, buckets: int, now_us: int) -> TimeBuckets:
    """Return the window that is asked for, up to now and an hour long; raises WrongQuestion for one that is none."""
    until_us = now_us if to_us is None else to_us
    since_us = until_us - _HOUR_US if from_us is None else from_us
    if not 0 < until_us - since_us <= _MAX_US:
        raise WrongQuestion("The window from `from` to `to` must be longer than nothing and no longer than 366 days.")
    if until_us > _LATEST_US:
        raise WrongQuestion("to= lies behind the year 9000.")
    return TimeBuckets(since_us, max(1, -(-(until_us - since_us) // buckets)), buckets)


def _series(bronze: Bronze, table: Table, sum_of: str, window: TimeBuckets, key: str = "''") -> dict[str, list[int]]:
    bucket = f"(cast(received_at as bigint) - {window.since_us}) / {window.bucket_us}"
    rows = bronze.tables[table.name].query(
        f"SELECT {key} AS key, {bucket} AS bucket, {sum_of} AS n FROM t "
        f"WHERE received_at >= to_timestamp_micros({window.since_us}) "
        f"AND received_at < to_timestamp_micros({window.until_us}) GROUP BY {key}, {bucket}"
    )
    found: dict[str, list[int]] = {}
    for row in rows.to_pylist():
        name = row["key"] if row["key"] in found or len(found) < _REASONS else "other"
        found.setdefault(name, [0] * window.buckets)[row["bucket"]] += row["n"]
    return found
