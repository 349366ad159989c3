"""A small text file that several processes read and change atomically."""

import fcntl
from collections.abc import Callable
from pathlib import Path

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import WrongSetting


class PrivateFile:
    """A text file that only its owner can read. It implements `keys.TextStore`."""

    def __init__(self, path: Path):
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._text: str | None = None

    def read(self) -> str | None:
        """Return the text; None if the file does not exist. Reads the file only if it changed."""
        try:
            found = self._path.stat()
            stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
            if stamp != self._stamp:
                self._text, self._stamp = self._path.read_text(), stamp
        except FileNotFoundError:
            self._text = self._stamp = None
        except (OSError, ValueError) as error:
            raise WrongSetting(f"Cannot read {self._path}: {error}. Give this account read permission.") from error
        return self._text

    def change(self, edit: Callable[[str | None], str]) -> None:
        """Replace the text by the result of `edit`, under a lock, and sync it to disk."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._path.with_suffix(".lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._stamp = None
                atomic_write(self._path, edit(self.read()).encode(), durable=True)
        except OSError as error:
            raise WrongSetting(f"Cannot write {self._path}: {error}. Give this account write permission.") from error
