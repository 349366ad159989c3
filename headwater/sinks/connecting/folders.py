"""Folders for files: on this machine, in S3 or in Azure storage; a file appears completely or not at all."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Protocol, TypeVar

from headwater.common.errors import Retry, WrongSetting

AZURE_FOLDER = r"https?://[^/?#@\s]+/[^/?#\s]+(/[^?#\s]*)?"
"""Pattern of an address in Azure storage: account, container and optionally a path."""
T = TypeVar("T")
REQUEST_S = 120.0
"""Maximum seconds of one request to storage. A file has at most 16 MiB, unless one event is larger."""
_MOST_LEFT = 4


class Folder(Protocol):
    """A folder for files; a file appears completely or not at all."""

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a file, replacing an existing file at this path; raises Retry if that fails."""

    def check(self) -> str:
        """Write and delete a test file; raises HeadwaterError."""

    def close(self) -> None:
        """Close open connections."""


def stored_folder(address: str, options: Mapping[str, str]) -> Folder:
    """Return the folder at an `s3://` or Azure `https://` address; raises WrongSetting if a package is missing."""
    if address.startswith("s3://"):
        from headwater.sinks.connecting.s3_folder import S3Folder  # noqa: PLC0415 - imports an optional package

        return S3Folder(address, options)
    from headwater.sinks.connecting.blob_folder import open_blob_folder  # noqa: PLC0415 - imports an optional package

    return open_blob_folder(address, options)


class DiskFolder:
    """A folder on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a temporary file and rename it to `path`; raises Retry if that fails."""
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


class BoundedCalls:
    """Run each call in its own thread, and abandon the thread if the call exceeds the deadline.

    The timeouts of storage clients apply to each read, so a response of one byte per second never exceeds them.
    Python cannot stop a thread, so a few abandoned threads may remain until the target closes their connections.
    """

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._left: list[threading.Thread] = []

    def run_bounded(self, call: Callable[[], T]) -> T:
        """Return the result of a call; raises Retry at the deadline, or while too many abandoned calls remain."""
        self._left = [thread for thread in self._left if thread.is_alive()]
        if len(self._left) >= _MOST_LEFT:
            raise Retry(
                f"{len(self._left)} earlier requests still have no complete response: the target sends too slowly. "
                "Check its log and the network."
            )
        found: Future[T] = Future()
        thread = threading.Thread(target=_set_result, args=(call, found), name="sink-request", daemon=True)
        thread.start()
        if not wait([found], self._deadline_s).done:
            self._left.append(thread)
            raise Retry(
                f"No complete response within {self._deadline_s:g} s: the target sends too slowly. "
                "Check its log and the network."
            )
        return found.result()


def _set_result(call: Callable[[], T], found: "Future[T]") -> None:
    try:
        found.set_result(call())
    except BaseException as error:
        found.set_exception(error)
