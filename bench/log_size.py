"""Compare the event log's size on disk, including the write-ahead log, with the size of the posted events."""

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import Figure, show
from bench.load import bodies
from bench.running import headwater, load, write_events

EVENTS = 10_000
GOAL = 0.6


def run() -> list[Figure]:
    """Measure recurring events of 2 and 8 KB and new events of 8 KB, with 100 events and with one event per request."""
    mixes = {"2 KB, recurring": (2, False), "8 KB, recurring": (8, False), "8 KB, always new": (8, True)}
    return [
        Figure(f"{name}, {batch} per request: log / bodies", _ratio(*mix, batch), "x", GOAL)
        for (name, mix), batch in product(mixes.items(), (100, 1))
    ]


def _ratio(kilobytes: int, new_lineage: bool, batch: int) -> float:
    """Post events to a new Headwater and measure its log while it is open."""
    with TemporaryDirectory(prefix="headwater-bench-") as name:
        count = EVENTS if new_lineage else 1000  # recurring events are repeated with new run IDs
        file = write_events(Path(name) / "events.ndjson", count, kilobytes, new_lineage=new_lineage)
        with headwater(tick="3600s", folder=Path(name) / "data") as server:
            load(server, file, count=EVENTS, batch=batch, connections=32 if batch > 1 else 1)
            on_disk = sum(path.stat().st_size for path in (server.folder / "log").iterdir())
        return on_disk / sum(map(len, bodies(file, EVENTS, start=0)))


if __name__ == "__main__":
    show("Event log", run())
