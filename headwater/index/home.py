"""Where the index lies: a file for each set of name rules, and the name of the one that questions read."""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from headwater.errors import LakeUnavailable
from headwater.index.database import FORMAT, remove
from headwater.lineage.names import NameRules


class Published(NamedTuple):
    """The file that questions read, and when it was switched to (ns): a file built anew has the same name."""

    path: Path
    at_ns: int


class IndexHome:
    """The folder of the index. One process writes it, any number reads."""

    def __init__(self, folder: Path):
        """Touch nothing yet."""
        self._folder = folder
        self._pointer = folder / "current"
        self._damaged = folder / "damaged"

    def path_for(self, rules: NameRules) -> Path:
        """Return the file that belongs to these rules for names."""
        return self._folder / f"{FORMAT}-{rules.rules_hash[:16]}.sqlite"

    def switch(self, path: Path) -> None:
        """Let questions read this file from now on; the others go."""
        fresh = self._pointer.with_suffix(".new")
        fresh.write_text(path.name + "\n")
        fresh.replace(self._pointer)
        for other in self._folder.glob("*.sqlite"):
            if other != path:
                remove(other)

    def is_current(self, path: Path) -> bool:
        """Tell whether questions read this file already."""
        return self._pointer.exists() and self._pointer.read_text().strip() == path.name

    def current(self) -> Published:
        """Return the file to read; raises LakeUnavailable before the first is built."""
        try:
            with self._pointer.open() as pointer:  # name and time of one pointer, also while it is replaced
                return Published(self._folder / pointer.read().strip(), os.fstat(pointer.fileno()).st_mtime_ns)
        except OSError as error:
            raise LakeUnavailable("The index of the lake is still being built. Ask again in a moment.") from error

    def is_published(self) -> bool:
        """Tell whether there is a file that questions read."""
        return self._pointer.exists()

    def withdraw(self, path: Path) -> None:
        """Let no question read this file until it is switched to: it begins anew."""
        if self.is_current(path):
            self._pointer.unlink()

    def report_damage(self) -> None:
        """Ask the writer, from any process, to build the file that questions read anew."""
        with suppress(OSError):  # no folder, no index: then there is nothing to mend
            self._damaged.touch()

    def is_damaged(self) -> bool:
        """Tell whether damage was reported."""
        return self._damaged.exists()

    def remove(self) -> None:
        """Delete every file of the index, which holds nothing that bronze does not hold. Only for the writer."""
        self._pointer.unlink(missing_ok=True)
        for file in self._folder.glob("*.sqlite"):
            remove(file)
        self._damaged.unlink(missing_ok=True)
