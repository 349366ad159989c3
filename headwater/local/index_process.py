"""The process `index`: keeps the read model up with the lake, so that neither the parser nor an answer waits for it."""

import logging
import sys
import threading

from headwater.errors import HeadwaterError, Retry
from headwater.local.lifeline import read_settings, when_parent_ends
from headwater.local.wake import Wake, reached
from headwater.runtime.folders import prepare_folder
from headwater.runtime.indexes import keep_index

log = logging.getLogger(__name__)


def main() -> None:
    """Run as a child of `headwater up`; the wake is rung when the parser has committed, and after the end began."""
    logging.basicConfig(level=logging.INFO, format="index: %(message)s", stream=sys.stderr)
    settings = read_settings()
    stop = threading.Event()
    wake = Wake(*map(int, sys.argv[1:3]))
    when_parent_ends(stop.set, wake.ring)
    try:
        keep_index(settings, prepare_folder(settings), stop, wake.wait, lambda: reached(wake.take()))
    except HeadwaterError as error:
        log.error("%s", error)
        sys.exit(1 if isinstance(error, Retry) else 3)


if __name__ == "__main__":
    main()
