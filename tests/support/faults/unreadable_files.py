"""Make a file unreadable in several ways. Each is reverted when its `with` block ends."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

_HOLD = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("PRAGMA locking_mode=EXCLUSIVE")
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""

Spoil = Callable[[Path], AbstractContextManager[None]]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a SQLite file exclusively from another process, as a backup program or a database browser does."""
    holder = subprocess.Popen([sys.executable, "-c", _HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout, "stdout is a pipe"
        assert holder.stdout.readline() == b"held\n"
        yield


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Overwrite a file's header."""
    kept = path.read_bytes()
    path.write_bytes(b"overwritten" * 10 + kept[110:])
    yield
    path.write_bytes(kept)


@contextmanager
def displaced(path: Path) -> Iterator[None]:
    """Replace a file with a folder, which root cannot read as a file either."""
    kept = path.rename(path.with_suffix(".kept"))
    path.mkdir()
    yield
    path.rmdir()
    kept.rename(path)


@contextmanager
def emptied(path: Path) -> Iterator[None]:
    """Truncate a file to zero bytes."""
    kept = path.read_bytes()
    path.write_bytes(b"")
    yield
    path.write_bytes(kept)
