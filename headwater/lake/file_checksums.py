"""Checksums of a table's files on this machine's disk: delta-rs checks neither pages nor entries of the Delta log.

The writer of a table notes size and CRC32 of each file in `_headwater/checksums` of the table's folder. Delta's vacuum
skips folders whose names begin with `_`. The parser notes files that have no note, such as those of other writers or
of an older version, when it looks at them first.
"""

import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from headwater.errors import LakeUnavailable
from headwater.whole_files import write_whole

_CHUNK = 1 << 20
_LOG = "_delta_log"
_VERSION = re.compile(r"(\d{20})\.(?:json|checkpoint\.parquet)")


class DamagedFile(LakeUnavailable):
    """A file of a table differs from what its writer noted."""


class _Sum(NamedTuple):
    size: int
    crc: int


class _Add(msgspec.Struct):
    path: str


class _Action(msgspec.Struct):
    add: _Add | None = None


_ACTION = msgspec.json.Decoder(_Action)


class FileChecksums:
    """What is known of the files of one table. Names are relative to the table's folder."""

    def __init__(self, table: Path) -> None:
        """Read nothing yet."""
        self._table, self._folder = table, str(table)  # text, because a path costs 5 µs to join, seven times a batch
        self._path = table / "_headwater" / "checksums"
        self._marker = table / "_headwater" / "damaged"
        self._sums: dict[str, _Sum] = {}
        self._read_to: tuple[int, int] = (0, 0)  # inode and length of the notes that were read
        self._checked: set[str] = set()
        self._checked_version = -1
        self._turn = ""

    def note_commit(self, version: int) -> None:
        """Note the entry of a commit that was just made, and the files that it added."""
        name = _entry(version)
        with suppress(OSError, ValueError):  # the next `look` notes what has no note
            with open(f"{self._folder}/{name}", "rb") as file:  # noqa: PTH123 - see `_folder`
                entry = file.read()
            self._sums[name] = _Sum(len(entry), zlib.crc32(entry))
            added = list(_added(entry))
            self._sums |= {each: self._sum(each) for each in added}
            self._append("".join(_line(each, self._sums[each]) for each in (name, *added)).encode())
            self._checked.update((name, *added))
            self._checked_version = version

    def check_version(self, version: int, files: Callable[[], Iterable[str]], most_bytes: int) -> None:
        """Check the files of a version that this process has not checked yet; those without a note pass.

        files: gives the names of its data files; most_bytes: of data files, newest first. Raises DamagedFile.
        """
        self.check_reported()
        if version == self._checked_version:
            return
        self._load()
        for name in [*self._log_names(version), *self._newest(files(), most_bytes)]:
            if name not in self._checked:
                self._check(name)
        self._checked_version = version

    def check_reported(self) -> None:
        """Check the file again that some process found damaged; raises DamagedFile as long as it is."""
        if not self._marker.exists():
            return
        self._load()
        with suppress(OSError):
            self._check(self._marker.read_text("utf-8", "replace"))
            self._marker.unlink(missing_ok=True)
            self._checked.clear()  # what else the same fault has damaged
            self._checked_version = -1

    def check(self, names: Iterable[str]) -> None:
        """Check files again, also those that were whole before; raises DamagedFile."""
        self._load()
        for name in names:
            self._check(name)

    def look(self, files: Iterable[str], most_bytes: int) -> int:
        """Check the log and data files again, and note those without a note; returns the bytes that were not used up.

        Goes on behind the last file of the turn before, for so many bytes, but for one file at least. Raises
        DamagedFile.
        """
        self._load()
        names = sorted([*self._log_files(), *files])
        left, last = most_bytes, self._turn
        for name in [*(each for each in names if each > last), *(each for each in names if each <= last)]:
            if left <= 0:
                break
            if name in self._sums:
                self._check(name)
            else:
                self._note([name])
            self._turn = name
            left -= self._sums[name].size if name in self._sums else 0
        return left

    def note_unknown(self, files: Iterable[str]) -> None:
        """Note files of the log, and data files, that have no note, as they are now."""
        self._load()
        with suppress(OSError):
            self._note([name for name in (*self._log_files(), *files) if name not in self._sums])

    def log_damage(self) -> str | None:
        """Describe the first file of the Delta log that differs from its note, None if none does."""
        try:
            self.check(sorted(self._log_files()))
        except DamagedFile as error:
            return str(error)
        except OSError:
            return None
        return None

    def forget_removed(self) -> None:
        """Drop the notes of files that are gone."""
        self._load()
        there = {name: each for name, each in self._sums.items() if (self._table / name).exists()}
        if len(there) < len(self._sums):
            write_whole(self._path, "".join(_line(name, each) for name, each in there.items()).encode())
            self._checked &= there.keys()

    def _log_files(self) -> list[str]:
        return [f"{_LOG}/{each.name}" for each in (self._table / _LOG).iterdir() if _VERSION.fullmatch(each.name)]

    def _log_names(self, version: int) -> list[str]:
        """Return the entries that follow the version that was checked, or else the newest checkpoint and those on."""
        if 0 <= self._checked_version < version:
            return [_entry(each) for each in range(self._checked_version + 1, version + 1)]
        names = self._log_files()
        newest = max((each for each in names if each.endswith(".parquet")), default="")
        return sorted(each for each in names if _version(each) >= _version(newest))

    def _newest(self, files: Iterable[str], most_bytes: int) -> list[str]:
        """Return files that were not checked yet, as many of the newest as fit."""
        found = []
        for name in files:
            if name not in self._checked:
                with suppress(OSError):  # vacuumed meanwhile
                    status = (self._table / name).stat()
                    found.append((status.st_mtime_ns, status.st_size, name))
        sizes = accumulate(size for _, size, _ in sorted(found, reverse=True))
        return [
            name for (_, _, name), size in zip(sorted(found, reverse=True), sizes, strict=True) if size <= most_bytes
        ]

    def _check(self, name: str) -> None:
        expected = self._sums.get(name)
        if expected is None:
            return
        with suppress(FileNotFoundError):
            found = self._sum(name)
            if found != expected and not self._is_replaced(name):
                self._checked.discard(name)
                with suppress(OSError):
                    write_whole(self._marker, name.encode())
                raise DamagedFile(
                    f"The file {self._table / name} is damaged: {_difference(expected, found)}. Events stay in the log "
                    "until it is mended. Stop Headwater and restore the file from a copy, or run `headwater restore` "
                    "with a backup into another folder. If another program changed the file on purpose, delete "
                    f"{self._path}."
                )
        self._checked.add(name)

    def _is_replaced(self, name: str) -> bool:
        """Tell whether another kind of writer, such as Spark, wrote a checkpoint of the same version over ours."""
        return ".checkpoint" in name and b"parquet-rs" not in (self._table / name).read_bytes()[-(1 << 16) :]

    def _note(self, names: Iterable[str]) -> None:
        lines = []
        for name in names:
            with suppress(FileNotFoundError):
                self._sums[name] = self._sum(name)
                self._checked.add(name)
                lines.append(_line(name, self._sums[name]))
        if lines:
            self._append("".join(lines).encode())

    def _append(self, text: bytes) -> None:
        how = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        try:
            file = os.open(self._path, how, 0o600)
        except FileNotFoundError:
            self._path.parent.mkdir(exist_ok=True)
            file = os.open(self._path, how, 0o600)
        try:
            os.write(file, text)  # a note that a full disk cuts off counts as none
        finally:
            os.close(file)

    def _load(self) -> None:
        """Read the notes that came since; a line that is torn or damaged counts as none."""
        try:
            status = self._path.stat()
            inode, length = self._read_to
            if (status.st_ino, status.st_size) == self._read_to:
                return
            start = length if status.st_ino == inode and status.st_size > length else 0
            with self._path.open("rb") as file:
                file.seek(start)
                content = file.read()
        except FileNotFoundError:
            self._sums, self._read_to = {}, (0, 0)
            return
        whole = content.rfind(b"\n") + 1
        self._sums = {**(self._sums if start else {}), **dict(_read(content[:whole]))}
        self._read_to = status.st_ino, start + whole

    def _sum(self, name: str) -> _Sum:
        size = crc = 0
        file = os.open(f"{self._folder}/{name}", os.O_RDONLY)
        try:
            while piece := os.read(file, _CHUNK):
                size, crc = size + len(piece), zlib.crc32(piece, crc)
        finally:
            os.close(file)
        return _Sum(size, crc)


def _entry(version: int) -> str:
    return f"{_LOG}/{version:020}.json"


def _version(name: str) -> str:
    return name.removeprefix(f"{_LOG}/")[:20]


def _difference(expected: _Sum, found: _Sum) -> str:
    if found.size != expected.size:
        return f"it has {found.size} bytes, and had {expected.size} when it was written"
    return "its checksum is not the one that it had when it was written"


def _added(entry: bytes) -> Iterator[str]:
    for line in entry.splitlines():
        if b'"add"' in line and (add := _ACTION.decode(line).add):
            yield unquote(add.path)


def _line(name: str, found: _Sum) -> str:
    text = f"{found.size} {found.crc:08x} {name}"
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _read(content: bytes) -> Iterator[tuple[str, _Sum]]:
    for line in content.splitlines():
        with suppress(ValueError):
            own, text = line.split(b" ", 1)
            size, crc, name = text.split(b" ", 2)
            if int(own, 16) == zlib.crc32(text):
                yield name.decode(), _Sum(int(size), int(crc, 16))
