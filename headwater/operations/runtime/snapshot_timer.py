"""Make snapshots of the index by a timer, if no process maintains an index."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.common.errors import Retry, WrongSetting
from headwater.common.storage_faults import explain
from headwater.operations.runtime.folders import folder_lock
from headwater.operations.runtime.indexes import open_index_home, open_rules
from headwater.operations.runtime.snapshot_opening import open_snapshots
from headwater.operations.runtime.station_troubles import StationTrouble, station_troubles
from headwater.operations.runtime.storage import open_bronze
from headwater.operations.settings import Settings

if TYPE_CHECKING:
    from headwater.index.snapshots.manager import IndexSnapshots


def snapshot_once(settings: Settings, folder: Path) -> bool:
    """Update the index and make a snapshot if the newest one lags far behind; returns whether it made one.

    A timer calls this, so that a new machine finds a recent snapshot even if questions are rare. Does nothing if
    another process maintains the index, since that also makes snapshots. Raises Retry, also with the last fault of that
    process.
    """
    trouble = StationTrouble(folder, "snapshot")
    snapshots = open_snapshots(settings, folder)
    if snapshots is None:
        if settings.lake:
            raise Retry(f"Could not make a snapshot of the index: {station_troubles(folder).get('snapshot')}")
        return False
    try:
        made = _make_if_wanted(settings, folder, snapshots)
    except Exception as error:
        trouble.begin(str(error) if isinstance(error, Retry) else explain(error, "lake"))
        raise
    if made is None:  # another process maintains the index
        troubles = station_troubles(folder)
        if failed := troubles.get("snapshot") or troubles.get("index"):
            raise Retry(f"Could not make a snapshot of the index: {failed}")
        return False
    trouble.end()
    return made


def _make_if_wanted(settings: Settings, folder: Path, snapshots: "IndexSnapshots") -> bool | None:
    """Return whether a snapshot was made; None if another process maintains the index."""
    from headwater.index.writing.follower import IndexFollower

    names, home = open_rules(settings).current().names, open_index_home(folder)
    path = home.path_for(names)
    if not snapshots.is_wanted(path):
        return False
    with ExitStack() as stack:
        try:
            stack.enter_context(folder_lock(folder, "index", wait_s=0))
        except WrongSetting:
            return None
        with closing(IndexFollower(home, open_bronze(settings), initial_index=snapshots)) as follower:
            if snapshots.is_outdated(path):
                follower.discard(names)
            while follower.step(names):
                pass
        return snapshots.make(path, names.rules_hash)
