"""Where the index lies: a file for each version of the rules, and the name of the one that questions read."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from headwater.errors import HeadwaterError, IndexUnreadable, LakeUnavailable, NotBuilt
from headwater.index.stored.damage import DamageCheck, may_pass
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
        self._check = DamageCheck()

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
        found = []
        for file in self._folder.glob("*.sqlite*"):
            with suppress(FileNotFoundError):  # the writer deletes files meanwhile
                if file.suffix != ".sqlite-shm":
                    found.append((file.stat().st_mtime_ns, file))
        newest = max(found, default=None)
        return newest[1].with_suffix(".sqlite") if newest else None

    def size_bytes(self) -> int:
        """Return the bytes of all files in the folder, a copy for a snapshot included."""
        size = 0
        for file in self._folder.glob("*"):
            with suppress(FileNotFoundError):  # the writer deletes files meanwhile
                size += file.stat().st_size
        return size

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
        with suppress(NotBuilt):
            return self.current().path == path
        return False

    def current(self) -> Published:
        """Return the file to read; raises NotBuilt before the first is built."""
        try:
            with self._pointer.open() as pointer:  # name and time of one pointer, also while it is replaced
                return Published(self._folder / pointer.read().strip(), os.fstat(pointer.fileno()).st_mtime_ns)
        except (OSError, UnicodeDecodeError) as error:  # whoever writes the index switches to it again
            raise NotBuilt from error

    def is_published(self) -> bool:
        """Tell whether there is a file that questions read."""
        return self._pointer.exists()

    def opened(self, open_file: Callable[[Path], T]) -> tuple[Published, T]:
        """Open the file to read; one that goes at that moment has a successor. Raises LakeUnavailable without any."""
        while True:
            found = self.current()
            try:
                with self.reading(found):
                    return found, open_file(found.path)
            except LakeUnavailable:
                if self.current() == found:
                    raise

    @contextmanager
    def reading(self, file: Published) -> Iterator[None]:
        """Read a file in here: what fails for its sake raises IndexUnreadable, and its writer learns of damage.

        One that was replaced meanwhile is no damage any more: whoever asks again reads its successor. A fault of ours,
        such as a wrong statement, is raised as it is: the same question would fail again.
        """
        try:
            yield
        except (HeadwaterError, OSError):
            raise
        except Exception as error:
            harmed = self.is_harmed(error, file.path)
            is_there = self._is_there(file)
            if not harmed and is_there and not may_pass(error):
                raise
            if harmed and is_there:
                self._report_damage(file.path)
            raise IndexUnreadable(f"The index cannot be read ({error}). Ask again in a moment.") from error

    def is_harmed(self, error: BaseException, path: Path) -> bool:
        """Tell whether an error comes of a damaged file; where the error does not say so, the file is asked."""
        return self._check.is_harmed(error, path)

    def _is_there(self, file: Published) -> bool:
        with suppress(NotBuilt):
            return self.current() == file
        return False

    def withdraw(self, path: Path) -> None:
        """Let no question read this file until it is switched to: it begins anew."""
        if self.is_current(path):
            self._pointer.unlink()

    def _report_damage(self, path: Path) -> None:
        """Ask the writer, from any process, to do away with a file that cannot be read."""
        with suppress(OSError):  # no folder, no index: then there is nothing to mend
            self._damaged.write_text(path.name)

    def damaged(self) -> Path | None:
        """Return the file that was reported to be damaged."""
        try:
            name = self._damaged.read_bytes().strip()
        except FileNotFoundError:
            return None
        return next((file for file in self._folder.glob("*.sqlite") if file.name.encode() == name), None)

    def discard(self, path: Path) -> None:
        """Delete a file, which holds nothing that bronze does not hold. Only for the writer."""
        self.withdraw(path)
        remove(path)
        self._damaged.unlink(missing_ok=True)
