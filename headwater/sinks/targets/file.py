"""Write events to NDJSON files in folders by the date of receipt; each file is written atomically."""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from typing import Literal, cast

from pydantic import Field

from headwater.common.errors import Retry
from headwater.sinks.connecting.folders import AZURE_FOLDER, DiskFolder, Folder, stored_folder
from headwater.sinks.interface.options import Options, Pause, SecretReference, SecretResolver, resolve_secrets
from headwater.sinks.interface.shape import Outcome, Payload, SinkEvent, retry_all
from headwater.sinks.interface.support import full_support


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


class FileTarget:
    """A target that writes to one folder."""

    largest = 1 << 20

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.check = folder.check
        self.close = folder.close

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Return the payload of each event: its body on one line."""
        return [Payload(event, _without_line_breaks(event.body)) for event in events]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Write one file per day of receipt; a repeated attempt replaces the same files."""
        try:
            for day, of_day in groupby(payloads, _receipt_day):
                some = [*of_day]
                source, head, _ = some[0].event
                name = f"{source.epoch}-{source.partition}-{head.sequence:020}.ndjson"
                self._folder.write(f"{_EPOCH + timedelta(days=day)}/{name}", [each.body + b"\n" for each in some])
        except Retry as error:
            return retry_all(len(payloads), str(error))
        return Outcome()


def open_target(options: Options, reveal: SecretResolver) -> FileTarget:
    """Return the target; raises WrongSetting if a secret or a package is missing."""
    given = cast("FileOptions", options)
    if "://" not in given.folder:
        return FileTarget(DiskFolder(Path(given.folder).expanduser()))
    return FileTarget(stored_folder(given.folder, resolve_secrets(given.options, reveal)))


def _without_line_breaks(body: bytes) -> bytes:
    if b"\n" in body or b"\r" in body:
        return body.replace(b"\n", b" ").replace(b"\r", b" ")
    return body


def _receipt_day(payload: Payload) -> int:
    """Return the day of receipt as days since 1970-01-01 UTC, because creating a date per event is slow."""
    return payload.event.head.received_us // _DAY_US
