"""Checksums of a table's files on the local disk: delta-rs verifies neither data pages nor entries of the Delta log.

The writer of a table records size and CRC32 of each file in `_headwater/checksums` in the table's folder. Delta's
vacuum skips folders with names that begin with `_`. For files without a record, such as those of other writers or of
an older version, the parser records the checksum when it first reads them.
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

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import LakeUnavailable

_CHUNK = 1 << 20
_LOG = "_delta_log"
_VERSION = re.compile(r"(\d{20})\.(?:json|checkpoint\.parquet)")


class DamagedFile(LakeUnavailable):
    """A file of a table differs from its recorded checksum."""


class _Sum(NamedTuple):
    size: int
    crc: int


class _Add(msgspec.Struct):
    path: str


class _Action(msgspec.Struct):
    add: _Add | None = None


_ACTION = msgspec.json.Decoder(_Action)


class FileChecksums:
    """The recorded checksums of one table. File names are relative to the table's folder."""

    def __init__(self, table: Path) -> None:
        """Read nothing; methods read the records when needed."""
        self._table, self._folder = table, str(table)  # text, because joining a path takes 5 µs, seven times per batch
        self._path = table / "_headwater" / "checksums"
        self._marker = table / "_headwater" / "damaged"
        self._sums: dict[str, _Sum] = {}
        self._read_to: tuple[int, int] = (0, 0)  # inode and length of the records that were read
        self._checked: set[str] = set()
        self._checked_version = -1
        self._turn = ""

    def note_commit(self, version: int) -> None:
        """Record the checksums of a new commit's log entry and added files."""
        name = _entry(version)
        with suppress(OSError, ValueError):  # the next `look` records what is missing
            with open(f"{self._folder}/{name}", "rb") as file:  # noqa: PTH123 - see `_folder`
                entry = file.read()
            self._sums[name] = _Sum(len(entry), zlib.crc32(entry))
            added = list(_added(entry))
            self._sums |= {each: self._sum(each) for each in added}
            self._append("".join(_line(each, self._sums[each]) for each in (name, *added)).encode())
            self._checked.update((name, *added))
            self._checked_version = version

    def check_version(self, version: int, files: Callable[[], Iterable[str]], most_bytes: int) -> None:
        """Check the files of a version that this process has not checked yet. Files without a record pass.

        files: returns the names of its data files; most_bytes: bytes to check, newest first. Raises DamagedFile.
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
        """Check a file again that some process found damaged. Raises DamagedFile until it is repaired."""
        if not self._marker.exists():
            return
        self._load()
        with suppress(OSError):
            self._check(self._marker.read_text("utf-8", "replace"))
            self._marker.unlink(missing_ok=True)
            self._checked.clear()  # the same fault may have damaged other files
            self._checked_version = -1

    def check(self, names: Iterable[str]) -> None:
        """Check files, even if they were checked before. Raises DamagedFile."""
        self._load()
        for name in names:
            self._check(name)

    def look(self, files: Iterable[str], most_bytes: int) -> int:
        """Check log and data files in turn, and record missing checksums. Returns the unused part of the byte budget.

        Continues after the last file of the previous call, and checks at least one file. Raises DamagedFile.
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
        """Record the current checksums of log and data files that have no record."""
        self._load()
        with suppress(OSError):
            self._note([name for name in (*self._log_files(), *files) if name not in self._sums])

    def log_damage(self) -> str | None:
        """Describe the first damaged file of the Delta log, or return None."""
        try:
            self.check(sorted(self._log_files()))
        except DamagedFile as error:
            return str(error)
        except OSError:
            return None
        return None

    def forget_removed(self) -> None:
        """Drop the records of deleted files."""
        self._load()
        there = {name: each for name, each in self._sums.items() if (self._table / name).exists()}
        if len(there) < len(self._sums):
            atomic_write(self._path, "".join(_line(name, each) for name, each in there.items()).encode())
            self._checked &= there.keys()

    def _log_files(self) -> list[str]:
        return [f"{_LOG}/{each.name}" for each in (self._table / _LOG).iterdir() if _VERSION.fullmatch(each.name)]

    def _log_names(self, version: int) -> list[str]:
        """Return the log entries after the checked version; without one, the newest checkpoint and later entries."""
        if 0 <= self._checked_version < version:
            return [_entry(each) for each in range(self._checked_version + 1, version + 1)]
        names = self._log_files()
        newest = max((each for each in names if each.endswith(".parquet")), default="")
        return sorted(each for each in names if _version(each) >= _version(newest))

    def _newest(self, files: Iterable[str], most_bytes: int) -> list[str]:
        """Return unchecked files, newest first, up to the byte limit."""
        found = []
        for name in files:
            if name not in self._checked:
                with suppress(OSError):  # vacuum deleted it
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
                    atomic_write(self._marker, name.encode())
                raise DamagedFile(
                    f"The file {self._table / name} is damaged: {_difference(expected, found)}. Events stay in the log "
                    "until it is repaired. Stop Headwater and restore the file from a copy, or run `headwater restore` "
                    "with a backup into another folder. If another program changed the file on purpose, delete "
                    f"{self._path}."
                )
        self._checked.add(name)

    def _is_replaced(self, name: str) -> bool:
        """Whether another writer, such as Spark, has replaced our checkpoint of the same version."""
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
            os.write(file, text)  # a record that a full disk truncates is ignored
        finally:
            os.close(file)

    def _load(self) -> None:
        """Read new records. Ignores truncated or damaged lines."""
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
        return f"it has {found.size} bytes instead of {expected.size}"
    return "its checksum has changed since it was written"


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
