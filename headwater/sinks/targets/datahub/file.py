"""Write proposals to files in the format of DataHub's file source: a JSON array with one proposal per line."""

import errno
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import msgspec

from headwater.common.errors import Retry, WrongSetting
from headwater.sinks.contract.sink_shape import Outcome, Payload, retry_all
from headwater.sinks.targets.file_target import Folder

_BEGIN, _END = b"[\n", b"\n]\n"
_LOOK = 1 << 16


class FileEmitter:
    """Append to one file, because the file source reads a folder in no order and each file from the start."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def emit(self, payloads: Sequence[Payload]) -> Outcome:
        """Append proposals; creates a new file if the old one was moved away."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("r+b" if self._path.exists() else "w+b") as file:
                self._append(file, payloads)
        except OSError as error:
            return retry_all(len(payloads), f"Cannot write {self._path}: {error.strerror}.")
        return Outcome()

    def check(self) -> str:
        """Open the file for appending."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab"):
                pass
        except OSError as error:
            raise WrongSetting(
                f"Cannot write {self._path}: {error.strerror}. Allow it, or correct `file.filename`."
            ) from error
        return f"{self._path.resolve()} can be written"

    def close(self) -> None:
        """Do nothing: the file does not stay open."""

    def _append(self, file: BinaryIO, payloads: Sequence[Payload]) -> None:
        file.seek(0)
        if not _BEGIN.startswith(file.read(len(_BEGIN))):
            raise OSError(errno.EEXIST, "it exists but is not a file of proposals")
        place = _end_of_proposals(file)
        file.seek(place)
        file.write((b",\n" if place else _BEGIN) + _lines(payloads) + _END)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


class FolderEmitter:
    """Write separate files to a folder, for storage that cannot append to files."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.check = folder.check
        self.close = folder.close

    def emit(self, payloads: Sequence[Payload]) -> Outcome:
        """Write one file, named by position and content, so a repeated attempt writes the same file."""
        source, head, _ = payloads[0].event
        lines = _lines(payloads)
        name = f"{source.epoch}-{source.partition}-{head.sequence:020}-{sha256(lines).hexdigest()[:16]}.json"
        try:
            self._folder.write(name, [_BEGIN, lines, _END])
        except Retry as error:
            return retry_all(len(payloads), str(error))
        return Outcome()


def _lines(payloads: Sequence[Payload]) -> bytes:
    proposals = (each for payload in payloads for each in msgspec.json.decode(payload.body, type=list[msgspec.Raw]))
    return b",\n".join(map(bytes, proposals))


def _end_of_proposals(file: BinaryIO) -> int:
    """Return the end of the last complete proposal, 0 without one; an interrupted write may have left a part."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(_END)))
    if size > len(_END) and file.read() == _END:
        return size - len(_END)
    until = size
    while until:
        since = max(0, until - _LOOK)
        file.seek(since)
        found = file.read(until - since).rfind(b",\n")
        if found >= 0:
            return since + found
        until = since and since + 1
    return 0
