"""Checksums of a table's files on the local disk, because delta-rs verifies neither data pages nor log entries.

The writer of a table records the size and the CRC32 of each file in `_headwater/checksums` in the table's folder.
Delta's vacuum skips folders with names that begin with `_`. Files that another program or an older release of
Headwater wrote have no record. The parser records their checksums when it first reads them.
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
    """The size or the checksum of a table's file differs from the recorded one."""


class _RecordedChecksum(NamedTuple):
    size: int
    crc: int


class _AddAction(msgspec.Struct):
    path: str


class _LogAction(msgspec.Struct):
    add: _AddAction | None = None


_ACTION = msgspec.json.Decoder(_LogAction)


class FileChecksums:
    """The recorded checksums of one table. File names are relative to the table's folder."""

    def __init__(self, table: Path) -> None:
        """table: the folder of the table. The records are read when a method first needs them."""
        self._table, self._folder = table, str(table)  # text, because joining a path takes 5 µs, seven times per batch
        self._path = table / "_headwater" / "checksums"
        self._marker = table / "_headwater" / "damaged"
        self._sums: dict[str, _RecordedChecksum] = {}
        self._read_to: tuple[int, int] = (0, 0)  # inode and length of the records that were read
        self._checked: set[str] = set()
        self._checked_version = -1
        self._turn = ""

    def record_commit(self, version: int) -> None:
        """Record the checksums of a new commit's log entry and added files."""
        name = _log_entry_name(version)
        with suppress(OSError, ValueError):  # `check_in_turn` or `record_missing` adds missing records later
            with open(f"{self._folder}/{name}", "rb") as file:  # noqa: PTH123 - see `_folder`
                entry = file.read()
            self._sums[name] = _RecordedChecksum(len(entry), zlib.crc32(entry))
            added = list(_added_files(entry))
            self._sums |= {each: self._compute_checksum(each) for each in added}
            self._append_records("".join(_record_line(each, self._sums[each]) for each in (name, *added)).encode())
            self._checked.update((name, *added))
            self._checked_version = version

    def check_version(self, version: int, files: Callable[[], Iterable[str]], most_bytes: int) -> None:
        """Check the files of a version that this process has not checked yet. Skip files without a record.

        files: returns the names of the version's data files. most_bytes: the number of bytes of data files to check,
        newest files first. Raises DamagedFile.
        """
        self.check_reported()
        if version == self._checked_version:
            return
        self._load_records()
        for name in [*self._log_names(version), *self._newest_unchecked(files(), most_bytes)]:
            if name not in self._checked:
                self._check_file(name)
        self._checked_version = version

    def check_reported(self) -> None:
        """Check the file that this or another process found damaged. Raises DamagedFile until the file is repaired."""
        if not self._marker.exists():
            return
        self._load_records()
        with suppress(OSError):
            self._check_file(self._marker.read_text("utf-8", "replace"))
            self._marker.unlink(missing_ok=True)
            self._checked.clear()  # the same fault may have damaged other files
            self._checked_version = -1

    def check_files(self, names: Iterable[str]) -> None:
        """Check files, even if they were checked before. Raises DamagedFile."""
        self._load_records()
        for name in names:
            self._check_file(name)

    def check_in_turn(self, files: Iterable[str], max_bytes: int) -> int:
        """Check log and data files in turn, and record missing checksums. Returns the unused part of the byte budget.

        Continues after the last file of the previous call, and checks at least one file. Raises DamagedFile.
        """
        self._load_records()
        names = sorted([*self._log_files(), *files])
        left, last = max_bytes, self._turn
        for name in [*(each for each in names if each > last), *(each for each in names if each <= last)]:
            if left <= 0:
                break
            if name in self._sums:
                self._check_file(name)
            else:
                self._record_checksums([name])
            self._turn = name
            left -= self._sums[name].size if name in self._sums else 0
        return left

    def record_missing(self, files: Iterable[str]) -> None:
        """Record the current checksums of log and data files that have no record."""
        self._load_records()
        with suppress(OSError):
            self._record_checksums([name for name in (*self._log_files(), *files) if name not in self._sums])

    def find_log_damage(self) -> str | None:
        """Describe the first damaged file of the Delta log, or return None."""
        try:
            self.check_files(sorted(self._log_files()))
        except DamagedFile as error:
            return str(error)
        except OSError:
            return None
        return None

    def drop_records_of_deleted(self) -> None:
        """Drop the records of deleted files."""
        self._load_records()
        there = {name: each for name, each in self._sums.items() if (self._table / name).exists()}
        if len(there) < len(self._sums):
            atomic_write(self._path, "".join(_record_line(name, each) for name, each in there.items()).encode())
            self._checked &= there.keys()

    def _log_files(self) -> list[str]:
        return [f"{_LOG}/{each.name}" for each in (self._table / _LOG).iterdir() if _VERSION.fullmatch(each.name)]

    def _log_names(self, version: int) -> list[str]:
        """Return the log entries after the version that was checked last, up to `version`.

        If no version was checked, return the newest checkpoint and the log entries from that version on.
        """
        if 0 <= self._checked_version < version:
            return [_log_entry_name(each) for each in range(self._checked_version + 1, version + 1)]
        names = self._log_files()
        newest = max((each for each in names if each.endswith(".parquet")), default="")
        return sorted(each for each in names if _version_in_name(each) >= _version_in_name(newest))

    def _newest_unchecked(self, files: Iterable[str], most_bytes: int) -> list[str]:
        """Return the files that were not checked yet, newest first, up to `most_bytes` bytes in total."""
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

    def _check_file(self, name: str) -> None:
        expected = self._sums.get(name)
        if expected is None:
            return
        with suppress(FileNotFoundError):
            found = self._compute_checksum(name)
            if found != expected and not self._is_replaced(name):
                self._checked.discard(name)
                with suppress(OSError):
                    atomic_write(self._marker, name.encode())
                raise DamagedFile(
                    f"The file {self._table / name} is damaged: {_describe_difference(expected, found)}. Events stay "
                    "in the log until it is repaired. Stop Headwater and restore the file from a copy, or run "
                    "`headwater restore` with a backup into another folder. If another program changed the file "
                    "on purpose, delete "
                    f"{self._path}."
                )
        self._checked.add(name)

    def _is_replaced(self, name: str) -> bool:
        """Whether another writer, such as Spark, has replaced our checkpoint of the same version."""
        return ".checkpoint" in name and b"parquet-rs" not in (self._table / name).read_bytes()[-(1 << 16) :]

    def _record_checksums(self, names: Iterable[str]) -> None:
        lines = []
        for name in names:
            with suppress(FileNotFoundError):
                self._sums[name] = self._compute_checksum(name)
                self._checked.add(name)
                lines.append(_record_line(name, self._sums[name]))
        if lines:
            self._append_records("".join(lines).encode())

    def _append_records(self, text: bytes) -> None:
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

    def _load_records(self) -> None:
        """Read the records that were added since the last call. Ignores truncated or damaged lines."""
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
        self._sums = {**(self._sums if start else {}), **dict(_parse_records(content[:whole]))}
        self._read_to = status.st_ino, start + whole

    def _compute_checksum(self, name: str) -> _RecordedChecksum:
        size = crc = 0
        file = os.open(f"{self._folder}/{name}", os.O_RDONLY)
        try:
            while piece := os.read(file, _CHUNK):
                size, crc = size + len(piece), zlib.crc32(piece, crc)
        finally:
            os.close(file)
        return _RecordedChecksum(size, crc)


def _log_entry_name(version: int) -> str:
    return f"{_LOG}/{version:020}.json"


def _version_in_name(name: str) -> str:
    return name.removeprefix(f"{_LOG}/")[:20]


def _describe_difference(expected: _RecordedChecksum, found: _RecordedChecksum) -> str:
    if found.size != expected.size:
        return f"it has {found.size} bytes instead of {expected.size}"
    return "its checksum has changed since it was written"


def _added_files(entry: bytes) -> Iterator[str]:
    for line in entry.splitlines():
        if b'"add"' in line and (add := _ACTION.decode(line).add):
            yield unquote(add.path)


def _record_line(name: str, found: _RecordedChecksum) -> str:
    text = f"{found.size} {found.crc:08x} {name}"
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _parse_records(content: bytes) -> Iterator[tuple[str, _RecordedChecksum]]:
    for line in content.splitlines():
        with suppress(ValueError):
            own, text = line.split(b" ", 1)
            size, crc, name = text.split(b" ", 2)
            if int(own, 16) == zlib.crc32(text):
                yield name.decode(), _RecordedChecksum(int(size), int(crc, 16))
