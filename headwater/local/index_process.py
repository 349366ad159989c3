"""The process `index`: keeps the read model up with the lake, so that neither the parser nor an answer waits for it."""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from headwater.errors import HeadwaterError, Retry, WrongSetting
from headwater.index.writing.index_follower import IndexFollower
from headwater.local.lifeline import read_settings, when_parent_ends
from headwater.local.wake import Wake, reached
from headwater.runtime.folders import folder_lock, prepare_folder
from headwater.runtime.indexes import open_index_home, open_rules
from headwater.runtime.storage import is_lake_remote, open_bronze
from headwater.settings import Settings

log = logging.getLogger(__name__)

MAX_PAUSE_S = 30.0


def run(settings: Settings, folder: Path, stop: threading.Event, wake: Wake) -> None:
    """Follow bronze until stopped; faults of the lake are tried again, ever more slowly.

    wake: rung when the parser has committed, and after `stop` was set; a remote lake is looked at by the clock all the
    same, because each look costs.
    """
    follower = IndexFollower(open_index_home(folder), open_bronze(settings))
    rules = open_rules(settings)
    said: list[str] = []
    is_remote = is_lake_remote(settings)
    look_s = max(settings.tick_s, settings.flush_s) if is_remote else min(settings.tick_s, 1.0)
    rest: Callable[[float], object] = stop.wait if is_remote else wake.wait
    pause = 0.0
    while not stop.is_set():
        names = rules.current().names
        if rules.problems != said:
            said = rules.problems
            for problem in said:
                log.warning("%s", problem)
        try:
            taken = follower.step(names, reached(wake.take()))
            pause = 0.0
        except Retry as error:
            log.warning("%s", error)
            taken, pause = 0, min(MAX_PAUSE_S, max(0.2, pause * 2))
        if pause:
            stop.wait(pause)
        elif not taken:
            rest(look_s)
    follower.close()


def main() -> None:
    """Run as a child of `headwater up`."""
    logging.basicConfig(level=logging.INFO, format="index: %(message)s", stream=sys.stderr)
    settings = read_settings()
    stop = threading.Event()
    wake = Wake(*map(int, sys.argv[1:3]))
    when_parent_ends(stop.set, wake.ring)
    try:
        folder = prepare_folder(settings)
        with index_lock(folder, stop):
            run(settings, folder, stop, wake)
    except HeadwaterError as error:
        log.error("%s", error)
        sys.exit(1 if isinstance(error, Retry) else 3)


@contextmanager
def index_lock(folder: Path, stop: threading.Event) -> Iterator[None]:
    """Hold the role of the index's writer, once a command that builds the index meanwhile is done."""
    with ExitStack() as stack:
        while not stop.is_set():
            with suppress(WrongSetting):
                stack.enter_context(folder_lock(folder, "index", wait_s=1))
                break
        yield


if __name__ == "__main__":
    main()
