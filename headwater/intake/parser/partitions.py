"""The log partitions of one process.

Keeps the parser of each partition between deliveries, and limits the commit rate.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headwater.common.errors import GiveUp, InvalidEvent, Retry
from headwater.intake.event_log import LoggedRecord, LogReader
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.attempts import UnfinishedAttempts

log = logging.getLogger(__name__)

_KILLS = InvalidEvent(
    "kills_parser",
    "The parser process died each time it read this record, probably because it ran out of memory.",
    "Send a smaller event. The body stays in the event log until retention deletes it.",
)


@dataclass(frozen=True, slots=True)
class Partition:
    """One log partition with its reader and parser.

    attempts: counts the attempts at the current batch, so that a batch that kills the process is split.
    """

    reader: LogReader
    parser: PartitionParser
    attempts: UnfinishedAttempts

    def commit_next(self) -> int:
        """Commit the next records of the log, and return the number of records."""
        limit = self.attempts.begin_batch(self.parser.watermark())
        try:
            return self.parser.commit_next(limit) if limit else self.parser.reject_next(_KILLS)
        finally:
            self.attempts.end_batch()

    def commit_delivery(self, delivered: Sequence[LoggedRecord]) -> None:
        """Commit the records that a trigger delivered.

        If a process has died at these records before, they are committed in smaller parts.
        """
        while delivered:
            limit = self.attempts.begin_batch(self.parser.watermark())
            try:
                if limit:
                    self.parser.commit_delivery(delivered[:limit])
                    delivered = delivered[limit:]
                else:
                    self.parser.reject_next(_KILLS)
            finally:
                self.attempts.end_batch()


class PartitionTroubleRecorder(Protocol):
    """The interface that records for health checks which partitions wait, and why."""

    def record_trouble(self, error: Exception, partition: str = "") -> str:
        """Record why a partition waits, and return the reason as text."""

    def record_recovery(self, partition: str = "") -> None:
        """Record that a partition works again."""


class Partitions:
    """The log partitions in a process of the Function App. Processes one delivery at a time."""

    def __init__(self, open_partition: Callable[[str], Partition], flush_s: float, waiting: PartitionTroubleRecorder):
        """open_partition: opens the partition with a name.

        flush_s: minimum seconds between the starts of two commits, over all partitions of the process. waiting: records
        which partitions wait.
        """
        self._open_partition = open_partition
        self._flush_s = flush_s
        self._trouble = waiting
        self._open: dict[str, Partition] = {}
        self._turn = threading.Lock()
        self._not_before = 0.0

    def commit_delivery(self, name: str, delivered: Sequence[LoggedRecord]) -> None:
        """Commit the records of a delivery to the lake. After that, the trigger may write its checkpoint.

        Raises Retry or GiveUp, after a log line. Both must fail the trigger's invocation, so that the trigger repeats
        the delivery until it succeeds. After a GiveUp, the delivery can succeed only when an operator has acted. No
        event is skipped.
        """
        with self._turn:
            time.sleep(max(0.0, self._not_before - time.monotonic()))
            self._not_before = (
                time.monotonic() + self._flush_s
            )  # from start to start: a slow commit needs no extra pause
            try:
                self._open_partition_once(name).commit_delivery(delivered)
                self._trouble.record_recovery(name)
            except (Retry, GiveUp) as error:
                self._close_after_error(name, error)
                raise

    def catch_up(self, name: str, older_than_s: float) -> int:
        """Commit the records that have waited in the log longer than `older_than_s`. Returns the number of records.

        A host that stops at the wrong moment may write the checkpoint of a failed delivery. The next delivery closes
        the gap, but an idle partition has no next delivery. Errors are logged; the next call tries again.
        """
        taken = 0
        with self._turn:
            try:
                partition = self._open_partition_once(name)
                while self._waits_since(partition, older_than_s) and (more := partition.commit_next()):
                    taken += more
                if taken:
                    partition.reader.close()  # otherwise the hub would keep sending over the open link
                # No record is overdue, whether this process or another committed it.
                self._trouble.record_recovery(name)
            except (Retry, GiveUp) as error:
                self._close_after_error(name, error)
        return taken

    def _open_partition_once(self, name: str) -> Partition:
        if name not in self._open:
            self._open[name] = self._open_partition(name)
        return self._open[name]

    def _close_after_error(self, name: str, error: Exception) -> None:
        """Log the error, and close the partition.

        The next call opens the partition again, because log or lake may have been replaced until then.
        """
        if partition := self._open.pop(name, None):
            partition.reader.close()
        level = logging.CRITICAL if isinstance(error, GiveUp) else logging.WARNING
        log.log(level, "Partition %s waits, nothing is lost: %s", name, self._trouble.record_trouble(error, name))

    @staticmethod
    def _waits_since(partition: Partition, seconds: float) -> bool:
        watermark = partition.parser.watermark()
        if partition.reader.tail() <= watermark:
            return False
        received_us = partition.reader.received_us(watermark + 1)
        return received_us is None or received_us < (time.time() - seconds) * 1e6
