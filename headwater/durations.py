"""Durations and moments as people write them on a command line."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from headwater.errors import WrongSetting

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 100 * 365 * 86400.0
"""More is a slip of the hand, and no date has room for it."""


def seconds(text: str) -> float:
    """Read `250ms`, `30s`, `30`, `5m`, `1h` or `2d`.

    Raises WrongSetting for what is none, for no time at all, and for more than a hundred years.
    """
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    try:
        found = float(text.removesuffix(unit)) * _UNITS.get(unit, 1.0)
    except ValueError:
        found = 0.0
    if not 0 < found <= _LONGEST_S:
        raise WrongSetting(f"{text[:40]!r} is no time up to 36500d. Write it like 250ms, 30s, 5m, 1h or 2d.")
    return found


def read_since(text: str | None) -> Callable[[], int]:
    """Read a date, a time, or an age such as `2d`, which moves on with the clock: microseconds since 1970, UTC.

    Nothing reads as 0. Raises WrongSetting.
    """
    if text is None:
        return lambda: 0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _ago(text)
    at_us = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e6)
    return lambda: at_us


def _ago(text: str) -> Callable[[], int]:
    try:
        age_us = int(seconds(text) * 1e6)
    except WrongSetting as error:
        raise WrongSetting(f"{text!r} is neither a date nor an age. Write it like 2026-03-01 or 2d.") from error
    return lambda: time.time_ns() // 1000 - age_us
