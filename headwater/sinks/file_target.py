"""A folder of NDJSON files by the day on which events were received, each file written whole."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Literal, cast

from pydantic import Field

from headwater.errors import WrongSetting
from headwater.sinks.sink_holdings import as_sent
from headwater.sinks.sink_options import Options, Reveal, Seconds
from headwater.sinks.sink_shape import Outcome, Payload, SinkEvent, verbatim, whole_again


class FileOptions(Options):
    """Options of the type `file`."""

    type: Literal["file"]
    folder: Path = Field(description="Folder, made if it is missing; its days are folders in it.")
    every: Seconds = Field(10.0, description="Least time between two files.")


OPTIONS = FileOptions
holdings = as_sent


class FileTarget:
    """One folder."""

    largest = 1 << 20

    def __init__(self, folder: Path) -> None:
        """Touch nothing yet."""
        self._folder = folder

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Write events as they are: bronze holds each on one line."""
        return [
            payload._replace(body=payload.body.replace(b"\n", b" ").replace(b"\r", b" "))
            for payload in verbatim(events)
        ]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Write a file for each day; one that is there already, from an attempt that was cut off, is written anew."""
        try:
            for day, of_day in groupby(payloads, _day):
                self._write(day, list(of_day))
        except OSError as error:
            return whole_again(len(payloads), f"Cannot write in {self._folder}: {error.strerror}.")
        return Outcome()

    def check(self) -> str:
        """Write a file and delete it."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            probe = self._folder / ".headwater-check"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise WrongSetting(
                f"Cannot write in {self._folder}: {error.strerror}. Allow it, or correct `folder`."
            ) from error
        return f"{self._folder.resolve()} can be written"

    def close(self) -> None:
        """Nothing is open."""

    def _write(self, day: str, payloads: Sequence[Payload]) -> None:
        folder = self._folder / day
        folder.mkdir(parents=True, exist_ok=True)
        source, head, _ = payloads[0].event
        path = folder / f"{source.epoch}-{source.partition}-{head.sequence:020}.ndjson"
        fresh = path.with_suffix(".part")
        with fresh.open("wb") as file:
            file.writelines(payload.body + b"\n" for payload in payloads)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)


def open_target(options: Options, reveal: Reveal) -> FileTarget:  # noqa: ARG001 - it has no secrets
    """Open a folder."""
    return FileTarget(cast("FileOptions", options).folder.expanduser())


def _day(payload: Payload) -> str:
    return datetime.fromtimestamp(payload.event.head.received_us / 1_000_000, UTC).date().isoformat()
