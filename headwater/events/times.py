"""Parses the times of producers: 20 to 35 characters, any precision, sometimes without a zone."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

AHEAD_US = 24 * 3600 * 1_000_000
"""Event times that are later than the time of receipt by more than this (us) are not trusted."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WITHOUT_ZONE = datetime(1970, 1, 1)  # UTC; formatting is twice as fast without a zone
_MICROSECOND = timedelta(microseconds=1)


def parse_time(text: str) -> tuple[int | None, str | None]:
    """Parse a time. Returns (microseconds since 1970-01-01 UTC, flag); the flag is None for a regular time.

    A time without a zone is read as UTC, with the flag `time_no_zone`. An invalid time returns (None, `time_invalid`).
    """
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return (moment.astimezone(UTC) - _EPOCH) // _MICROSECOND, None  # overflows beyond the year 9999 in UTC
        return (moment.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND, "time_no_zone"
    except (ValueError, OverflowError):
        return None, "time_invalid"


@lru_cache(16_384)
def iso_time(time_us: int | None) -> str | None:
    """Format a time for answers, in UTC with milliseconds. None stays None."""
    if time_us is None:
        return None
    return (_EPOCH_WITHOUT_ZONE + timedelta(microseconds=time_us)).isoformat(timespec="milliseconds") + "Z"
