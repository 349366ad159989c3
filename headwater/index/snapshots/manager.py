"""Snapshots for the index's writer: starts an index from a snapshot, and makes a new snapshot when it is due."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import HeadwaterError, LakeUnavailable
from headwater.common.storage_faults import explain_storage_error, transient_faults_as_retry
from headwater.index.home import IndexHome
from headwater.index.snapshots.packing import (
    IndexCopy,
    InvalidSnapshot,
    copy_index,
    pack_file,
    read_copy_position,
    unpack_file,
)
from headwater.index.snapshots.storage import Claim, Manifest, SnapshotStore
from headwater.index.stored.database import FORMAT, delete_index_files
from headwater.lake.bronze_follower import Progress, count_processed, count_unprocessed
from headwater.lake.bronze_tables import Bronze
from headwater.lake.object_store import ObjectStore

log = logging.getLogger(__name__)

EVENTS = 10_000
"""A new snapshot is worthwhile after this many new events. An index processes them in one or two seconds."""
OLDEST_S = 86_400.0
"""If the newest snapshot is older than this (seconds), one new event makes a new snapshot worthwhile."""


def is_snapshot_due(snapshots: SnapshotStore, bronze: Bronze) -> bool:
    """Return whether a new snapshot is worthwhile, because bronze has enough events that the newest one lacks.

    Also True if there is no snapshot, or if data was erased since the newest one. Raises LakeUnavailable.
    """
    if not bronze.exists():
        return False
    newest = snapshots.newest_manifest()
    if newest is None or newest.forgotten != snapshots.erasures_hash():
        return True
    new, _ = count_unprocessed(bronze, newest.progress)
    return new >= EVENTS or (new > 0 and time.time() - newest.made_us / 1e6 >= OLDEST_S)


def make_snapshot(
    snapshots: SnapshotStore,
    bronze: Bronze,
    rules_hash: str,
    erasures_hash: str,
    path: Path,
    *,
    is_closing: Callable[[], bool],
) -> Manifest | None:
    """Make a snapshot of the index file `path`, which may be read and written meanwhile. Return its manifest.

    Returns None if another process makes a snapshot at the same time, because only one of the two counts.
    erasures_hash: the hash of the erasures from the lake when the index was started. is_closing: called before each
    piece; if it returns True, the snapshot is cancelled. Raises LakeUnavailable, InvalidSnapshot, OSError,
    sqlite3.Error.
    """
    claim = snapshots.claim_next()
    if claim is None:
        return None
    copy = path.with_suffix(".copy")
    try:
        held = copy_index(path, copy)
        progress: Progress = {(epoch, partition): sequence for epoch, partition, sequence in held.positions}
        table, events = count_processed(bronze, progress)
        manifest = Manifest(
            format=FORMAT, rules=rules_hash, number=claim.number, folder=claim.folder, made_us=time.time_ns() // 1000,
            generation=held.generation, positions=held.positions, lake=table, events=events, forgotten=erasures_hash,
            size=copy.stat().st_size, pieces=pack_file(copy, partial(_upload_piece, snapshots, claim, is_closing)),
        )  # fmt: skip
    except BaseException:
        with suppress(LakeUnavailable):  # otherwise the claim expires after 15 minutes
            snapshots.release_claim(claim)
        raise
    finally:
        copy.unlink(missing_ok=True)
    if not snapshots.publish_manifest(claim, manifest):
        return None
    snapshots.delete_unused(snapshots.erasures_hash())
    return manifest


def _upload_piece(
    snapshots: SnapshotStore, claim: Claim, is_closing: Callable[[], bool], number: int, content: bytes
) -> None:
    if is_closing():
        raise LakeUnavailable("The process exits before the snapshot of the index is complete.")
    snapshots.upload_piece(claim, number, content)


def restore_newest_snapshot(
    snapshots: SnapshotStore, bronze: Bronze, rules_hash: str, erasures_hash: str, path: Path
) -> Manifest | None:
    """Replace an index file with the newest snapshot that fits this bronze and these rules.

    Returns the manifest of the snapshot, or None if no snapshot fits. A snapshot that does not fit or is incomplete is
    logged and skipped. erasures_hash: the hash of all erasures from the lake so far. Raises LakeUnavailable, OSError.
    """
    for manifest in snapshots.manifests_newest_first():
        try:
            if manifest is None:
                raise InvalidSnapshot("its manifest cannot be read")
            check_snapshot_fits(manifest, bronze, rules_hash, erasures_hash)
            _install_snapshot(snapshots, manifest, path)
        except (InvalidSnapshot, sqlite3.Error) as error:
            name = f"Snapshot {manifest.number}" if manifest else "A snapshot"
            log.warning("%s of the index is not used: %s. Trying an older one.", name, error)
            continue
        log.info("The index begins with snapshot %d of the lake.", manifest.number)
        return manifest
    return None


def check_snapshot_fits(manifest: Manifest, bronze: Bronze, rules_hash: str, erasures_hash: str) -> None:
    """Raise InvalidSnapshot if a snapshot would give other answers than an index built from scratch.

    erasures_hash: the hash of all erasures from the lake so far. Raises LakeUnavailable.
    """
    if (manifest.format, manifest.rules) != (FORMAT, rules_hash):
        raise InvalidSnapshot(f"it was built by other rules ({manifest.rules[:16]}) or in format {manifest.format}")
    if manifest.forgotten != erasures_hash:
        raise InvalidSnapshot("`headwater forget` has erased data since its index was started")
    table, events = count_processed(bronze, manifest.progress)
    if table != manifest.lake:
        raise InvalidSnapshot("it belongs to another lake")
    if events > manifest.events:
        raise InvalidSnapshot("bronze no longer holds events that came after it")
    if events < manifest.events:
        raise InvalidSnapshot("it is ahead of bronze, which was restored to an older state")


def _install_snapshot(snapshots: SnapshotStore, manifest: Manifest, path: Path) -> None:
    fresh = path.with_suffix(".fetched")
    try:
        unpack_file(manifest, partial(snapshots.read_piece, manifest), fresh)
        if read_copy_position(fresh) != IndexCopy(manifest.positions, manifest.generation):
            raise InvalidSnapshot("its position in bronze differs from its manifest")
        delete_index_files(path)
        fresh.replace(path)
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


LEAST_S = 600.0
"""Minimum seconds between two snapshots of one writer, and between two checks for data erased by other processes."""
_FAILED_S = 3600.0
"""Seconds until a failed snapshot is tried again. Without write access to the lake, every attempt fails."""
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

        report: called with an error message if a snapshot cannot be made, and with None after a snapshot was made or
        turned out to be unnecessary.
        """
        self._report = report
        self._store, self._home, self._open_bronze = store, home, open_bronze
        self._new = 0
        self._made = self._not_before = time.monotonic() - OLDEST_S
        self._looked = -LEAST_S
        self._making: threading.Thread | None = None
        self._ends = threading.Event()

    def restore(self, path: Path, rules_hash: str) -> bool:
        """Start an empty index from the newest valid snapshot. Return whether there was a valid snapshot.

        Also records the erasures from the lake up to now, so that `has_erased_data` and `make` notice later erasures.
        Raises LakeUnavailable, OSError.
        """
        forgotten = self.record_empty_start(path)
        found = restore_newest_snapshot(self._snapshots(path), self._open_bronze(), rules_hash, forgotten, path)
        if found is not None:
            self._new, self._made = 0, time.monotonic() - max(0.0, time.time() - found.made_us / 1e6)
        return found is not None

    def record_empty_start(self, path: Path) -> str:
        """Record and return the hash of all erasures from the lake up to now. Raises LakeUnavailable, OSError."""
        forgotten = self._snapshots(path).erasures_hash()
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(self._home.erasures_record_path(path), forgotten.encode())
        return forgotten

    def has_erased_data(self, path: Path) -> bool:
        """Return whether this index may still contain data that was erased from the lake.

        The lake is checked at most every ten minutes; in between, the result is False. Raises LakeUnavailable.
        """
        if time.monotonic() < self._looked + LEAST_S:
            return False
        self._looked = time.monotonic()
        return path.exists() and self._snapshots(path).erasures_hash() != self._recorded_erasures(path)

    def is_snapshot_due(self, path: Path) -> bool:
        """Return whether a new snapshot of the index `path` is worthwhile; see the function `is_snapshot_due`.

        Raises LakeUnavailable.
        """
        return is_snapshot_due(self._snapshots(path), self._open_bronze())

    def count_events(self, events: int) -> None:
        """Add a number of events that the index has processed to the count of events since the last snapshot."""
        self._new += events

    def make_when_due(self, path: Path, rules_hash: str) -> None:
        """Start making a snapshot in the background if one is due. The index must have caught up with bronze."""
        now = time.monotonic()
        due = self._new >= EVENTS or (self._new and now - self._made >= OLDEST_S)
        if not due or now < self._not_before or (self._making and self._making.is_alive()):
            return
        self._not_before = now + LEAST_S
        self._making = threading.Thread(
            target=self._make_and_report, args=(path, rules_hash), name="snapshot", daemon=True
        )
        self._making.start()

    def make(self, path: Path, rules_hash: str) -> bool:
        """Make a snapshot now. Return False if another process makes one, or if the index may contain erased data.

        Raises Retry if the lake or the disk rejects a write, InvalidSnapshot, OSError, sqlite3.Error.
        """
        snapshots, forgotten = self._snapshots(path), self._recorded_erasures(path)
        if snapshots.erasures_hash() != forgotten:
            return False
        began, new = time.monotonic(), self._new
        # the copy needs as much disk space as the index
        with transient_faults_as_retry("make a snapshot of the index"):
            made = make_snapshot(
                snapshots, self._open_bronze(), rules_hash, forgotten, path, is_closing=self._ends.is_set
            )
        self._made, self._new = time.monotonic(), self._new - new
        self._not_before = self._made + max(LEAST_S, _SHARE * (self._made - began))
        self._report(None)
        return made is not None

    def close(self) -> None:
        """Cancel a snapshot in progress and wait until its thread has ended."""
        self._ends.set()
        if self._making:
            self._making.join()

    def _make_and_report(self, path: Path, rules_hash: str) -> None:
        try:
            if self.is_snapshot_due(path):
                self.make(path, rules_hash)
            else:  # another machine has made one
                self._new, self._made = 0, time.monotonic()
                self._report(None)
        except HeadwaterError as error:
            self._not_before = time.monotonic() + _FAILED_S
            if not self._ends.is_set():
                self._report(str(error))
                log.warning("Cannot make a snapshot of the index. Trying again later: %s", error)
        except Exception as error:
            self._not_before = time.monotonic() + _FAILED_S
            self._report(explain_storage_error(error, "lake"))
            log.exception("Making a snapshot of the index failed.")

    def _snapshots(self, path: Path) -> SnapshotStore:
        return SnapshotStore(self._store, path.stem)

    def _recorded_erasures(self, path: Path) -> str:
        """Return the hash of the erasures that was recorded when an index was started, or "" if there is none."""
        try:
            return self._home.erasures_record_path(path).read_text()
        except FileNotFoundError:
            return ""
