"""The process `index`: keeps the read model up with the lake, so that neither the parser nor an answer waits for it."""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from headwater.errors import HeadwaterError, Retry, WrongSetting
from headwater.index.follow import IndexFollower
from headwater.local.lifeline import read_settings, when_parent_ends
from headwater.runtime.folders import folder_lock, prepare_folder
from headwater.runtime.indexes import open_index_home, open_rules
from headwater.runtime.storage import is_lake_remote, open_bronze
from headwater.settings import Settings

log = logging.getLogger(__name__)

MAX_PAUSE_S = 30.0


def run(settings: Settings, folder: Path, stop: threading.Event) -> None:
    """Follow bronze until stopped; faults of the lake are tried again, ever more slowly."""
    follower = IndexFollower(open_index_home(folder), open_bronze(settings))
    rules = open_rules(settings)
    said: list[str] = []
    look_s = max(settings.tick_s, settings.flush_s) if is_lake_remote(settings) else min(settings.tick_s, 1.0) / 2
    pause = 0.0
    while not stop.is_set():
        names = rules.current().names
        if rules.problems != said:
            said = rules.problems
            for problem in said:
                log.warning("%s", problem)
        try:
            taken = follower.step(names)
            pause = 0.0
        except Retry as error:
            log.warning("%s", error)
            taken, pause = 0, min(MAX_PAUSE_S, max(0.2, pause * 2))
        if not taken:
            stop.wait(pause or look_s)
    follower.close()


def main() -> None:
    """Run as a child of `headwater up`."""
    logging.basicConfig(level=logging.INFO, format="index: %(message)s", stream=sys.stderr)
    settings = read_settings()
    stop = threading.Event()
    when_parent_ends(stop.set)
    try:
        folder = prepare_folder(settings)
        with index_lock(folder, stop):
            run(settings, folder, stop)
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
