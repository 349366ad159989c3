"""`headwater ingest`: send files to a receiver, once or continuously."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.common.errors import Retry, WrongSetting
from headwater.intake.files.file_taking import Deletion, FileTaker
from headwater.intake.files.sources.file_source import FileSource

PATIENCE_S = 120.0
"""How long to wait for a receiver that has responded before; without limit when following files."""
_DELETED_EVERY_S = 60.0
"""Minimum time between deletions, which query bronze and look up every ingested file in the ledger."""
_REST = 4.0
"""Rest after each scan, as a multiple of its CPU time: scanning uses at most a fifth of a core."""


@dataclass(frozen=True)
class IngestOptions:
    """What to ingest, and for how long.

    since_us: returns the earliest file time at present. keep_s: age at which ingested files are deleted, None: never.
    """

    since_us: Callable[[], int]
    keep_s: float | None
    follow: bool


def ingest_files(
    taker: FileTaker,
    sources: Sequence[FileSource],
    options: IngestOptions,
    in_bronze_us: Callable[[], int],
    say: Callable[[str], None],
) -> None:
    """Ingest files once or continuously; raises Retry if a source or the receiver is unavailable, unless it follows.

    in_bronze_us: returns how far bronze is, see `confirmation`. say: called with the reason for a wait. Raises
    WrongSetting if no file could ever be deleted.
    """
    _check_reach(options)
    confirmed = float("-inf")
    while True:
        began, began_cpu = time.monotonic(), time.process_time()
        try:
            deletion = None
            if options.keep_s and began >= confirmed + _DELETED_EVERY_S:
                rested_us = time.time_ns() // 1000 - int(options.keep_s * 1e6)
                deletion, confirmed = Deletion(rested_us, in_bronze_us()), began
            taker.take(sources, options.since_us(), deletion)
        except Retry as error:
            if not options.follow:
                raise
            say(str(error))
        if not options.follow:
            return
        look_every_s = min(source.look_every_s for source in sources)
        time.sleep(max(look_every_s, _REST * (time.process_time() - began_cpu)))


def _check_reach(options: IngestOptions) -> None:
    if options.keep_s and time.time() - options.keep_s < options.since_us() / 1e6:
        raise WrongSetting("--since excludes files that --keep should delete. Set --since further back than --keep.")
