"""Make a snapshot of the index in the lake."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from headwater.common.errors import LakeUnavailable
from headwater.index.snapshots.snapshot_manifest import Manifest
from headwater.index.snapshots.snapshot_packing import copy_index, pack
from headwater.index.snapshots.snapshot_shelf import Claim, Shelf
from headwater.index.stored.database import FORMAT
from headwater.lake.bronze_follower import Progress, ahead, taken
from headwater.lake.bronze_tables import Bronze

EVENTS = 10_000
"""New events after which a snapshot is worthwhile. An index processes them in one or two seconds."""
OLDEST_S = 86_400.0
"""Age of a snapshot (seconds) after which a single new event makes a new snapshot worthwhile."""


def is_wanted(shelf: Shelf, bronze: Bronze) -> bool:
    """Return whether bronze has so many more events than the newest snapshot that a new one is worthwhile.

    Raises LakeUnavailable.
    """
    if not bronze.exists():
        return False
    newest = shelf.newest()
    if newest is None or newest.forgotten != shelf.forgotten():
        return True
    new, _ = ahead(bronze, newest.progress)
    return new >= EVENTS or (new > 0 and time.time() - newest.made_us / 1e6 >= OLDEST_S)


def make_snapshot(
    shelf: Shelf, bronze: Bronze, rules_hash: str, forgotten: str, path: Path, *, ends: Callable[[], bool]
) -> Manifest | None:
    """Make a snapshot of an index while it may be read and written. Return None if another process makes one.

    forgotten: what had been erased from the lake when the index was started. ends: called between two pieces; True
    cancels the snapshot. If two processes make one at the same time, only one snapshot counts. Raises LakeUnavailable,
    TornSnapshot, OSError, sqlite3.Error.
    """
    claim = shelf.claim()
    if claim is None:
        return None
    copy = path.with_suffix(".copy")
    try:
        held = copy_index(path, copy)
        progress: Progress = {(epoch, partition): sequence for epoch, partition, sequence in held.positions}
        table, events = taken(bronze, progress)
        manifest = Manifest(
            format=FORMAT, rules=rules_hash, number=claim.number, folder=claim.folder, made_us=time.time_ns() // 1000,
            generation=held.generation, positions=held.positions, lake=table, events=events, forgotten=forgotten,
            size=copy.stat().st_size, pieces=pack(copy, partial(_put, shelf, claim, ends)),
        )  # fmt: skip
    except BaseException:
        with suppress(LakeUnavailable):  # otherwise the claim expires after 15 minutes
            shelf.release(claim)
        raise
    finally:
        copy.unlink(missing_ok=True)
    if not shelf.publish(claim, manifest):
        return None
    shelf.prune(shelf.forgotten())
    return manifest


def _put(shelf: Shelf, claim: Claim, ends: Callable[[], bool], number: int, content: bytes) -> None:
    if ends():
        raise LakeUnavailable("The process ends before the snapshot of the index is made.")
    shelf.put(claim, number, content)
