"""A folder of NDJSON files by the day on which events were received, each file written whole."""

import os
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from typing import Literal, Protocol, cast

from pydantic import Field

from headwater.errors import Retry, WrongSetting
from headwater.sinks.contract.sink_holdings import as_sent
from headwater.sinks.contract.sink_options import Options, Pause, Reveal, SecretReference, revealed
from headwater.sinks.contract.sink_shape import Outcome, Payload, SinkEvent, whole_again

AZURE_FOLDER = r"https?://[^/?#@\s]+/[^/?#\s]+(/[^?#\s]*)?"
"""An account's address with a container and a path in it."""


class FileOptions(Options):
    """Options of the type `file`."""

    type: Literal["file"]
    folder: str = Field(
        pattern=rf"^({AZURE_FOLDER}|s3://[^/?#@\s]+(/[^?#\s]*)?|[^:]+)$",
        description="Folder, made if it is missing, or address in storage (`https://` of Azure, `s3://`).",
    )
    options: dict[str, str | SecretReference] = Field(
        {}, description="For Azure `account_name` and `account_key`, or `sas_token`; for S3 `aws_region` and the like."
    )
    every: Pause = Field(10.0, description="Least time between two files.")


OPTIONS = FileOptions
holdings = as_sent

_EPOCH = date(1970, 1, 1)
_DAY_US = 24 * 3600 * 1_000_000


class Folder(Protocol):
    """Where files lie; each is there whole or not at all."""

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a file, over the one that is there; raises Retry."""

    def check(self) -> str:
        """Write a file and delete it; raises HeadwaterError."""

    def close(self) -> None:
        """Close what is open."""


class FileTarget:
    """One folder."""

    largest = 1 << 20

    def __init__(self, folder: Folder) -> None:
        """Touch nothing yet."""
        self._folder = folder
        self.check = folder.check
        self.close = folder.close

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Write events as they are: bronze holds each on one line."""
        return [Payload(event, _one_line(event.body)) for event in events]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Write a file for each day; one that is there already, from an attempt that was cut off, is written anew."""
        try:
            for day, of_day in groupby(payloads, _day):
                some = [*of_day]
                source, head, _ = some[0].event
                name = f"{source.epoch}-{source.partition}-{head.sequence:020}.ndjson"
                self._folder.write(f"{_EPOCH + timedelta(days=day)}/{name}", [each.body + b"\n" for each in some])
        except Retry as error:
            return whole_again(len(payloads), str(error))
        return Outcome()


class DiskFolder:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        """Touch nothing yet."""
        self._folder = folder

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a file beside its place and move it there; raises Retry."""
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
        """Write a file and delete it."""
        try:
            self.write("headwater.check", [])
            (self._folder / "headwater.check").unlink()
        except Retry as error:
            raise WrongSetting(f"{error} Allow it, or correct `folder`.") from error
        return f"{self._folder.resolve()} can be written"

    def close(self) -> None:
        """Nothing is open."""


def open_target(options: Options, reveal: Reveal) -> FileTarget:
    """Open a folder; raises WrongSetting while a secret or a package is missing."""
    given = cast("FileOptions", options)
    if "://" not in given.folder:
        return FileTarget(DiskFolder(Path(given.folder).expanduser()))
    return FileTarget(stored_folder(given.folder, revealed(given.options, reveal)))


def stored_folder(address: str, options: Mapping[str, str]) -> Folder:
    """Open a folder of storage, `s3://` or Azure's `https://`; raises WrongSetting while a package is missing."""
    if address.startswith("s3://"):
        from headwater.sinks.targets.s3_folder import S3Folder  # noqa: PLC0415 - what is not opened is not imported

        return S3Folder(address, options)
    from headwater.sinks.targets.blob_folder import open_blob_folder  # noqa: PLC0415 - as above

    return open_blob_folder(address, options)


def _one_line(body: bytes) -> bytes:
    if b"\n" in body or b"\r" in body:
        return body.replace(b"\n", b" ").replace(b"\r", b" ")
    return body


def _day(payload: Payload) -> int:
    """Return the day of receipt, counted from 1970-01-01 UTC: a date of each event would cost as much as its line."""
    return payload.event.head.received_us // _DAY_US
