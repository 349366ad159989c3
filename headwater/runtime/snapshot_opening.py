"""The snapshots of the index in a lake that others may read, too; a lake in the data folder has its index beside it."""

import logging
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import HeadwaterError, WrongSetting
from headwater.runtime.folders import folder_lock
from headwater.runtime.storage import lake_place, open_bronze
from headwater.settings import Settings

if TYPE_CHECKING:
    from headwater.index.snapshots.index_snapshots import IndexSnapshots

log = logging.getLogger(__name__)


def open_snapshots(settings: Settings, folder: Path) -> "IndexSnapshots | None":
    """Open the snapshots of the lake; None where `lake` names none, or its options do for tables alone."""
    if not settings.lake:
        return None
    from headwater.index.home import IndexHome
    from headwater.index.snapshots.index_snapshots import IndexSnapshots
    from headwater.lake.object_store import ObjectStore

    try:
        store = ObjectStore(*lake_place(settings))
    except HeadwaterError as error:
        log.warning("The lake's snapshots of the index are not used: %s", error)
        return None
    return IndexSnapshots(store, IndexHome(folder / "index"), open_bronze(settings))


def snapshot_once(settings: Settings, folder: Path) -> bool:
    """Bring the index up to date and make a snapshot of it, where the lake's newest is far behind; tells if it did.

    For a timer, so that a machine that starts finds a young one however seldom questions are asked. Does nothing where
    a process keeps the index, for that makes snapshots as well. Raises Retry.
    """
    snapshots = open_snapshots(settings, folder)
    if snapshots is None:
        return False
    from headwater.index.home import IndexHome
    from headwater.index.writing.index_follower import IndexFollower
    from headwater.runtime.indexes import open_rules

    names, home = open_rules(settings).current().names, IndexHome(folder / "index")
    path = home.path_for(names)
    if not snapshots.is_wanted(path):
        return False
    with suppress(WrongSetting), folder_lock(folder, "index", wait_s=0):
        with closing(IndexFollower(home, open_bronze(settings), beginning=snapshots)) as follower:
            if snapshots.is_outdated(path):
                follower.begin_anew(names)
            while follower.step(names):
                pass
        return snapshots.make(path, names.rules_hash)
    return False
