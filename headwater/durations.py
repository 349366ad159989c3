"""Durations as people write them on a command line."""

from math import isfinite

from headwater.errors import WrongSetting

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float:
    """Read `250ms`, `30s`, `30`, `5m`, `1h` or `2d`; raises WrongSetting for what is none, and for no time at all."""
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    try:
        found = float(text.removesuffix(unit)) * _UNITS.get(unit, 1.0)
    except ValueError:
        found = 0.0
    if not isfinite(found) or found <= 0:
        raise WrongSetting(f"{text!r} is no time. Write it like 250ms, 30s, 5m, 1h or 2d.")
    return found
