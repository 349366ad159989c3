"""A small text on this machine's disk, whole at every moment, changed by one process at a time."""

import fcntl
from collections.abc import Callable
from pathlib import Path

from headwater.errors import WrongSetting
from headwater.whole_files import write_whole


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
                write_whole(self._path, edit(self.read()).encode(), durable=True)
        except OSError as error:
            raise WrongSetting(f"Cannot write {self._path}: {error}. Let this account write it.") from error
