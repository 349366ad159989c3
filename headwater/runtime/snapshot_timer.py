"""A snapshot of the index by the clock, where no process keeps an index."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import Retry, WrongSetting
from headwater.runtime.folders import folder_lock
from headwater.runtime.indexes import open_index_home, open_rules
from headwater.runtime.snapshot_opening import open_snapshots
from headwater.runtime.station_troubles import StationTrouble, station_troubles
from headwater.runtime.storage import open_bronze
from headwater.settings import Settings
from headwater.storage_faults import explain

if TYPE_CHECKING:
    from headwater.index.snapshots.index_snapshots import IndexSnapshots


def snapshot_once(settings: Settings, folder: Path) -> bool:
    """Update the index and make a snapshot of it if the newest one in the lake is far behind; return whether it did.

    For a timer, so that a machine that starts finds a recent one however seldom questions are asked. Does nothing where
    a process keeps the index, for that makes snapshots as well. Raises Retry, also with the last fault of that process.
    """
    trouble = StationTrouble(folder, "snapshot")
    snapshots = open_snapshots(settings, folder)
    if snapshots is None:
        if settings.lake:
            raise Retry(f"No snapshot of the index can be made: {station_troubles(folder).get('snapshot')}")
        return False
    try:
        made = _make_if_wanted(settings, folder, snapshots)
    except Exception as error:
        trouble.begin(str(error) if isinstance(error, Retry) else explain(error, "lake"))
        raise
    if made is None:  # another process keeps the index
        troubles = station_troubles(folder)
        if failed := troubles.get("snapshot") or troubles.get("index"):
            raise Retry(f"No snapshot of the index is made: {failed}")
        return False
    trouble.end()
    return made


def _make_if_wanted(settings: Settings, folder: Path, snapshots: "IndexSnapshots") -> bool | None:
    """Tell whether a snapshot was made; None if another process keeps the index."""
    from headwater.index.writing.index_follower import IndexFollower

    names, home = open_rules(settings).current().names, open_index_home(folder)
    path = home.path_for(names)
    if not snapshots.is_wanted(path):
        return False
    with ExitStack() as stack:
        try:
            stack.enter_context(folder_lock(folder, "index", wait_s=0))
        except WrongSetting:
            return None
        with closing(IndexFollower(home, open_bronze(settings), beginning=snapshots)) as follower:
            if snapshots.is_outdated(path):
                follower.begin_anew(names)
            while follower.step(names):
                pass
        return snapshots.make(path, names.rules_hash)
