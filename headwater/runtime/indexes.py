"""The index of the lake, and the user's rules that it is built by."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import WrongSetting
from headwater.eventlog import Readers
from headwater.runtime.folders import folder_lock
from headwater.runtime.storage import lake_place, open_bronze
from headwater.settings import Settings

if TYPE_CHECKING:
    from headwater.api.freshness import FreshnessMeter
    from headwater.index.home import IndexHome
    from headwater.index.reading.index_search import Search
    from headwater.index.reading.view_opener import ViewOpener
    from headwater.index.rules_files import RulesFiles


def open_index_home(folder: Path) -> "IndexHome":
    """Open the folder of the index."""
    from headwater.index.home import IndexHome

    return IndexHome(folder / "index")


def open_freshness(settings: Settings, folder: Path, readers: Readers) -> "FreshnessMeter":
    """Open what tells how far behind questions are; with a lake of its own, as it is asked from any thread.

    readers: of its own, too.
    """
    from headwater.api.freshness import FreshnessMeter
    from headwater.lake.gold_pass import Gold

    return FreshnessMeter(readers, open_bronze(settings), open_index_home(folder), Gold(*lake_place(settings)))


def open_view_opener(settings: Settings, folder: Path) -> "ViewOpener":
    """Open lineage for questions from the command line; the index is brought up to date unless a process does that."""
    from headwater.index.reading.view_opener import ViewOpener

    rules = open_rules(settings)
    _catch_up(settings, folder, rules)
    return ViewOpener(open_index_home(folder), rules)


def open_search(settings: Settings, folder: Path) -> "Search":
    """Open search for the command line; like `open_view_opener`."""
    from headwater.index.reading.index_search import Search

    rules = open_rules(settings)
    _catch_up(settings, folder, rules)
    return Search(open_index_home(folder), rules)


def _catch_up(settings: Settings, folder: Path, rules: "RulesFiles") -> None:
    from headwater.index.writing.index_follower import IndexFollower

    with contextlib.suppress(WrongSetting), folder_lock(folder, "index", wait_s=0):
        follower = IndexFollower(open_index_home(folder), open_bronze(settings))
        while follower.step(rules.current().names):
            pass
        follower.close()


def open_rules(settings: Settings) -> "RulesFiles":
    """Open the folder of the user's rules; raises WrongSetting if a folder that was named is not there."""
    from headwater.index.rules_files import RulesFiles

    folder = (settings.rules or settings.data / "rules").expanduser().resolve()
    if settings.rules is not None and not folder.is_dir():
        raise WrongSetting(f"No folder {folder}, which the setting `rules` names. Create it or correct the setting.")
    return RulesFiles(folder)
