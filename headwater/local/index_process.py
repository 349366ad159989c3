"""The process `index`: keeps the read model up with the lake, so that neither the parser nor an answer waits for it."""

import sys
import threading

from headwater.local.child_process import child
from headwater.local.lifeline import when_parent_ends
from headwater.local.wake import Wake, reached
from headwater.runtime.indexes import keep_index


def main() -> None:
    """Run as a child of `headwater up`.

    The first wake is rung when the parser has committed, and after the end began; the second with each commit of ours.
    """
    stop, wake, serve = threading.Event(), Wake(*map(int, sys.argv[1:3])), Wake(*map(int, sys.argv[3:5]))
    with child("index", holds=False) as (settings, folder):  # it waits for the role where a command has it
        when_parent_ends(stop.set, wake.ring)
        keep_index(settings, folder, stop, wake.wait, lambda: reached(wake.take()), tell=serve.ring)


if __name__ == "__main__":
    main()
