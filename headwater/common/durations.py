"""Parse durations and times of the command line."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from headwater.common.errors import WrongSetting

CLOCK_SLACK_S = 5.0
"""The largest clock difference (seconds) between two machines that does not count as a synchronization fault."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MAX_S = 100 * 365 * 86400.0
"""The longest accepted duration, 100 years. A longer one is a typing mistake and would overflow dates."""


def parse_duration_s(text: str) -> float:
    """Parse a duration such as `250ms`, `30s`, `30`, `5m`, `1h` or `2d`, and return its seconds.

    A number without a unit is in seconds. Raises WrongSetting if the text is not a duration, is not positive, or is
    longer than a hundred years.
    """
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    try:
        found = float(text.removesuffix(unit)) * _UNITS.get(unit, 1.0)
    except ValueError:
        found = 0.0
    if not 0 < found <= _MAX_S:
        raise WrongSetting(
            f"{text[:40]!r} is not a duration between 0 and 36500d. Write it like 250ms, 30s, 5m, 1h or 2d."
        )
    return found


def parse_since(text: str | None) -> Callable[[], int]:
    """Parse a date, a time, or an age such as `2d`, and return a function that returns the point in time.

    The function returns microseconds since 1970 (UTC). For an age, it subtracts the age from the current time at each
    call. For `text` None, it returns 0. Raises WrongSetting for other texts.
    """
    if text is None:
        return lambda: 0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _parse_age(text)
    at_us = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e6)
    return lambda: at_us


def _parse_age(text: str) -> Callable[[], int]:
    try:
        age_us = int(parse_duration_s(text) * 1e6)
    except WrongSetting as error:
        raise WrongSetting(f"{text!r} is neither a date nor an age. Write it like 2026-03-01 or 2d.") from error
    return lambda: time.time_ns() // 1000 - age_us
