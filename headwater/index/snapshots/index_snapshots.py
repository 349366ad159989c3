"""Snapshots for the index's writer: start an index from one, and make a new one when it is due."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import HeadwaterError
from headwater.common.storage_faults import explain, transient_faults_as_retry
from headwater.index.home import IndexHome
from headwater.index.snapshots.snapshot_making import EVENTS, OLDEST_S, is_wanted, make_snapshot
from headwater.index.snapshots.snapshot_shelf import Shelf
from headwater.index.snapshots.snapshot_taking import take_newest
from headwater.lake.bronze_tables import Bronze
from headwater.lake.object_store import ObjectStore

log = logging.getLogger(__name__)

LEAST_S = 600.0
"""Minimum time between two snapshots of one writer, and between two checks for data erased by other processes."""
_FAILED_S = 3600.0
"""Time until a failed snapshot is tried again. Without write access to the lake, every attempt fails."""
_SHARE = 50
"""Making snapshots takes at most one fiftieth of the time."""


class IndexSnapshots:
    """The snapshots of one lake, for the writer of one index. `make_when_due` works on a background thread."""

    def __init__(
        self,
        store: ObjectStore,
        home: IndexHome,
        open_bronze: Callable[[], Bronze],
        report: Callable[[str | None], object] = lambda _: None,
    ):
        """open_bronze: called for each operation, on any thread.

        report: called with the cause if no snapshot can be made, and with None once one is made or none is needed.
        """
        self._report = report
        self._store, self._home, self._open_bronze = store, home, open_bronze
        self._new = 0
        self._made = self._not_before = time.monotonic() - OLDEST_S
        self._looked = -LEAST_S
        self._making: threading.Thread | None = None
        self._ends = threading.Event()

    def begin(self, path: Path, rules_hash: str) -> bool:
        """Start an empty index from the newest valid snapshot. Return whether there was one.

        Records what has been erased from the lake up to now, so that `is_outdated` and `make` notice later erasures.
        Raises LakeUnavailable, OSError.
        """
        forgotten = self.begin_with_nothing(path)
        found = take_newest(self._shelf(path), self._open_bronze(), rules_hash, forgotten, path)
        if found is not None:
            self._new, self._made = 0, time.monotonic() - max(0.0, time.time() - found.made_us / 1e6)
        return found is not None

    def begin_with_nothing(self, path: Path) -> str:
        """Record what has been erased from the lake up to now, and return it. Raises LakeUnavailable, OSError."""
        forgotten = self._shelf(path).forgotten()
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(self._home.begun_note(path), forgotten.encode())
        return forgotten

    def is_outdated(self, path: Path) -> bool:
        """Return whether data was erased that this index may still contain. Asks the lake at most every ten minutes.

        Raises LakeUnavailable.
        """
        if time.monotonic() < self._looked + LEAST_S:
            return False
        self._looked = time.monotonic()
        return path.exists() and self._shelf(path).forgotten() != self._begun(path)

    def is_wanted(self, path: Path) -> bool:
        """Return whether bronze is so far ahead of the newest snapshot that a new one is worthwhile.

        Raises LakeUnavailable.
        """
        return is_wanted(self._shelf(path), self._open_bronze())

    def took(self, events: int) -> None:
        """Count events that the index has processed."""
        self._new += events

    def make_when_due(self, path: Path, rules_hash: str) -> None:
        """Start making a snapshot in the background if one is due. The index must have caught up with bronze."""
        now = time.monotonic()
        due = self._new >= EVENTS or (self._new and now - self._made >= OLDEST_S)
        if not due or now < self._not_before or (self._making and self._making.is_alive()):
            return
        self._not_before = now + LEAST_S
        self._making = threading.Thread(
            target=self._make_quietly, args=(path, rules_hash), name="snapshot", daemon=True
        )
        self._making.start()

    def make(self, path: Path, rules_hash: str) -> bool:
        """Make a snapshot now. Return False if another process makes one, or if this one would contain erased data.

        Raises Retry if the lake or the disk rejects a write, TornSnapshot, OSError, sqlite3.Error.
        """
        shelf, forgotten = self._shelf(path), self._begun(path)
        if shelf.forgotten() != forgotten:
            return False
        began, new = time.monotonic(), self._new
        # the copy needs as much disk space as the index
        with transient_faults_as_retry("make a snapshot of the index"):
            made = make_snapshot(shelf, self._open_bronze(), rules_hash, forgotten, path, ends=self._ends.is_set)
        self._made, self._new = time.monotonic(), self._new - new
        self._not_before = self._made + max(LEAST_S, _SHARE * (self._made - began))
        self._report(None)
        return made is not None

    def close(self) -> None:
        """Cancel a snapshot in progress and wait until its thread has ended."""
        self._ends.set()
        if self._making:
            self._making.join()

    def _make_quietly(self, path: Path, rules_hash: str) -> None:
        try:
            if self.is_wanted(path):
                self.make(path, rules_hash)
            else:  # another machine has made one
                self._new, self._made = 0, time.monotonic()
                self._report(None)
        except HeadwaterError as error:
            self._not_before = time.monotonic() + _FAILED_S
            if not self._ends.is_set():
                self._report(str(error))
                log.warning("No snapshot of the index is made for others, which is tried again later: %s", error)
        except Exception as error:
            self._not_before = time.monotonic() + _FAILED_S
            self._report(explain(error, "lake"))
            log.exception("No snapshot of the index is made for others.")

    def _shelf(self, path: Path) -> Shelf:
        return Shelf(self._store, path.stem)

    def _begun(self, path: Path) -> str:
        """Return what had been erased from the lake when an index was started, or "" if this was not recorded."""
        try:
            return self._home.begun_note(path).read_text()
        except FileNotFoundError:
            return ""
