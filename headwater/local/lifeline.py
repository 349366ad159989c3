"""How a child knows its settings and its parent's end: a pipe on standard input.

The first line is the settings as JSON (no secret on a command line); the pipe closes when the supervisor goes,
however it goes, and then the child ends in order.
"""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from headwater.access import REVEAL
from headwater.settings import Settings
from headwater.whole_files import write_whole


def read_settings() -> Settings:
    """Read the settings that the supervisor sent; ends the process if it has gone before it did."""
    return Settings.model_validate_json(sys.stdin.buffer.readline() or sys.exit(0))


def when_parent_ends(*calls: Callable[[], None]) -> None:
    """Call each once, in this order, from a thread, when the supervisor has gone or asks to stop."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1024):  # unbuffered: a lock held at the interpreter's end would abort it
            pass
        for call in calls:
            call()

    threading.Thread(target=wait, name="lifeline", daemon=True).start()


def write_pid(folder: Path, name: str, pid: int) -> None:
    """Say which process plays a role, for people and tests."""
    write_role(folder, f"{name}.pid", b"%d\n" % pid)


def write_role(folder: Path, name: str, text: bytes) -> None:
    """Write a file of the folder `run` whole: who reads it finds this text or the one before."""
    write_whole(folder / "run" / name, text)


def settings_line(settings: Settings) -> bytes:
    """Encode settings, secrets included, for a child's standard input."""
    return settings.model_dump_json(context=REVEAL).encode() + b"\n"
