"""Service levels of a contract: how often a dataset is written, how old it may get, how many rows it has at least.

They are rounded, so that a contract made again of a pipeline that runs as before is the same.
"""

from typing import Any, NamedTuple

from headwater.questions.answers.contract_answers import ContractService

FREQUENCY, LATENCY, ROWS = "frequency", "latency", "minimumRows"
_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
_WORDS = {"second": "s", "m": "min", "minute": "min", "hour": "h", "hr": "h", "day": "d"}


class ServiceLevels(NamedTuple):
    """What is promised; None: nothing. longest_s: seconds between two writes at most."""

    longest_s: float | None = None
    rows: float | None = None


def sla_properties(service: ContractService) -> list[dict[str, Any]]:
    """Return the service levels that are observed, none where there is no rhythm or nobody counts rows."""
    found: list[dict[str, Any]] = []
    if service.usual_seconds and service.longest_seconds:
        value, unit = _rounded(service.usual_seconds)
        said = "The usual time between two writes, as observed."
        found.append({"property": FREQUENCY, "value": value, "unit": unit, "description": said})
        value, unit = _rounded(service.longest_seconds, up=True)
        said = "The longest time between two writes before one counts as late, as observed."
        found.append({"property": LATENCY, "value": value, "unit": unit, "description": said})
    if service.rows:
        said = "Rows that a write has at least: half of what was observed, rounded down."
        found.append({"property": ROWS, "value": _least(service.rows), "unit": "rows", "description": said})
    return found


def levels_of(properties: Any) -> ServiceLevels:
    """Read what a contract promises; a property that is not understood promises nothing."""
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
    """Return a span in the largest unit that says it to a tenth."""
    for unit, length in reversed(_UNITS.items()):
        whole = -(-seconds // length) if up else round(seconds / length)
        if whole and abs(whole * length - seconds) <= seconds / 10:
            return whole, unit
    return seconds, "s"


def _least(rows: int) -> int:
    """Return half of a count, rounded down to its first digit."""
    half = max(1, rows // 2)
    place = 10 ** (len(str(half)) - 1)
    return int(half // place * place)
