"""What the index's writer asks of the lake's snapshots: one to begin with, and whether it is time for another."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from headwater.atomic_files import atomic_write
from headwater.errors import HeadwaterError
from headwater.index.home import IndexHome
from headwater.index.snapshots.snapshot_making import EVENTS, OLDEST_S, is_wanted, make_snapshot
from headwater.index.snapshots.snapshot_shelf import Shelf
from headwater.index.snapshots.snapshot_taking import take_newest
from headwater.lake.bronze_tables import Bronze
from headwater.lake.object_store import ObjectStore
from headwater.storage_faults import explain, transient_faults_as_retry

log = logging.getLogger(__name__)

LEAST_S = 600.0
"""Least time between two snapshots of one writer, and between two looks for what was forgotten elsewhere."""
_FAILED_S = 3600.0
"""Time until one that failed is tried again: who may only read the lake makes none at all."""
_SHARE = 50
"""Making snapshots may take one part of so many of the time."""


class IndexSnapshots:
    """The snapshots of one lake, for the writer of one index; `make_when_due` works on a thread of its own."""

    def __init__(
        self,
        store: ObjectStore,
        home: IndexHome,
        open_bronze: Callable[[], Bronze],
        report: Callable[[str | None], object] = lambda _: None,
    ):
        """Ask for nothing yet.

        open_bronze: called for each that asks, on whatever thread; report: called with the cause if no snapshot can be
        made, and with None once one is made or none is needed.
        """
        self._report = report
        self._store, self._home, self._open_bronze = store, home, open_bronze
        self._new = 0
        self._made = self._not_before = time.monotonic() - OLDEST_S
        self._looked = -LEAST_S
        self._making: threading.Thread | None = None
        self._ends = threading.Event()

    def begin(self, path: Path, rules_hash: str) -> bool:
        """Give an index that begins with nothing the newest snapshot that fits; tells whether there was one.

        Notes what the lake has forgotten by now: an index that was begun before must not come back to it.
        Raises LakeUnavailable, OSError.
        """
        forgotten = self.begin_with_nothing(path)
        found = take_newest(self._shelf(path), self._open_bronze(), rules_hash, forgotten, path)
        if found is not None:
            self._new, self._made = 0, time.monotonic() - max(0.0, time.time() - found.made_us / 1e6)
        return found is not None

    def begin_with_nothing(self, path: Path) -> str:
        """Note what the lake has forgotten by now; returns it. Raises LakeUnavailable, OSError."""
        forgotten = self._shelf(path).forgotten()
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(self._home.begun_note(path), forgotten.encode())
        return forgotten

    def is_outdated(self, path: Path) -> bool:
        """Tell, asking the lake every ten minutes, whether something was forgotten that this index may still hold.

        Raises LakeUnavailable.
        """
        if time.monotonic() < self._looked + LEAST_S:
            return False
        self._looked = time.monotonic()
        return path.exists() and self._shelf(path).forgotten() != self._begun(path)

    def is_wanted(self, path: Path) -> bool:
        """Tell whether bronze is so far ahead of the newest snapshot that another is worth it; raises as above."""
        return is_wanted(self._shelf(path), self._open_bronze())

    def took(self, events: int) -> None:
        """Count events that the index has taken."""
        self._new += events

    def make_when_due(self, path: Path, rules_hash: str) -> None:
        """Begin to make a snapshot of an index that has caught up, where enough is new; returns at once."""
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
        """Make a snapshot now; False where another makes one, or it would bring back what was forgotten.

        Raises Retry where lake or disk take nothing, TornSnapshot, OSError, sqlite3.Error.
        """
        shelf, forgotten = self._shelf(path), self._begun(path)
        if shelf.forgotten() != forgotten:
            return False
        began, new = time.monotonic(), self._new
        # the copy of it needs as much room as the index
        with transient_faults_as_retry("make a snapshot of the index"):
            made = make_snapshot(shelf, self._open_bronze(), rules_hash, forgotten, path, ends=self._ends.is_set)
        self._made, self._new = time.monotonic(), self._new - new
        self._not_before = self._made + max(LEAST_S, _SHARE * (self._made - began))
        self._report(None)
        return made is not None

    def close(self) -> None:
        """Let a snapshot that is being made go, and wait for that."""
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
        """Return what the lake had forgotten when an index was begun: nothing, where nobody noted it."""
        try:
            return self._home.begun_note(path).read_text()
        except FileNotFoundError:
            return ""
