"""Service levels of a contract: frequency, latency, and minimum number of rows.

Values are rounded, so that a contract of a regular pipeline stays the same when it is generated again.
"""

from typing import Any, NamedTuple

from headwater.questions.answers.contract_answers import ContractService

FREQUENCY, LATENCY, ROWS = "frequency", "latency", "minimumRows"
_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
_WORDS = {"second": "s", "m": "min", "minute": "min", "hour": "h", "hr": "h", "day": "d"}


class ServiceLevels(NamedTuple):
    """Promised service levels, None if not promised. longest_s: maximum seconds between two writes."""

    longest_s: float | None = None
    rows: float | None = None


def sla_properties(service: ContractService) -> list[dict[str, Any]]:
    """Return the observed service levels, without those that need an unknown rhythm or row count."""
    found: list[dict[str, Any]] = []
    if service.usual_seconds and service.longest_seconds:
        value, unit = _rounded(service.usual_seconds)
        text = "The usual time between two observed writes."
        found.append({"property": FREQUENCY, "value": value, "unit": unit, "description": text})
        value, unit = _rounded(service.longest_seconds, up=True)
        text = "The longest time between two writes before the next one is late, derived from observed writes."
        found.append({"property": LATENCY, "value": value, "unit": unit, "description": text})
    if service.rows:
        text = "The minimum number of rows per write: half of the observed number, rounded down."
        found.append({"property": ROWS, "value": _rounded_half(service.rows), "unit": "rows", "description": text})
    return found


def levels_of(properties: Any) -> ServiceLevels:
    """Parse the service levels of a contract. Properties with an unknown form are ignored."""
    found: dict[str, float] = {}
    for each in properties if isinstance(properties, list) else ():
        name, value = (each.get("property"), each.get("value")) if isinstance(each, dict) else (None, None)
        if name in (LATENCY, ROWS) and isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = value * (_seconds(each.get("unit")) if name == LATENCY else 1)
    return ServiceLevels(found.get(LATENCY), found.get(ROWS))


def _seconds(unit: Any) -> int:
    text = str(unit or "d").casefold()
    word = _WORDS.get(text) or _WORDS.get(text.removesuffix("s")) or text
    return _UNITS.get(word, _UNITS["d"])


def _rounded(seconds: int, *, up: bool = False) -> tuple[int, str]:
    """Return a duration in the largest unit with an error of at most a tenth."""
    for unit, length in reversed(_UNITS.items()):
        whole = -(-seconds // length) if up else round(seconds / length)
        if whole and abs(whole * length - seconds) <= seconds / 10:
            return whole, unit
    return seconds, "s"


def _rounded_half(rows: int) -> int:
    """Return half of a count, rounded down to its first digit."""
    half = max(1, rows // 2)
    place = 10 ** (len(str(half)) - 1)
    return int(half // place * place)
