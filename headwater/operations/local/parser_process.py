"""The process `parser`: parses the log into the lake, at most once per tick, and maintains the lake in between."""

import logging
import sys
import threading
import time
from pathlib import Path

from headwater.common.errors import LogUnavailable, Retry
from headwater.intake.event_log import call_all_readers
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.intake.parser.partitions import Partition
from headwater.lake.attempts import UnfinishedAttempts
from headwater.lake.bronze_retention import delete_old_events, remove_unreferenced
from headwater.lake.bronze_tables import Bronze
from headwater.lake.maintenance import (
    SMALL_FILES,
    check_files,
    check_reported_damage,
    compact_tables,
    count_small_files,
    vacuum_tables,
)
from headwater.lake.open_table import REOPEN_AFTER
from headwater.operations.local.child_process import (
    NotificationPipe,
    call_when_parent_ends,
    child_process,
    encode_position,
)
from headwater.operations.runtime.event_log import log_exists, reader_opener
from headwater.operations.runtime.parser_trouble import ParserTrouble
from headwater.operations.runtime.storage import (
    OWNER,
    check_conditional_writes,
    is_lake_remote,
    open_bronze,
    open_claims,
)
from headwater.operations.settings import Settings

log = logging.getLogger(__name__)

VACUUM_EVERY_S = 3600.0
CHECK_AT_START_BYTES = 256 << 20
CHECK_HOURLY_BYTES = 1 << 30
"""Bytes of lake files to verify per hour. This takes 1 s of CPU, and covers a lake of 24 GB within a day."""
MAX_PAUSE_S = 30.0
SAY_AGAIN_S = 60.0


class ParserLoop:
    """Runs a parser for each partition and the lake's maintenance until stopped."""

    def __init__(
        self, settings: Settings, folder: Path, stop: threading.Event, wake: NotificationPipe, index: NotificationPipe
    ):
        """Prepare the loop without opening the log, which the process `serve` creates.

        wake: the pipe that `serve` notifies about new records; notify it also after setting `stop`. index: the pipe
        that the loop notifies after each commit.
        """
        self._settings = settings
        self._folder = folder
        self._stop = stop
        self._wake = wake
        self._index = index
        self._bronze: Bronze = open_bronze(settings)
        self._readers = reader_opener(settings, folder)
        self._partitions: list[Partition] = []
        self._commits = 0
        self._left = 0  # small files that an earlier process left in the lake
        self._not_before = 0.0  # earliest time of the next commit to a remote lake: one commit per tick and machine
        self._vacuumed = time.monotonic()
        self._last_logged = "", 0.0
        self._trouble = ParserTrouble(folder, self._bronze)
        self._is_proven = False

    def run(self) -> None:
        """Parse until stopped. Retries after errors of log or lake, with growing waits."""
        while not (log_exists(self._settings, self._folder) or self._stop.wait(0.05)):
            pass
        pause = 0.0
        while not self._stop.is_set():
            started = time.monotonic()
            self._wake.take_notes()  # before reading the log, so that a notification meanwhile triggers another read
            taken = 0
            try:
                taken = self._step_partitions()
                self._maintain_lake()
                pause = 0.0
                self._trouble.record_recovery()
            except Retry as error:
                self._log_trouble(self._trouble.record_trouble(error))
                self._close_partitions()
                pause = min(MAX_PAUSE_S, max(0.2, pause * 2))
            if not any(partition.parser.filled for partition in self._partitions):
                self._wait_for_work(taken, pause, time.monotonic() - started)
        self._close_partitions()

    def _wait_for_work(self, taken: int, pause: float, spent_s: float) -> None:
        """Wait until the next tick after a commit. Without a commit, wait for a notification, at most one tick.

        taken: number of parsed records. pause: seconds to wait after an error. spent_s: duration of the last round.
        """
        left_s = max(0.0, self._settings.tick_s - spent_s)
        if pause or taken or is_lake_remote(self._settings):
            self._stop.wait(pause or left_s)
        else:
            self._wake.wait(left_s)

    def _step_partitions(self) -> int:
        check_reported_damage(self._bronze)
        if not self._partitions:
            self._open_partitions()
        waits: LogUnavailable | None = None
        done = self._commits
        for partition in self._partitions:
            if self._stop.wait(max(0.0, self._not_before - time.monotonic())):
                break
            try:
                taken = bool(partition.commit_next())
            except LogUnavailable as error:
                waits = error  # the error concerns one partition, so the other partitions continue
                continue
            if taken:
                self._commits += 1
                self._index.notify(encode_position(partition.reader.source, partition.parser.committed))
                if is_lake_remote(self._settings):
                    self._not_before = time.monotonic() + self._settings.tick_s
        if waits:
            raise waits
        return self._commits - done

    def _maintain_lake(self) -> None:
        fresh = sum(table.commits for table in self._bronze.tables.values())
        if self._commits >= REOPEN_AFTER or self._left + fresh >= SMALL_FILES:
            self._commits = self._left = 0
            compact_tables(self._bronze)
        if time.monotonic() - self._vacuumed > VACUUM_EVERY_S:
            self._vacuumed = time.monotonic()
            self._apply_retention()
            vacuum_tables(self._bronze, self._settings.vacuum_hours)
            check_files(self._bronze, CHECK_HOURLY_BYTES)

    def _apply_retention(self) -> None:
        """Delete old events. If this removes contents that the parsers assume to be stored, reopen the parsers."""
        if not self._settings.bronze_keep_days:
            return
        delete_old_events(self._bronze, self._settings.bronze_keep_days)
        if remove_unreferenced(self._bronze, [partition.reader.source for partition in self._partitions]):
            self._close_partitions()

    def _open_partitions(self) -> None:
        if not self._is_proven:
            check_conditional_writes(self._settings)
            check_files(self._bronze, CHECK_AT_START_BYTES)
            self._is_proven = True
        claims = open_claims(self._settings)
        for reader in self._readers():
            attempts = UnfinishedAttempts(self._folder / "run" / f"attempts-{reader.source.partition}.json")
            parser = PartitionParser(reader, self._bronze, claims, OWNER, self._settings.record_cpu_s)
            self._partitions.append(Partition(reader, parser, attempts))
        if not self._commits:
            self._left = count_small_files(self._bronze)

    def _log_trouble(self, trouble: str) -> None:
        """Log a reason why parsing waits when it occurs first, and then once a minute."""
        reported, at = self._last_logged
        if trouble != reported or time.monotonic() - at >= SAY_AGAIN_S:
            log.warning("%s", trouble)
            self._last_logged = trouble, time.monotonic()

    def _close_partitions(self) -> None:
        """Close the readers, so that the next round opens the log again. A log service may have replaced the log."""
        call_all_readers([partition.reader for partition in self._partitions], lambda reader: reader.close())
        self._partitions.clear()


def main() -> None:
    """Run as a child of `headwater up`."""
    stop = threading.Event()
    wake, index = NotificationPipe(*map(int, sys.argv[1:3])), NotificationPipe(*map(int, sys.argv[3:5]))
    with child_process("parser") as (settings, folder):
        call_when_parent_ends(stop.set, wake.notify)
        ParserLoop(settings, folder, stop, wake, index).run()


if __name__ == "__main__":
    main()
