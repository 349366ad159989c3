"""Place the recorded executions on a schedule of two weeks: `python -m demo.recording.build`.

`record.py` recorded each execution once. The shop runs the same notebooks every night or every hour, so this module
repeats their events with new times and new IDs of runs and applications. It changes nothing else, and adds one
declaration (`warehouse_load.yml`). It writes `headwater/operations/demo/events.ndjson.gz`; the same input produces the
same bytes.
"""

import gzip
import json
import random
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from demo.recording.record import CAPTURED
from headwater.governance.declarations.declaration import resolve_declaration
from headwater.governance.declarations.events import events_to_declare
from headwater.governance.declarations.file import read_declaration_file
from headwater.operations.demo.recording import EVENTS, shift_times
from tools.locked_environment import ROOT

END = datetime(2026, 1, 15, 9, tzinfo=UTC)
"""The time of the last event. `headwater demo` moves it to the start of the demo."""

NIGHTS = 14
SCHEMA_CHANGE_NIGHT = 7
"""How many nights before the last one the new column appears."""

HOURS = 30
NIGHT_BEFORE_END = timedelta(hours=8)
CLICKS_STOPPED = timedelta(hours=5)

_RUN_ID = re.compile(r'"runId":"([0-9a-f-]{36})"')
_APPLICATION_ID = re.compile(r"local-\d{13}")
_INVOCATION = re.compile(r'"(?:invocation_id|project_id)":"([^"]+)"')


def main() -> None:
    """Write the recording and print its size."""
    target = ROOT / "headwater" / "operations" / "demo" / EVENTS
    lines = list(recording())
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), 9, mtime=0))
    print(f"{target.relative_to(ROOT)}: {len(lines)} events, {target.stat().st_size / 1e3:.0f} KB")


def recording() -> Iterator[str]:
    """Yield all events in chronological order, as lines of JSON."""
    chance = random.Random(46)
    events = [*declared(), *(event for capture, end in schedule() for event in execution(capture, end, chance))]
    yield from sorted(events, key=lambda line: datetime.fromisoformat(json.loads(line)["eventTime"]))


def declared() -> Iterator[str]:
    """Yield the events that `headwater declare` sends for the copy to the warehouse, which reports no lineage."""
    file = Path(__file__).with_name("warehouse_load.yml")
    declaration = resolve_declaration(read_declaration_file(file.read_bytes(), file.name), file.stem)
    time = (END - timedelta(days=NIGHTS)).isoformat().replace("+00:00", "Z")
    for event in events_to_declare(declaration, None, "", time):
        yield json.dumps(event, separators=(",", ":"))


def schedule() -> Iterator[tuple[str, datetime]]:
    """Yield each execution: its capture and the time of its last event."""
    for night in range(NIGHTS - 1, -1, -1):
        end = END - NIGHT_BEFORE_END - timedelta(days=night)
        stage = "last" if night == 0 else "before" if night > SCHEMA_CHANGE_NIGHT else "after"
        yield f"nightly_{stage}", end - timedelta(minutes=20)
        yield f"dbt_{stage}", end
        yield f"export_{'last' if night == 0 else 'after'}", end + timedelta(minutes=30)
        if night > 1:  # the hourly schedule below covers the last days
            yield "stock_after", end - timedelta(hours=1)
    for hour in range(HOURS, -1, -1):
        end = END - timedelta(hours=hour)
        yield "stock_last" if hour < NIGHT_BEFORE_END / timedelta(hours=1) else "stock_after", end
        yield "clicks", end - CLICKS_STOPPED


def execution(capture: str, end: datetime, chance: random.Random) -> list[str]:
    """Return the events of a captured execution with its last event at `end` and with new IDs."""
    lines = (CAPTURED / f"{capture}.ndjson").read_text().splitlines()
    last = max(datetime.fromisoformat(json.loads(line)["eventTime"]) for line in lines)
    text = "\n".join(shift_times(line, end - last) for line in lines)
    for pattern in (_RUN_ID, _INVOCATION):
        for old in sorted(set(pattern.findall(text))):
            text = text.replace(old, str(uuid.UUID(int=chance.getrandbits(128), version=4)))
    started = int(end.timestamp() * 1000) - chance.randrange(60_000, 90_000)
    return _APPLICATION_ID.sub(f"local-{started}", text).splitlines()


if __name__ == "__main__":
    main()
