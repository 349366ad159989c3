"""The claim check pattern: large bodies are files in a folder, and the log contains only their keys."""

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headwater.common.errors import GiveUp, LogUnavailable
from headwater.common.storage_faults import explain_storage_error
from headwater.intake.event_log import Claims, LogWriter, Record, RecordKind, claim_name
from headwater.intake.event_log.segments import sync_folder


class FolderClaims:
    """Claims as files in one folder.

    The files contain bodies with possible secrets, so they are deleted with their records.
    """

    def __init__(self, folder: Path):
        """Create the folder if it is missing."""
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, body: bytes) -> bytes:
        """Store a body durably and return its key. Raises LogUnavailable if that fails."""
        key = secrets.token_hex(16)
        try:
            with (self._folder / key).open("xb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self._folder)
        except OSError as error:
            with contextlib.suppress(LogUnavailable):  # an orphaned body is deleted at the next start
                self.remove(key.encode())
            raise LogUnavailable(
                f"Cannot store a large body in {self._folder}: {explain_storage_error(error, 'data')}"
            ) from error
        return key.encode()

    def get(self, key: bytes) -> bytes:
        """Return the body with this key.

        Raises GiveUp if it does not exist, and LogUnavailable if it cannot be read now.
        """
        try:
            return (self._folder / claim_name(key)).read_bytes()
        except OSError as error:
            if isinstance(error, FileNotFoundError) and self._folder.is_dir():
                raise GiveUp(f"The body of this event is missing in {self._folder}: {error}.") from error
            raise LogUnavailable(
                f"Cannot read a large body in {self._folder}: {explain_storage_error(error, 'data')}"
            ) from error

    def size(self, key: bytes) -> int:
        """Return the length of the body with this key (bytes); 0 if it is missing or unreadable."""
        try:
            return (self._folder / claim_name(key)).stat().st_size
        except (OSError, GiveUp):
            return 0

    def remove(self, key: bytes) -> None:
        """Delete the body with this key. Raises LogUnavailable if that fails."""
        try:
            (self._folder / key.decode()).unlink(missing_ok=True)
        except OSError as error:
            raise LogUnavailable(
                f"Cannot delete a large body in {self._folder}: {explain_storage_error(error, 'data')}"
            ) from error

    def delete_older_than(self, hours: float) -> None:
        """Delete bodies by age. Used with logs that do not report which records their retention has deleted."""
        oldest = time.time() - hours * 3600
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process may delete it first
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def keys(self) -> set[bytes]:
        """List the keys of all bodies. Raises LogUnavailable if that fails."""
        try:
            return {path.name.encode() for path in self._folder.iterdir()}
        except OSError as error:
            raise LogUnavailable(
                f"Cannot read the folder {self._folder}: {explain_storage_error(error, 'data')}"
            ) from error


def delete_old_claims(claims: Claims, hours: float) -> None:
    """Delete old bodies if the claims are in a local folder. Containers delete them by a lifecycle rule."""
    if isinstance(claims, FolderClaims):
        claims.delete_older_than(hours)


class OrphanedClaims:
    """Deletes bodies that no record of the log refers to.

    Such bodies were stored by requests that were never acknowledged. Only bodies that existed when the log was opened
    are deleted.
    """

    def __init__(self, claims: FolderClaims, referenced_keys: Callable[[], Iterable[bytes]]):
        """List the existing bodies. Create the object before the log receives records.

        referenced_keys: returns the keys to which records of the log refer, or raises LogUnavailable if it cannot list
        all keys.
        """
        self._claims = claims
        self._named = referenced_keys
        self._left = claims.keys()

    def delete_unreferenced(self) -> None:
        """Delete the bodies that no record refers to.

        Raises LogUnavailable and deletes no body if the log is damaged.
        """
        if self._left:
            for key in self._left.difference(self._named()):
                self._claims.remove(key)
            self._left.clear()


PUTS = 8
"""Number of threads that store bodies.

They serve only large bodies, so small records do not wait for a storage that hangs.
"""


class ClaimCheck:
    """A log writer that stores bodies above `limit_bytes` as claims."""

    def __init__(self, log: LogWriter, claims: Claims, limit_bytes: int):
        """Wrap a log. Records with bodies of at most `limit_bytes` are passed to the log unchanged."""
        self._log = log
        self._claims = claims
        self._limit = limit_bytes
        self._threads = ThreadPoolExecutor(PUTS, "claims")

    async def append(self, records: Sequence[Record], *, timeout_s: float) -> None:
        """Store large bodies, then append the records. The timeout covers both steps.

        Raises LogUnavailable if one fails.
        """
        if max(len(record.body) for record in records) > self._limit:
            if trouble := self._log.unavailability_reason():  # do not store large bodies on a full disk either
                raise LogUnavailable(trouble)
            started = time.monotonic()
            records = await self._store_large_bodies(records, timeout_s)
            timeout_s = max(0.0, timeout_s - (time.monotonic() - started))
        await self._log.append(records, timeout_s=timeout_s)

    def unavailability_reason(self) -> str | None:
        """Return why nothing can be acknowledged right now, or None."""
        return self._log.unavailability_reason()

    async def _store_large_bodies(self, records: Sequence[Record], timeout_s: float) -> list[Record]:
        puts = {
            at: self._store_body(record.body) for at, record in enumerate(records) if len(record.body) > self._limit
        }
        try:
            async with asyncio.timeout(timeout_s):
                keys = dict(zip(puts, await asyncio.gather(*puts.values()), strict=True))
        except TimeoutError:
            raise LogUnavailable(
                f"Storing a large body took longer than {timeout_s:.1f} s. Send the event again."
            ) from None
        return [_with_claim_key(record, keys.get(at)) for at, record in enumerate(records)]

    def _store_body(self, body: bytes) -> asyncio.Future[bytes]:
        return asyncio.get_running_loop().run_in_executor(self._threads, self._claims.put, body)


def _with_claim_key(record: Record, key: bytes | None) -> Record:
    return record if key is None else Record(RecordKind.CLAIM, key, record.http, record.key)
