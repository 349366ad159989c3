"""The partitions of a log in one process: a parser for each, kept between deliveries, and commits at a distance."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headwater.errors import GiveUp, InvalidEvent, Retry
from headwater.eventlog import LoggedRecord, LogReader
from headwater.lake.attempts import Attempts
from headwater.parser.log_ingest import Parser

log = logging.getLogger(__name__)

_KILLS = InvalidEvent(
    "kills_parser",
    "The parser died each time it came to this record, mostly for want of memory.",
    "Its body is in the event log until retention takes it; send the event smaller.",
)


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition's parser and how often it died of a batch."""

    reader: LogReader
    parser: Parser
    attempts: Attempts

    def step(self) -> int:
        """Take the next records of the log; returns how many."""
        limit = self.attempts.begin(self.parser.watermark())
        try:
            return self.parser.step(limit) if limit else self.parser.reject_next(_KILLS)
        finally:
            self.attempts.end()

    def take(self, delivered: Sequence[LoggedRecord]) -> None:
        """Take what a trigger delivered, in smaller parts where it was the death of a process before."""
        while delivered:
            limit = self.attempts.begin(self.parser.watermark())
            try:
                if limit:
                    self.parser.take(delivered[:limit])
                    delivered = delivered[limit:]
                else:
                    self.parser.reject_next(_KILLS)
            finally:
                self.attempts.end()


class Trouble(Protocol):
    """Takes note of which partitions wait, and why, for whoever asks."""

    def begin(self, error: Exception, partition: str = "") -> str:
        """Note why a partition waits; return the reason."""

    def end(self, partition: str = "") -> None:
        """Note that a partition goes on."""


class Partitions:
    """What a process of the Function App works on. Deliveries of several partitions take turns."""

    def __init__(self, open_partition: Callable[[str], Partition], flush_s: float, trouble: Trouble):
        """Open nothing yet. flush_s: from one commit's begin to the next's, over all partitions of the process."""
        self._open_partition = open_partition
        self._flush_s = flush_s
        self._trouble = trouble
        self._open: dict[str, Partition] = {}
        self._turn = threading.Lock()
        self._not_before = 0.0

    def take(self, name: str, delivered: Sequence[LoggedRecord]) -> None:
        """Bring a delivery into the lake; when this returns, the trigger may forget it.

        Raises Retry or GiveUp, after a log line. Both must stop the trigger: it delivers again, without end, and
        the events behind them wait in the log until an operator has done what the line says. Nothing is passed over.
        """
        with self._turn:
            time.sleep(max(0.0, self._not_before - time.monotonic()))
            self._not_before = time.monotonic() + self._flush_s  # from begin to begin: who commits slowly need not rest
            try:
                self._partition(name).take(delivered)
                self._trouble.end(name)
            except (Retry, GiveUp) as error:
                self._put_off(name, error)
                raise

    def catch_up(self, name: str, older_than_s: float) -> int:
        """Take what waits in the log for longer than a trigger should need; returns how many records.

        A host that stops at the wrong moment checkpoints a delivery that failed. The next delivery finds the gap, but
        a partition that nobody writes to any more has no next delivery. A fault is logged, and met again next time.
        """
        taken = 0
        with self._turn:
            try:
                partition = self._partition(name)
                while self._waits_since(partition, older_than_s) and (more := partition.step()):
                    taken += more
                if taken:
                    partition.reader.close()  # `step` keeps a link open, over which a hub goes on sending
                self._trouble.end(name)  # nothing is overdue, whoever took it
            except (Retry, GiveUp) as error:
                self._put_off(name, error)
        return taken

    def _partition(self, name: str) -> Partition:
        if name not in self._open:
            self._open[name] = self._open_partition(name)
        return self._open[name]

    def _put_off(self, name: str, error: Exception) -> None:
        """Say why, and open the partition anew next time: log and lake may be others by then."""
        if partition := self._open.pop(name, None):
            partition.reader.close()
        level = logging.CRITICAL if isinstance(error, GiveUp) else logging.WARNING
        log.log(level, "Partition %s waits, nothing is lost: %s", name, self._trouble.begin(error, name))

    @staticmethod
    def _waits_since(partition: Partition, seconds: float) -> bool:
        watermark = partition.parser.watermark()
        if partition.reader.tail() <= watermark:
            return False
        received_us = partition.reader.received_us(watermark + 1)
        return received_us is None or received_us < (time.time() - seconds) * 1e6
