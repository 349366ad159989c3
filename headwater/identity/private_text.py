"""A small text on this machine's disk, whole at every moment, changed by one process at a time."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from headwater.errors import WrongSetting


class PrivateText:
    """A file that only its owner reads; see `key_file.TextPlace`."""

    def __init__(self, path: Path):
        """Touch nothing yet."""
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._text: str | None = None

    def read(self) -> str | None:
        """Return its text, from memory where the file is the one read last."""
        try:
            found = self._path.stat()
            stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
            if stamp != self._stamp:
                self._text, self._stamp = self._path.read_text(), stamp
        except FileNotFoundError:
            self._text = self._stamp = None
        except (OSError, ValueError) as error:
            raise WrongSetting(f"Cannot read {self._path}: {error}. Let this account read it.") from error
        return self._text

    def change(self, edit: Callable[[str | None], str]) -> None:
        """Replace the text by what is made of it; on disk when this returns."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._path.with_suffix(".lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._stamp = None
                self._write(edit(self.read()))
        except OSError as error:
            raise WrongSetting(f"Cannot write {self._path}: {error}. Let this account write it.") from error

    def _write(self, text: str) -> None:
        fresh = self._path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
