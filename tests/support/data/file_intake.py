"""Ingest files with a real receiver and a real log in this process. Only the network is left out."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.auth.access import Key
from headwater.auth.authentication import Authenticator
from headwater.common.http_connection import HttpAnswer
from headwater.intake.event_log import LoggedRecord
from headwater.intake.event_log.sqlite_log import LogLimits, SqliteLog
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.intake.files.batch_sending import BATCHES, BatchSender
from headwater.intake.files.file_taking import DeletionLimits, FileIngester, IngestReport
from headwater.intake.files.sources.file_source import FileSource
from headwater.intake.files.sources.local_files import LocalFiles
from headwater.intake.files.taken_ledger import IngestLedger
from headwater.intake.receiver import Request
from headwater.intake.receiver.post_handling import Receiver, RequestLimits
from tests.support.data.made_events import body, run_event

DAY_US = 24 * 3600 * 1_000_000


class Taking:
    """A folder `in`, an ingest ledger, and a receiver that can be made to answer differently first.

    answers: are returned in order before requests reach the receiver. asked: path and number of bytes of each request.
    """

    def __init__(self, folder: Path, keys: Sequence[Key] = (), max_body_bytes: int = 1 << 25, **more: Any) -> None:
        self.folder = folder / "in"
        self.folder.mkdir(exist_ok=True)
        self.answers: list[HttpAnswer] = []
        self.asked: list[tuple[str, int]] = []
        self.waited: list[float] = []
        self._log = SqliteLog(folder / "log", LogLimits(min_free_bytes=0))
        self._reader = SqliteLogReader(folder / "log")
        self._receiver = Receiver(self._log, Authenticator(keys), RequestLimits(max_body_bytes=max_body_bytes))
        self._key = {"authorization": f"Bearer {keys[0].key and keys[0].key.get_secret_value()}"} if keys else {}
        self._patience_s = more.get("patience_s", 60.0)
        self._claim = more.get("claim", _no_claim)
        self.ledger = IngestLedger(folder / "state" / "taken.sqlite")

    def take(
        self,
        *sources: FileSource,
        since_us: int = 0,
        deletion: DeletionLimits | None = None,
        whole: bool = True,
        on_batch: Callable[[IngestReport], None] = lambda _: None,
    ) -> IngestReport:
        """Ingest new files. With `whole`, checks that every line is an event."""
        taker = self.taker(on_batch)
        taker.ingest(sources or (LocalFiles(self.folder),), since_us, deletion)
        assert taker.done.is_complete or not whole, taker.done.reasons
        return taker.done

    def taker(self, on_batch: Callable[[IngestReport], None] = lambda _: None) -> FileIngester:
        """Return an ingester for the folder, which remembers files between passes."""
        sender = BatchSender(self._ask, patience_s=self._patience_s, wait=self.waited.append)
        return FileIngester(self.ledger, sender, self._claim, on_batch)

    def write(self, name: str, *bodies: bytes, torn: bytes = b"", append: bool = False) -> Path:
        """Write lines to a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab" if append else "wb") as file:
            file.write(b"".join(each + b"\n" for each in bodies) + torn)
        return path

    def records(self) -> list[LoggedRecord]:
        """Return all records that the receiver has acknowledged."""
        return self._reader.read(0, limit=1_000_000, max_bytes=1 << 40)

    def bodies(self) -> list[bytes]:
        """Return the bodies of all acknowledged records."""
        return [record.body for record in self.records()]

    def origins(self) -> list[str]:
        """Return the origins of the rejected records."""
        return [origin for each in self.records() if (origin := json.loads(each.http).get("origin"))]

    def close(self) -> None:
        self.ledger.close()
        self._reader.close()
        self._log.close()

    def _ask(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> HttpAnswer:
        assert data is not None
        self.asked.append((path, len(data)))
        if self.answers:
            return self.answers.pop(0)
        take = self._receiver.receive_batch if path == BATCHES else self._receiver.receive_event

        async def answered() -> HttpAnswer:
            answer = await take(Request(method, {**headers, **self._key}, "", data))
            return HttpAnswer(answer.status, answer.headers, answer.body)

        return asyncio.run(answered())


def events(count: int) -> list[bytes]:
    """Return the bodies of `count` different events."""
    return [body(run_event()) for _ in range(count)]


def all_but_certain() -> DeletionLimits:
    """Return limits that permit the deletion of every ingested file."""
    now_us = time.time_ns() // 1000 + DAY_US
    return DeletionLimits(rested_us=now_us, in_bronze_us=now_us)


def _no_claim(key: bytes) -> bytes:
    raise AssertionError(f"nothing asks for a claim here: {key!r}")
