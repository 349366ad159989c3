"""A snapshot of the index by the clock, where no process keeps an index."""

from contextlib import closing, suppress
from pathlib import Path

from headwater.errors import WrongSetting
from headwater.runtime.folders import folder_lock
from headwater.runtime.indexes import open_index_home, open_rules
from headwater.runtime.snapshot_opening import open_snapshots
from headwater.runtime.storage import open_bronze
from headwater.settings import Settings


def snapshot_once(settings: Settings, folder: Path) -> bool:
    """Bring the index up to date and make a snapshot of it, where the lake's newest is far behind; tells if it did.

    For a timer, so that a machine that starts finds a young one however seldom questions are asked. Does nothing where
    a process keeps the index, for that makes snapshots as well. Raises Retry.
    """
    snapshots = open_snapshots(settings, folder)
    if snapshots is None:
        return False
    from headwater.index.writing.index_follower import IndexFollower

    names, home = open_rules(settings).current().names, open_index_home(folder)
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
