"""Open and update the index of the lake, its snapshots, and the user's rules that it depends on."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.common.errors import HeadwaterError, Retry, WrongSetting
from headwater.common.storage_faults import explain_storage_error
from headwater.events.position import Source
from headwater.intake.event_log import Readers
from headwater.operations.runtime.data_folder import folder_lock
from headwater.operations.runtime.storage import is_lake_remote, lake_root_and_options, open_bronze
from headwater.operations.runtime.troubles import ServiceTrouble, service_troubles
from headwater.operations.settings import Settings

if TYPE_CHECKING:
    from headwater.api.freshness import FreshnessMeter
    from headwater.index.home import IndexHome
    from headwater.index.reading.search import Search
    from headwater.index.reading.view_opener import ViewOpener
    from headwater.index.rules_files import RulesFiles
    from headwater.index.snapshots.manager import IndexSnapshots


log = logging.getLogger(__name__)

MAX_PAUSE_S = 30.0


def open_index_home(folder: Path) -> "IndexHome":
    """Return the folder of the index."""
    from headwater.index.home import IndexHome

    return IndexHome(folder / "index")


def open_freshness(
    settings: Settings, folder: Path, readers: Readers, troubles: Callable[[], Mapping[str, str]] | None = None
) -> "FreshnessMeter":
    """Return a meter of how far answers are behind the acknowledged events. Any thread may use the meter.

    readers: log readers that no other code uses. troubles: returns the reasons of stopped services by service; by
    default, of the services of this machine.
    """
    from headwater.api.freshness import FreshnessMeter
    from headwater.lake.gold_pass import Gold

    gold = Gold(*lake_root_and_options(settings))
    return FreshnessMeter(
        readers, open_bronze(settings), open_index_home(folder), gold, troubles or partial(service_troubles, folder)
    )


def open_view_opener(settings: Settings, folder: Path) -> "ViewOpener":
    """Open lineage for questions of the command line. First update the index, unless another process maintains it."""
    from headwater.index.reading.view_opener import ViewOpener

    rules = open_rules(settings)
    _update_index(settings, folder, rules)
    return ViewOpener(open_index_home(folder), rules)


def open_search(settings: Settings, folder: Path) -> "Search":
    """Open the search for the command line. First update the index like `open_view_opener`."""
    from headwater.index.reading.search import Search

    rules = open_rules(settings)
    _update_index(settings, folder, rules)
    return Search(open_index_home(folder), rules)


def _update_index(settings: Settings, folder: Path, rules: "RulesFiles") -> None:
    from headwater.index.writing.follower import IndexFollower

    with suppress(WrongSetting), folder_lock(folder, "index", wait_s=0):
        follower = IndexFollower(
            open_index_home(folder), open_bronze(settings), initial_index=open_snapshots(settings, folder)
        )
        while follower.process_batches(rules.current_rules().names):
            pass
        follower.close()


def open_rules(settings: Settings) -> "RulesFiles":
    """Open the folder of the user's rules. Raises WrongSetting if the setting `rules` names a missing folder."""
    from headwater.index.rules_files import RulesFiles
    from headwater.lineage.snapshots.whole_rewrites import DAY_US

    folder = (settings.rules or settings.data / "rules").expanduser().resolve()
    if settings.rules is not None and not folder.is_dir():
        raise WrongSetting(f"The setting `rules` names a missing folder: {folder}. Create it or correct the setting.")
    days = settings.window_days
    return RulesFiles(folder, None if days is None else days * DAY_US)


