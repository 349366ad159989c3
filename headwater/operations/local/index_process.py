"""The process `index`: updates the index from the lake, so that neither the parser nor requests wait for it."""

import sys
import threading

from headwater.operations.local.child_process import (
    NotificationPipe,
    call_when_parent_ends,
    child_process,
    decode_positions,
)
from headwater.operations.runtime.index import maintain_index


def main() -> None:
    """Run as a child of `headwater up`. The arguments are the descriptors of two notification pipes.

    The parser notifies the first pipe after each commit. This process notifies the second pipe after each update of the
    index.
    """
    stop, wake, serve = (
        threading.Event(),
        NotificationPipe(*map(int, sys.argv[1:3])),
        NotificationPipe(*map(int, sys.argv[3:5])),
    )
    with child_process("index", exclusive=False) as (
        settings,
        folder,
    ):  # not exclusive: maintain_index waits for the lock while a command updates the index
        call_when_parent_ends(stop.set, wake.notify)
        maintain_index(
            settings, folder, stop, wake.wait, lambda: decode_positions(wake.take_notes()), on_change=serve.notify
        )


if __name__ == "__main__":
    main()
