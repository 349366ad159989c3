"""The recorded events of a shop's pipeline. `demo/recording/` in the repository makes them from real runs."""

import gzip
import json
import re
from datetime import datetime, timedelta
from importlib.resources import files

EVENTS = "events.ndjson.gz"

_TIME = re.compile(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"')


def read_recording() -> list[str]:
    """Return the events in order of their times, each as a line of JSON."""
    packed = (files("headwater.operations.demo") / EVENTS).read_bytes()
    return gzip.decompress(packed).decode().splitlines()


def recording_until(end: datetime) -> list[str]:
    """Return the events with all times moved by the same amount, so that the last event is at `end` (aware)."""
    lines = read_recording()
    by = end - event_time(lines[-1])
    return [shift_times(line, by) for line in lines]


def event_time(line: str) -> datetime:
    """Return the time of an event."""
    return datetime.fromisoformat(json.loads(line)["eventTime"])


def shift_times(line: str, by: timedelta) -> str:
    """Move every time in a line of JSON, which is a string of its own, by the same amount."""
    return _TIME.sub(lambda found: f'"{_shift_time(found[1], by)}"', line)


def _shift_time(text: str, by: timedelta) -> str:
    return (datetime.fromisoformat(text) + by).isoformat().replace("+00:00", "Z")
