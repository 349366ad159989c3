"""An index as a snapshot in the lake, where the newest there is far enough behind."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from headwater.errors import LakeUnavailable
from headwater.index.snapshots.snapshot_manifest import Manifest
from headwater.index.snapshots.snapshot_packing import copy_index, pack
from headwater.index.snapshots.snapshot_shelf import Claim, Shelf
from headwater.index.stored.database import FORMAT
from headwater.lake.bronze_follower import Progress, ahead, taken
from headwater.lake.bronze_tables import Bronze

EVENTS = 10_000
"""New events that make a snapshot worth it: an index takes them in one or two seconds."""
OLDEST_S = 86_400.0
"""Age of a snapshot after which any new event is worth another."""


def is_wanted(shelf: Shelf, bronze: Bronze) -> bool:
    """Tell whether bronze holds so much more than the newest snapshot that another is worth it.

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
    """Make a snapshot of an index that may be read and written meanwhile; None where another makes one.

    forgotten: what the lake had forgotten when the index was begun; ends: asked between two pieces.
    Two at once make two, of which one counts. Raises LakeUnavailable, TornSnapshot, OSError, sqlite3.Error.
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
        with suppress(LakeUnavailable):  # else the claim is old in a quarter of an hour
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
