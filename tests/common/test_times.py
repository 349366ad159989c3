"""Times that the lake could not read back are treated as invalid."""

import pytest

from headwater.events.times import parse_time


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_time_that_leaves_the_calendar_in_utc_is_invalid(text: str) -> None:
    assert parse_time(text) == (None, "time_invalid")


def test_the_last_and_the_first_moment_of_the_calendar_are_times() -> None:
    assert parse_time("9999-12-31T23:59:59Z") == (253402300799000000, None)
    assert parse_time("0001-01-01T00:00:00Z") == (-62135596800000000, None)
