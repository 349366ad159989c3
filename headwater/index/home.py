"""Where the index lies: a file for each version of the rules, and the name of the one that questions read."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from headwater.errors import LakeUnavailable, NotBuilt
from headwater.index.stored.database import FORMAT, remove
from headwater.lineage.names.canonical_names import NameRules

T = TypeVar("T")


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
        """Return the file that belongs to these rules for names and their code."""
        return self._folder / f"{FORMAT}-{rules.rules_hash[:16]}.sqlite"

    def attempts_of(self, partition: str) -> Path:
        """Return the file that says how often a batch of a partition was begun and not ended."""
        return self._folder / f"attempts-{partition}.json"

    def begun_note(self, path: Path) -> Path:
        """Return the file that says what the lake had forgotten when an index was begun."""
        return path.with_suffix(".begun")

    def building(self) -> Path | None:
        """Return the file that is being built before there is one to read: the one that was written last."""
        found = [
            (file.stat().st_mtime_ns, file) for file in self._folder.glob("*.sqlite*") if file.suffix != ".sqlite-shm"
        ]
        newest = max(found, default=None)
        return newest[1].with_suffix(".sqlite") if newest else None

    def switch(self, path: Path) -> None:
        """Let questions read this file from now on; the others go, whoever has one open keeps it until then."""
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
        """Return the file to read; raises NotBuilt before the first is built."""
        try:
            with self._pointer.open() as pointer:  # name and time of one pointer, also while it is replaced
                return Published(self._folder / pointer.read().strip(), os.fstat(pointer.fileno()).st_mtime_ns)
        except OSError as error:
            raise NotBuilt from error

    def is_published(self) -> bool:
        """Tell whether there is a file that questions read."""
        return self._pointer.exists()

    def opened(self, open_file: Callable[[Path], T]) -> tuple[Published, T]:
        """Open the file to read; one that goes at that moment has a successor. Raises LakeUnavailable without any."""
        while True:
            found = self.current()
            try:
                return found, open_file(found.path)
            except LakeUnavailable:
                if self.current() == found:
                    raise

    def withdraw(self, path: Path) -> None:
        """Let no question read this file until it is switched to: it begins anew."""
        if self.is_current(path):
            self._pointer.unlink()

    def report_damage(self, path: Path) -> None:
        """Ask the writer, from any process, to do away with a file that cannot be read."""
        with suppress(OSError):  # no folder, no index: then there is nothing to mend
            self._damaged.write_text(path.name)

    def damaged(self) -> Path | None:
        """Return the file that was reported to be damaged."""
        try:
            name = self._damaged.read_text().strip()
        except FileNotFoundError:
            return None
        return self._folder / name if name else None

    def discard(self, path: Path) -> None:
        """Delete a file, which holds nothing that bronze does not hold. Only for the writer."""
        self.withdraw(path)
        remove(path)
        self._damaged.unlink(missing_ok=True)
