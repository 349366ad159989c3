"""`headwater ingest`: takes files to a receiver, once or for as long as it runs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.errors import Retry, WrongSetting
from headwater.file_intake.file_taking import Deletion, FileTaker
from headwater.file_intake.sources.file_source import FileSource

PATIENCE_S = 120.0
"""How long a receiver that has answered is waited for, unless files are followed: then for ever."""
_DELETED_EVERY_S = 60.0
"""What is in bronze is asked for, and every file that was taken looked up in the ledger, no more often."""
_REST = 4.0
"""A look is followed by a rest of so many times the CPU time that it took: looking costs at most a fifth of a core."""


@dataclass(frozen=True)
class IngestOrders:
    """What to take, and for how long.

    since_us: says from when on, now; keep_s: taken files are deleted so many seconds after they were, None: never.
    """

    since_us: Callable[[], int]
    keep_s: float | None
    follow: bool


def ingest_files(
    taker: FileTaker,
    sources: Sequence[FileSource],
    orders: IngestOrders,
    in_bronze_us: Callable[[], int],
    say: Callable[[str], None],
) -> None:
    """Take files once, or without end; raises Retry where a place or the receiver stays away, unless it follows.

    in_bronze_us: asks what is in bronze, see `confirmation`; say: told what is waited for. Raises WrongSetting where
    nothing could ever be deleted.
    """
    _check_reach(orders)
    confirmed = float("-inf")
    while True:
        began, began_cpu = time.monotonic(), time.process_time()
        try:
            deletion = None
            if orders.keep_s and began >= confirmed + _DELETED_EVERY_S:
                rested_us = time.time_ns() // 1000 - int(orders.keep_s * 1e6)
                deletion, confirmed = Deletion(rested_us, in_bronze_us()), began
            taker.take(sources, orders.since_us(), deletion)
        except Retry as error:
            if not orders.follow:
                raise
            say(str(error))
        if not orders.follow:
            return
        look_every_s = min(source.look_every_s for source in sources)
        time.sleep(max(look_every_s, _REST * (time.process_time() - began_cpu)))


def _check_reach(orders: IngestOrders) -> None:
    if orders.keep_s and time.time() - orders.keep_s < orders.since_us() / 1e6:
        raise WrongSetting("--since leaves out what --keep would delete. Let --since reach further back than --keep.")
