"""Start the index of a machine from a snapshot in the lake."""

import logging
import sqlite3
from contextlib import suppress
from functools import partial
from pathlib import Path

from headwater.index.snapshots.snapshot_manifest import Manifest
from headwater.index.snapshots.snapshot_packing import IndexCopy, TornSnapshot, look_into, unpack
from headwater.index.snapshots.snapshot_shelf import Shelf
from headwater.index.stored.database import FORMAT, remove
from headwater.lake.bronze_follower import taken
from headwater.lake.bronze_tables import Bronze

log = logging.getLogger(__name__)


def take_newest(shelf: Shelf, bronze: Bronze, rules_hash: str, forgotten: str, path: Path) -> Manifest | None:
    """Replace an index file with the newest snapshot that fits this bronze and these rules. None means there is none.

    forgotten: the current hash of erasures in the lake. A snapshot that does not fit or is incomplete is logged and
    skipped. Raises LakeUnavailable, OSError.
    """
    for manifest in shelf.newest_first():
        try:
            if manifest is None:
                raise TornSnapshot("its manifest cannot be read")
            check_fits(manifest, bronze, rules_hash, forgotten)
            _put_in_place(shelf, manifest, path)
        except (TornSnapshot, sqlite3.Error) as error:
            said = f"Snapshot {manifest.number}" if manifest else "A snapshot"
            log.warning("%s of the index is not taken: %s. An older one is looked for.", said, error)
            continue
        log.info("The index begins with snapshot %d of the lake.", manifest.number)
        return manifest
    return None


def check_fits(manifest: Manifest, bronze: Bronze, rules_hash: str, forgotten: str) -> None:
    """Raise TornSnapshot with the reason if a snapshot would give other answers than an index built from scratch."""
    if (manifest.format, manifest.rules) != (FORMAT, rules_hash):
        raise TornSnapshot(f"it was built by other rules ({manifest.rules[:16]}) or in format {manifest.format}")
    if manifest.forgotten != forgotten:
        raise TornSnapshot("`headwater forget` has erased something since it was begun")
    table, events = taken(bronze, manifest.progress)
    if table != manifest.lake:
        raise TornSnapshot("it is of another lake")
    if events > manifest.events:
        raise TornSnapshot("bronze no longer holds events that came after it")
    if events < manifest.events:
        raise TornSnapshot("it is ahead of bronze, which was set back")


def _put_in_place(shelf: Shelf, manifest: Manifest, path: Path) -> None:
    fresh = path.with_suffix(".fetched")
    try:
        unpack(manifest, partial(shelf.piece, manifest), fresh)
        if look_into(fresh) != IndexCopy(manifest.positions, manifest.generation):
            raise TornSnapshot("its position in bronze differs from its manifest")
        remove(path)
        fresh.replace(path)
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
