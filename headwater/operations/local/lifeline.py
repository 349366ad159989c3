"""How a child gets its settings and notices the end of its parent: a pipe on standard input.

The first line contains the settings as JSON, so no secret is on a command line. The pipe closes when the supervisor
exits for any reason, and the child then shuts down.
"""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from headwater.auth.access import REVEAL_SECRETS
from headwater.common.atomic_files import atomic_write
from headwater.operations.settings import Settings


def read_settings() -> Settings:
    """Read the settings from the supervisor; exits if the supervisor has exited before sending them."""
    return Settings.model_validate_json(sys.stdin.buffer.readline() or sys.exit(0))


def when_parent_ends(*calls: Callable[[], None]) -> None:
    """Call each function once, in order, from a thread, when the supervisor has exited or asks to stop."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1024):  # unbuffered: a buffer's lock would abort the interpreter at exit
            pass
        for call in calls:
            call()

    threading.Thread(target=wait, name="lifeline", daemon=True).start()


def write_pid(folder: Path, name: str, pid: int) -> None:
    """Write the process id of a role, for people and tests."""
    write_run_file(folder, f"{name}.pid", b"%d\n" % pid)


def write_run_file(folder: Path, name: str, text: bytes) -> None:
    """Write a file in the folder `run` atomically."""
    atomic_write(folder / "run" / name, text)


def settings_line(settings: Settings) -> bytes:
    """Encode settings, including secrets, for a child's standard input."""
    return settings.model_dump_json(context=REVEAL_SECRETS).encode() + b"\n"
