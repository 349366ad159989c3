"""Write events to NDJSON files in folders by the date of receipt; each file is written atomically."""

import os
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from typing import Literal, Protocol, cast

from pydantic import Field

from headwater.common.errors import Retry, WrongSetting
from headwater.sinks.contract.item_support import full_support
from headwater.sinks.contract.sink_options import Options, Pause, SecretReference, SecretResolver, resolve_secrets
from headwater.sinks.contract.sink_shape import Outcome, Payload, SinkEvent, retry_all

AZURE_FOLDER = r"https?://[^/?#@\s]+/[^/?#\s]+(/[^?#\s]*)?"
"""Address of an Azure storage account with a container and a path."""


class FileOptions(Options):
    """Options of the type `file`."""

    type: Literal["file"]
    folder: str = Field(
        pattern=rf"^({AZURE_FOLDER}|s3://[^/?#@\s]+(/[^?#\s]*)?|[^:]+)$",
        description="Folder, created if missing, or address in storage (`https://` for Azure, `s3://`).",
    )
    options: dict[str, str | SecretReference] = Field(
        {},
        description="For Azure `account_name` and `account_key`, or `sas_token`; for S3 `aws_region` and related ones.",
    )
    every: Pause = Field(10.0, description="Minimum time between two files.")


OPTIONS = FileOptions
support_table = full_support

_EPOCH = date(1970, 1, 1)
_DAY_US = 24 * 3600 * 1_000_000


class Folder(Protocol):
    """A folder for files; a file appears completely or not at all."""

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a file and replace an existing one; raises Retry."""

    def check(self) -> str:
        """Write and delete a test file; raises HeadwaterError."""

    def close(self) -> None:
        """Close open connections."""


class FileTarget:
    """A target that writes to one folder."""

    largest = 1 << 20

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.check = folder.check
        self.close = folder.close

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Return events as one line each."""
        return [Payload(event, _one_line(event.body)) for event in events]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Write one file per day; replaces a file that an interrupted attempt has left."""
        try:
            for day, of_day in groupby(payloads, _day):
                some = [*of_day]
                source, head, _ = some[0].event
                name = f"{source.epoch}-{source.partition}-{head.sequence:020}.ndjson"
                self._folder.write(f"{_EPOCH + timedelta(days=day)}/{name}", [each.body + b"\n" for each in some])
        except Retry as error:
            return retry_all(len(payloads), str(error))
        return Outcome()


class DiskFolder:
    """A folder on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a temporary file and rename it; raises Retry."""
        place = self._folder / path
        fresh = place.with_suffix(".part")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with fresh.open("wb") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(place)
        except OSError as error:
            raise Retry(f"Cannot write in {self._folder}: {error.strerror}.") from error

    def check(self) -> str:
        """Write and delete a test file; raises WrongSetting if that fails."""
        try:
            self.write("headwater.check", [])
            (self._folder / "headwater.check").unlink()
        except Retry as error:
            raise WrongSetting(f"{error} Allow it, or correct `folder`.") from error
        return f"{self._folder.resolve()} can be written"

    def close(self) -> None:
        """Do nothing: no file stays open."""


def open_target(options: Options, reveal: SecretResolver) -> FileTarget:
    """Return the target; raises WrongSetting if a secret or a package is missing."""
    given = cast("FileOptions", options)
    if "://" not in given.folder:
        return FileTarget(DiskFolder(Path(given.folder).expanduser()))
    return FileTarget(stored_folder(given.folder, resolve_secrets(given.options, reveal)))


def stored_folder(address: str, options: Mapping[str, str]) -> Folder:
    """Return a folder in storage, `s3://` or Azure's `https://`; raises WrongSetting if a package is missing."""
    if address.startswith("s3://"):
        from headwater.sinks.targets.s3_folder import S3Folder  # noqa: PLC0415 - imports an optional package

        return S3Folder(address, options)
    from headwater.sinks.targets.blob_folder import open_blob_folder  # noqa: PLC0415 - imports an optional package

    return open_blob_folder(address, options)


def _one_line(body: bytes) -> bytes:
    if b"\n" in body or b"\r" in body:
        return body.replace(b"\n", b" ").replace(b"\r", b" ")
    return body


def _day(payload: Payload) -> int:
    """Return the day of receipt as days since 1970-01-01 UTC; building a date per event would double the cost."""
    return payload.event.head.received_us // _DAY_US
