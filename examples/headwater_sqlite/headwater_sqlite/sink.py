"""The sink type `sqlite`: events as rows of a SQLite file, one row per event."""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, cast

from pydantic import Field

from headwater.common.errors import WrongSetting
from headwater.sinks.interface.options import Options, SecretResolver
from headwater.sinks.interface.shape import Outcome, Payload, SinkEvent, retry_all, unchanged_payloads
from headwater.sinks.interface.support import full_support

_CREATE = (
    "CREATE TABLE IF NOT EXISTS events (event_id TEXT PRIMARY KEY, received_us INTEGER, job_namespace TEXT, "
    "job_name TEXT, run_id TEXT, state TEXT, body TEXT)"
)
_INSERT = "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
"""Headwater repeats an interrupted attempt, so a row that exists is replaced."""


class SqliteOptions(Options):
    """Options of the type `sqlite`."""

    type: Literal["sqlite"]
    file: Path = Field(description="SQLite file, created if missing.")


OPTIONS = SqliteOptions
support_table = full_support


class SqliteTarget:
    """A SQLite file, opened with the first attempt."""

    largest = 1_000

    def __init__(self, file: Path) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Return unchanged events."""
        return unchanged_payloads(events)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Write all events in one transaction."""
        try:
            with self._open() as connection:
                connection.executemany(_INSERT, map(_row, payloads))
        except (OSError, sqlite3.Error) as error:
            self.close()
            return retry_all(len(payloads), f"Cannot write {self._file}: {error}.")
        return Outcome()

    def check(self) -> str:
        """Open the file and count its events; raises WrongSetting."""
        try:
            (count,) = self._open().execute("SELECT count(*) FROM events").fetchone()
        except (OSError, sqlite3.Error) as error:
            raise WrongSetting(f"Cannot open {self._file}: {error}. Correct `file`.") from error
        return f"{self._file} has {count} events"

    def close(self) -> None:
        """Close the file."""
        connection, self._connection = self._connection, None
        if connection:
            with suppress(sqlite3.Error):
                connection.close()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._file)
            self._connection.execute(_CREATE)
        return self._connection


def _row(payload: Payload) -> tuple[object, ...]:
    head = payload.event.head
    return (
        head.event_id, head.received_us, head.job_namespace, head.job_name, head.run_id, head.state,
        payload.body.decode(),
    )  # fmt: skip


def open_target(options: Options, reveal: SecretResolver) -> SqliteTarget:  # noqa: ARG001 - it has no secrets
    """Return the target without opening the file."""
    return SqliteTarget(cast("SqliteOptions", options).file.expanduser())
