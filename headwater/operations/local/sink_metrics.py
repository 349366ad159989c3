"""Export the status that the process `sinks` writes for each sink as metrics of `serve`."""

import time
from pathlib import Path

import msgspec
from prometheus_client import Gauge

STATUS = "sinks.json"
"""File in the folder `run`; it exists while the process runs."""

BEHIND = Gauge("headwater_sink_behind_events", "Events of the lake that a sink has not taken.", ["sink"])
BEHIND_S = Gauge("headwater_sink_behind_seconds", "Age of the oldest event that a sink has not taken.", ["sink"])
DELIVERED = Gauge("headwater_sink_delivered_events", "Events that a sink has delivered since it was created.", ["sink"])
FAILED = Gauge("headwater_sink_failed_events", "Events that a sink has given up since it was created.", ["sink"])
TROUBLE = Gauge("headwater_sink_in_trouble", "1 while a sink waits for its target, or for the lake.", ["sink"])


class _Status(msgspec.Struct):
    delivered: int
    failed: int
    behind: int
    behind_us: int | None
    trouble: str | None


class _All(msgspec.Struct):
    sinks: dict[str, _Status]


def measure_sinks(folder: Path) -> None:
    """Update the metrics; removed sinks disappear from them."""
    try:
        found = msgspec.json.decode((folder / "run" / STATUS).read_bytes(), type=_All).sinks
    except (OSError, msgspec.DecodeError):
        found = {}
    for gauge in (BEHIND, BEHIND_S, DELIVERED, FAILED, TROUBLE):
        gauge.clear()
    for name, status in found.items():
        BEHIND.labels(name).set(status.behind)
        BEHIND_S.labels(name).set(max(0.0, time.time() - status.behind_us / 1e6) if status.behind_us else 0.0)
        DELIVERED.labels(name).set(status.delivered)
        FAILED.labels(name).set(status.failed)
        TROUBLE.labels(name).set(status.trouble is not None)
