"""Send proposals to DataHub's metadata service, or write them to files for its file source."""

import errno
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from headwater.common.errors import Retry, WrongSetting
from headwater.common.extras import require_extra
from headwater.sinks.connecting.folders import Folder, stored_folder
from headwater.sinks.connecting.http import open_poster
from headwater.sinks.interface.options import SecretResolver, resolve_secrets
from headwater.sinks.interface.shape import Outcome, Payload, retry_all
from headwater.sinks.targets.datahub.options import DataHubOptions

_BATCH = "/aspects?action=ingestProposalBatch"
_HEADERS = {"x-restli-protocol-version": "2.0.0"}
_BEGIN, _END = b"[\n", b"\n]\n"
_CHUNK_BYTES = 1 << 16


class Emitter(Protocol):
    """Sends proposals to DataHub in one way; the methods follow the protocol of `Target`."""

    def emit(self, payloads: Sequence[Payload]) -> Outcome:
        """Try once to send the payloads; the body of each payload is a JSON list of proposals."""

    def check(self) -> str:
        """Connect and authenticate without sending proposals."""

    def close(self) -> None:
        """Close open connections."""


def open_emitter(given: DataHubOptions, reveal: SecretResolver) -> Emitter:
    """Return the emitter for the option `emitter` without connecting; raises WrongSetting if a package is missing."""
    if given.emitter == "file" and given.filename:
        return FileEmitter(given.filename.expanduser())
    if given.emitter == "s3":
        return FolderEmitter(_open_folder(given, reveal))
    if given.emitter == "adls":
        return FolderEmitter(stored_folder(given.adls_folder, resolve_secrets(given.adls_options, reveal)))
    if given.emitter == "kafka":
        with require_extra("datahub"):
            from headwater.sinks.targets.datahub.kafka import KafkaEmitter  # noqa: PLC0415 - imports an extra

            return KafkaEmitter(given, reveal)
    return RestEmitter(given, reveal)


def _open_folder(given: DataHubOptions, reveal: SecretResolver) -> Folder:
    settings = {
        "aws_region": given.region,
        "aws_endpoint_url": given.endpoint,
        "aws_profile": given.profile,
        "aws_access_key_id": given.access_key,
        "aws_secret_access_key": given.secret_key,
    }
    options = resolve_secrets({name: value for name, value in settings.items() if value}, reveal)
    return stored_folder(f"s3://{given.bucket}/{given.prefix}", options)


class RestEmitter:
    """A connection to one metadata service (GMS)."""

    def __init__(self, given: DataHubOptions, reveal: SecretResolver) -> None:
        """Raise WrongSetting if a secret is missing."""
        named = given.model_copy(update={"headers": {**_HEADERS, **given.headers}})
        self._poster = open_poster(named, reveal)
        self._end = b'],"async":"true"}' if given.asynchronous else b'],"async":"false"}'

    def emit(self, payloads: Sequence[Payload]) -> Outcome:
        """Post the proposals of several runs."""
        body = b'{"proposals":[' + b",".join(payload.body[1:-1] for payload in payloads) + self._end
        return self._poster.post_all(_BATCH, body, len(payloads))

    def check(self) -> str:
        """Identify the service, and post an empty batch, which requires permission to write."""
        found = self._poster.request("GET", "/config")
        if found.status != 200 or b'"noCode"' not in found.body:
            raise WrongSetting(
                f"GET /config returned status {found.status}: this is not a DataHub metadata service. Correct `url`; "
                "behind DataHub's web page it ends with /api/gms."
            )
        status = self._poster.request("POST", _BATCH, b'{"proposals":[' + self._end).status
        if status in (401, 403):
            raise WrongSetting(
                f"Posting proposals returned status {status}. Correct `key`, or let its user edit metadata."
            )
        return f"the server responds like DataHub, with status {status} to an empty batch"

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


class FileEmitter:
    """Append proposals to one file, because DataHub's file source reads the files of a folder in any order."""

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
        file.write((b",\n" if place else _BEGIN) + _proposal_lines(payloads) + _END)
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
        """Write one file; its name contains position and content hash, so a repeated attempt replaces the same file."""
        source, head, _ = payloads[0].event
        lines = _proposal_lines(payloads)
        name = f"{source.epoch}-{source.partition}-{head.sequence:020}-{sha256(lines).hexdigest()[:16]}.json"
        try:
            self._folder.write(name, [_BEGIN, lines, _END])
        except Retry as error:
            return retry_all(len(payloads), str(error))
        return Outcome()


def _proposal_lines(payloads: Sequence[Payload]) -> bytes:
    proposals = (each for payload in payloads for each in msgspec.json.decode(payload.body, type=list[msgspec.Raw]))
    return b",\n".join(map(bytes, proposals))


def _end_of_proposals(file: BinaryIO) -> int:
    """Return the offset after the last complete proposal, or 0 if there is none.

    An interrupted write may have left a part of a proposal at the end of the file.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(_END)))
    if size > len(_END) and file.read() == _END:
        return size - len(_END)
    until = size
    while until:
        since = max(0, until - _CHUNK_BYTES)
        file.seek(since)
        found = file.read(until - since).rfind(b",\n")
        if found >= 0:
            return since + found
        until = since and since + 1
    return 0