def maintain_index(
    settings: Settings,
    folder: Path,
    stop: threading.Event,
    wait: Callable[[float], object] | None = None,
    known_positions: Callable[[], Mapping[Source, int]] = dict,
    *,
    on_change: Callable[[], object] = lambda: None,
) -> None:
    """Update the index from bronze until stopped. Retries after errors of the lake, with growing waits.

    wait: waits until bronze may have new events, for at most the given seconds. known_positions: returns the last
    position in bronze by partition, as far as the parser has sent it. on_change: called after each change of the index.
    A remote lake is polled at fixed intervals, because each request has a cost.
    """
    from headwater.index.writing.follower import IndexFollower

    with index_lock(folder, stop), ExitStack() as ending:
        home, snapshots = open_index_home(folder), open_snapshots(settings, folder)
        follower = IndexFollower(home, open_bronze(settings), initial_index=snapshots)
        ending.callback(follower.close)
        if snapshots:
            ending.callback(snapshots.close)
        rules = open_rules(settings)
        reported: list[str] = []
        trouble = ServiceTrouble(folder, "index")
        is_remote = is_lake_remote(settings)
        look_s = max(settings.tick_s, settings.flush_s) if is_remote else min(settings.tick_s, 1.0)
        rest = stop.wait if is_remote or wait is None else wait
        pause = 0.0
        while not stop.is_set():
            names = rules.current_rules().names
            if rules.problems != reported:
                reported = rules.problems
                for problem in reported:
                    log.warning("%s", problem)
            try:
                if snapshots and snapshots.has_erased_data(home.index_path(names)):
                    follower.delete_index(names)
                taken = follower.process_batches(names, known_positions())
                pause = 0.0
                trouble.record_recovery()
                if snapshots:
                    snapshots.count_events(taken)
                    if not taken and home.is_published_file(path := home.index_path(names)):
                        snapshots.make_when_due(path, names.rules_hash)
            except Retry as error:
                log.warning("%s", error)
                trouble.record_trouble(str(error))
                taken, pause = 0, min(MAX_PAUSE_S, max(0.2, pause * 2))
            if taken:
                on_change()
            if pause:
                stop.wait(pause)
            elif not taken:
                rest(look_s)


@contextmanager
def index_lock(folder: Path, stop: threading.Event) -> Iterator[None]:
    """Hold the lock of the index writer. Waits while a command updates the index."""
    with ExitStack() as stack:
        while not stop.is_set():
            with suppress(WrongSetting):
                stack.enter_context(folder_lock(folder, "index", wait_s=1))
                break
        yield


def open_snapshots(settings: Settings, folder: Path) -> "IndexSnapshots | None":
    """Return the index snapshots in the lake.

    None if the setting `lake` is missing, or if its storage options work only for Delta tables.
    """
    if not settings.lake:
        return None
    from headwater.index.home import IndexHome
    from headwater.index.snapshots.manager import IndexSnapshots
    from headwater.lake.object_store import ObjectStore

    trouble = ServiceTrouble(folder, "snapshot")
    try:
        store = ObjectStore(*lake_root_and_options(settings))
    except HeadwaterError as error:
        log.warning("Snapshots of the index are not used: %s", error)
        trouble.record_trouble(str(error))
        return None
    return IndexSnapshots(store, IndexHome(folder / "index"), partial(open_bronze, settings), trouble.record_or_clear)


def make_snapshot_if_due(settings: Settings, folder: Path) -> bool:
    """Update the index, and make a snapshot if the newest snapshot is old. Returns whether it made a snapshot.

    A timer calls this, so that a new machine finds a recent snapshot even if questions are rare. If another process
    maintains the index, that process also makes the snapshots, and this function does nothing. Raises Retry if the
    storage fails, or with the last error of the other process.
    """
    trouble = ServiceTrouble(folder, "snapshot")
    snapshots = open_snapshots(settings, folder)
    if snapshots is None:
        if settings.lake:
            raise Retry(f"Could not make a snapshot of the index: {service_troubles(folder).get('snapshot')}")
        return False
    try:
        made = _make_snapshot_if_due(settings, folder, snapshots)
    except Exception as error:
        trouble.record_trouble(str(error) if isinstance(error, Retry) else explain_storage_error(error, "lake"))
        raise
    if made is None:  # another process maintains the index
        troubles = service_troubles(folder)
        if failed := troubles.get("snapshot") or troubles.get("index"):
            raise Retry(f"Could not make a snapshot of the index: {failed}")
        return False
    trouble.record_recovery()
    return made


def _make_snapshot_if_due(settings: Settings, folder: Path, snapshots: "IndexSnapshots") -> bool | None:
    """Make a snapshot if it is due. Returns whether it made one, or None if another process maintains the index."""
    from headwater.index.writing.follower import IndexFollower

    names, home = open_rules(settings).current_rules().names, open_index_home(folder)
    path = home.index_path(names)
    if not snapshots.is_snapshot_due(path):
        return False
    with ExitStack() as stack:
        try:
            stack.enter_context(folder_lock(folder, "index", wait_s=0))
        except WrongSetting:
            return None
        with closing(IndexFollower(home, open_bronze(settings), initial_index=snapshots)) as follower:
            if snapshots.has_erased_data(path):
                follower.delete_index(names)
            while follower.process_batches(names):
                pass
        return snapshots.make(path, names.rules_hash)
