"""Prepare a data folder for the demo, and send the recording to the server that uses it."""

import json
import shutil
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import Retry, WrongSetting
from headwater.operations.local.ingest import send_bodies
from headwater.operations.runtime.data_folder import MARKER as FORMAT
from headwater.operations.settings import Settings, load_settings

MARKER = "demo.json"
"""File in the data folder with the time of the last event, so that a second start sends the same events."""

_READ_AGAIN_S = 0.1
_PATIENCE_S = 120.0


def prepare_demo(folder: Path) -> datetime:
    """Create the folder with the rules of the demo, and return the time of the last event.

    The first start chooses the current time; later starts return the stored time.

    Raises WrongSetting if the folder has data other than the demo's.
    """
    marker = folder / MARKER
    try:
        if marker.exists():
            return datetime.fromisoformat(json.loads(marker.read_text())["last_event"])
        if (folder / FORMAT).exists():
            raise WrongSetting(f"{folder} contains data that is not from the demo. Choose another folder with --data.")
        rules = folder / "rules"
        rules.mkdir(parents=True, exist_ok=True)
        for each in (files("headwater.operations.demo") / "rules").iterdir():
            shutil.copyfile(str(each), rules / each.name)
        end = datetime.now(UTC).replace(microsecond=0)
        atomic_write(marker, json.dumps({"last_event": end.isoformat()}).encode())
    except (OSError, ValueError, KeyError) as error:
        raise WrongSetting(f"Cannot use {folder} for the demo: {error}. Choose another folder with --data.") from error
    return end


def demo_settings(folder: Path, port: int, end: datetime) -> Settings:
    """Return the settings of the demo. Settings files and variables of the user do not apply."""
    moved = f"All times were moved together; the last event is at {end:%Y-%m-%d %H:%M} UTC."
    given = {"data": folder, "port": port, "notice": f"Demo with recorded events of a shop. {moved}", "tick_s": 0.2}
    return load_settings(given, folder=folder, environment={})[0]


def has_sent_all_events(folder: Path) -> bool:
    """Return whether an earlier demo has sent all events to this folder."""
    return bool(json.loads((folder / MARKER).read_text()).get("events"))


def send_recording(folder: Path, url: str, end: datetime, events: Sequence[bytes]) -> None:
    """Send the events of the recording. end: time of the last event. Raises Retry if the server refuses some events.

    After an interrupted attempt, all events are sent again. The server counts those that it already has as duplicates.
    """
    outcome = send_bodies(events, url, None, progress=False)
    if outcome["refused"]:
        raise Retry(f"The server refused {outcome['refused']} events of the recording: {outcome['reasons'][0]}")
    atomic_write(folder / MARKER, json.dumps({"last_event": end.isoformat(), "events": len(events)}).encode())


def wait_until_answered(waiting: Callable[[], int]) -> None:
    """Wait until answers include every event. waiting: returns the number of events that they do not include."""
    deadline = time.monotonic() + _PATIENCE_S
    while count := waiting():
        if time.monotonic() > deadline:
            raise Retry(f"After {_PATIENCE_S:.0f} s, answers still lack {count} events. Start the demo again.")
        time.sleep(_READ_AGAIN_S)
