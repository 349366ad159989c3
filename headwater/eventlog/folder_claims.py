"""Claim check: bodies too large for the log lie in a folder, the log holds their key."""

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headwater.errors import GiveUp, LogUnavailable
from headwater.eventlog import Claims, LogWriter, Record, RecordKind, claim_name
from headwater.eventlog.segments import sync_folder
from headwater.storage_faults import explain


class FolderClaims:
    """Claims as files of one folder; raw bodies, so as short-lived as the log."""

    def __init__(self, folder: Path):
        """Create the folder if it is missing."""
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, body: bytes) -> bytes:
        """Keep a body; durable when this returns. Returns its key; raises LogUnavailable."""
        key = secrets.token_hex(16)
        try:
            with (self._folder / key).open("xb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self._folder)
        except OSError as error:
            with contextlib.suppress(LogUnavailable):  # a body that no record names goes with the next start
                self.remove(key.encode())
            raise LogUnavailable(f"Cannot keep a large body in {self._folder}: {explain(error, 'data')}") from error
        return key.encode()

    def get(self, key: bytes) -> bytes:
        """Return a body; raises GiveUp if it is gone, LogUnavailable if it cannot be read right now."""
        try:
            return (self._folder / claim_name(key)).read_bytes()
        except OSError as error:
            if isinstance(error, FileNotFoundError) and self._folder.is_dir():
                raise GiveUp(f"The body of this event is gone from {self._folder}: {error}.") from error
            raise LogUnavailable(f"Cannot read a large body in {self._folder}: {explain(error, 'data')}") from error

    def size(self, key: bytes) -> int:
        """Return a body's length in bytes, 0 if it is gone or cannot be read: `get` tells which."""
        try:
            return (self._folder / claim_name(key)).stat().st_size
        except (OSError, GiveUp):
            return 0

    def remove(self, key: bytes) -> None:
        """Forget a body; raises LogUnavailable where the disk does not let it go."""
        try:
            (self._folder / key.decode()).unlink(missing_ok=True)
        except OSError as error:
            raise LogUnavailable(f"Cannot delete a large body in {self._folder}: {explain(error, 'data')}") from error

    def forget_older(self, hours: float) -> None:
        """Forget bodies kept longer ago: for a log that does not say which records its retention took."""
        oldest = time.time() - hours * 3600
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # the parser may be as quick
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def keys(self) -> set[bytes]:
        """List the keys of all bodies; raises LogUnavailable if the folder cannot be read."""
        try:
            return {path.name.encode() for path in self._folder.iterdir()}
        except OSError as error:
            raise LogUnavailable(f"Cannot read the folder {self._folder}: {explain(error, 'data')}") from error


def forget_old(claims: Claims, hours: float) -> None:
    """Let large bodies of our own folder go by age; a container has a rule of its own for that."""
    if isinstance(claims, FolderClaims):
        claims.forget_older(hours)


class Leftovers:
    """Bodies that were there when the log was opened; those that no record names were never acknowledged."""

    def __init__(self, claims: FolderClaims, named: Callable[[], Iterable[bytes]]):
        """Note what is there now, before anything is received.

        named: lists the key of each body that the log's records stand for; raises LogUnavailable unless it is sure.
        """
        self._claims = claims
        self._named = named
        self._left = claims.keys()

    def sweep(self) -> None:
        """Forget those that no record names; raises LogUnavailable, and forgets none, while the log cannot tell."""
        if self._left:
            for key in self._left.difference(self._named()):
                self._claims.remove(key)
            self._left.clear()


PUTS = 8
"""Bodies on their way at once, on threads of their own: nothing but large bodies waits for a storage that hangs."""


class ClaimCheck:
    """A log that keeps bodies above `limit_bytes` as claims."""

    def __init__(self, log: LogWriter, claims: Claims, limit_bytes: int):
        """Wrap a log; small records pass untouched."""
        self._log = log
        self._claims = claims
        self._limit = limit_bytes
        self._threads = ThreadPoolExecutor(PUTS, "claims")

    async def append(self, records: Sequence[Record], *, timeout_s: float) -> None:
        """Append like the log itself, large bodies first, both within the timeout; raises LogUnavailable."""
        if max(len(record.body) for record in records) > self._limit:
            if trouble := self._log.trouble():  # a full disk gets no large bodies either
                raise LogUnavailable(trouble)
            started = time.monotonic()
            records = await self._all_checked(records, timeout_s)
            timeout_s = max(0.0, timeout_s - (time.monotonic() - started))
        await self._log.append(records, timeout_s=timeout_s)

    def trouble(self) -> str | None:
        """Say why nothing can be acknowledged right now, or None."""
        return self._log.trouble()

    async def _all_checked(self, records: Sequence[Record], timeout_s: float) -> list[Record]:
        puts = {at: self._put(record.body) for at, record in enumerate(records) if len(record.body) > self._limit}
        try:
            async with asyncio.timeout(timeout_s):
                keys = dict(zip(puts, await asyncio.gather(*puts.values()), strict=True))
        except TimeoutError:
            raise LogUnavailable(
                f"No large body could be kept within {timeout_s:.1f} s. Send the event again."
            ) from None
        return [_checked(record, keys.get(at)) for at, record in enumerate(records)]

    def _put(self, body: bytes) -> asyncio.Future[bytes]:
        return asyncio.get_running_loop().run_in_executor(self._threads, self._claims.put, body)


def _checked(record: Record, key: bytes | None) -> Record:
    return record if key is None else Record(RecordKind.CLAIM, key, record.http, record.key)
