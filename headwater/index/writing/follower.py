"""Keeps the index up to date with bronze. Rebuilds it after changes of the rules or their code, and after damage."""

import logging
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from headwater.common.errors import InvalidEvent, LakeUnavailable
from headwater.common.storage_faults import transient_faults_as_retry
from headwater.events.position import Source
from headwater.events.times import iso_time
from headwater.index.home import IndexHome
from headwater.index.stored.integrity import is_caused_by_events
from headwater.index.stored.progress import SetAsideEvent
from headwater.index.writing.indexer import EVENT_CPU_S, CpuLimit, Indexer
from headwater.lake.attempts import BATCH_RECORDS, UnfinishedAttempts
from headwater.lake.bronze_follower import (
    BronzeEvent,
    has_lost_events,
    sources_ahead,
    stored_bodies,
    stored_events,
    stored_heads,
)
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.canonical_names import NameRules
from headwater.tables import REJECTED

log = logging.getLogger(__name__)

_MAX_REJECTIONS = 100
NO_HEADS: Mapping[Source, int] = {}
AT_ONCE = BATCH_RECORDS
"""The number of sequence numbers that a batch covers. Values that a job's runs share are written once per batch."""


class InitialIndex(Protocol):
    """A source of initial index files, such as snapshots."""

    def restore(self, path: Path, rules_hash: str) -> bool:
        """Replace an empty index file with an initial file for these rules. Return whether there was such a file."""

    def record_empty_start(self, path: Path) -> object:
        """Record that the index at `path` starts empty, because its initial file may be damaged as well."""


_Failed = tuple[str, str]
"""(reason, message) of an event that cannot be processed."""

_KILLED: _Failed = ("kills_index", "The index process ended at each attempt to index this event.")
_MAX_MESSAGE = 2_000
"""The maximum number of characters of an error message that are stored."""


class IndexFollower:
    """A consumer of bronze. Call `process_batches` until it returns 0."""

    def __init__(
        self,
        home: IndexHome,
        bronze: Bronze,
        event_cpu_s: float = EVENT_CPU_S,
        initial_index: InitialIndex | None = None,
    ):
        """event_cpu_s: CPU seconds that one event may take. A slower event is set aside with the reason `too_slow`.

        initial_index: a source of initial index files; None to start empty.
        """
        self._initial_index = initial_index
        self._was_damaged = False
        self._reads_all = False
        self._cpu_limit = CpuLimit(event_cpu_s)
        self._attempts: dict[Source, UnfinishedAttempts] = {}
        self._home = home
        self._bronze = bronze
        self._rules: NameRules | None = None
        self._indexer: Indexer | None = None
        self._version = -1
        self._reported_until_us = time.time_ns() // 1000
        self._rejections = -1

    def process_batches(self, rules: NameRules, heads: Mapping[Source, int] = NO_HEADS) -> int:
        """Process one batch from each partition with new events. Return the number of events, 0 when caught up.

        heads: the newest sequences of partitions if they are known, so that they need not be read. Wrong or missing
        values do not change the result.

        Questions use an index of other rules or older code until the index for these rules has caught up for the first
        time. A damaged file is deleted, and the next call starts a new one. Raises Retry if the lake or the disk does
        not respond. After any error, the next call opens the index again.
        """
        if not self._bronze.exists():
            return 0
        with transient_faults_as_retry("bring the index up to date"):
            try:
                indexer = self._open_indexer(rules)
                return self._process_committed(indexer, heads) or self._process_one_batch_each(indexer)
            except BaseException as error:
                self.close()
                if not self._home.is_damaged(error, self._home.index_path(rules)):
                    raise
                self._was_damaged = True
                self.delete_index(rules)
                raise LakeUnavailable(
                    f"The index is damaged ({error}). It is rebuilt from the lake. Ask again later."
                ) from error

    def delete_index(self, rules: NameRules) -> None:
        """Delete the index of these rules. The next call of `process_batches` rebuilds it from the events in bronze."""
        self.close()
        self._home.delete_index(self._home.index_path(rules))

    def close(self) -> None:
        """Close the index file."""
        if self._indexer is not None:
            self._indexer.close()
        self._indexer, self._version = None, -1

    def _open_indexer(self, rules: NameRules) -> Indexer:
        if damaged := self._home.reported_damaged_path():
            log.warning("A question found damage in the index file %s. It is rebuilt from the lake.", damaged.name)
            self.close()
            self._was_damaged = True
            self._home.delete_index(damaged)
        if self._indexer is None or self._rules is None or self._rules.rules_hash != rules.rules_hash:
            self.close()
            path = self._home.index_path(rules)
            self._rules, self._indexer = rules, Indexer(path, rules, self._cpu_limit)
            if not self._indexer.progress():
                self._home.unpublish(path)
                self._start_index(path, rules)
            self._reads_all = not self._indexer.progress() or not self._home.is_published_file(path)
            self._record_removed_events(self._indexer)
        return self._indexer

    def _record_removed_events(self, indexer: Indexer) -> None:
        """Record the events that retention removed from bronze before this index could process them."""
        before_us = self._bronze.removed_before_us()
        if before_us is not None and (self._reads_all or has_lost_events(self._bronze, indexer.progress())):
            indexer.record_removed_before(before_us)

    def _start_index(self, path: Path, rules: NameRules) -> None:
        """Start a new index from an initial file. A process that has found a damaged index starts an empty one."""
        if self._initial_index is None:
            return
        if self._was_damaged:
            self._initial_index.record_empty_start(path)
            return
        if self._indexer is not None:
            self._indexer.close()
        self._initial_index.restore(path, rules.rules_hash)
        self._indexer = Indexer(path, rules, self._cpu_limit)

    def _process_committed(self, indexer: Indexer, heads: Mapping[Source, int]) -> int:
        """Process events that were just committed. Return their number.

        Skips a partition if more events than one batch are unprocessed before its head. The position advances only to
        the last event that was read.
        """
        if not heads:
            return 0
        taken, progress = 0, indexer.progress()
        for source, head in heads.items():
            after = progress.get((source.epoch, source.partition))
            if after is None or not after < head <= after + AT_ONCE:
                continue
            taken += self._process_next(source, after, head, is_committed=True)
        return taken

    def _process_one_batch_each(self, indexer: Indexer) -> int:
        version = self._bronze.events.handle().version()
        if version == self._version:
            return 0
        taken = 0
        progress = indexer.progress()
        for source, head in sources_ahead(self._bronze, progress).items():
            taken += self._process_next(source, progress.get((source.epoch, source.partition), 0), head) or 1
        if not taken:
            self._version = version
            self._publish_index()
            self._add_rejections(indexer)
        return taken

    def _process_next(self, source: Source, after: int, head: int, *, is_committed: bool = False) -> int:
        """Process the next events of a partition. Return the number of events.

        If a batch failed or killed the process, the next call tries fewer events. An event that fails alone is set
        aside. is_committed: advance the position only to the last event that was read.
        """
        attempts = self._attempts.setdefault(source, UnfinishedAttempts(self._home.attempts_path(source.partition)))
        limit = attempts.begin_batch(after)
        until = min(head, after + max(1, limit))
        try:
            taken, failed = self._try_events(source, after, until, is_committed=is_committed) if limit else (1, _KILLED)
            if failed and until == after + 1:
                self._set_event_aside(source, after, *failed)
            if not failed or until == after + 1:
                attempts.end_batch()
        except Exception:
            attempts.end_batch()
            raise
        return taken

    def _try_events(self, source: Source, after: int, until: int, *, is_committed: bool) -> tuple[int, _Failed | None]:
        """Process the events with sequences in (after, until].

        Returns (number of events, (reason, message)). The second part is None unless the content of the events makes
        processing fail.
        """
        events: list[BronzeEvent] = []
        try:
            events = stored_events(self._bronze, source, after, until)
            if events or not is_committed:
                last = events[-1].sequence if is_committed else until
                self._current_indexer().process_events(
                    source, last, events, partial(stored_bodies, self._bronze, source)
                )
        except Exception as error:
            if not is_caused_by_events(error) or self._home.is_damaged(
                error, self._home.index_path(self._current_rules())
            ):
                raise
            self.close()
            reason = error.reason if isinstance(error, InvalidEvent) else type(error).__name__
            return len(events) or 1, (reason, str(error)[:_MAX_MESSAGE])
        return len(events), None

    def _set_event_aside(self, source: Source, after: int, reason: str, message: str) -> None:
        now_us = time.time_ns() // 1000
        heads = stored_heads(self._bronze, source, after, after + 1)
        found = [
            SetAsideEvent(each.sequence, each.event_id, each.received_us, now_us, reason, message) for each in heads
        ]
        for each in found:
            log.error("Event %s is set aside and missing from all answers: %s: %s", each.event_id, reason, message)
        self._current_indexer().set_events_aside(source, after + 1, found)

    def _current_indexer(self) -> Indexer:
        return self._open_indexer(self._current_rules())

    def _current_rules(self) -> NameRules:
        if self._rules is None:
            raise RuntimeError("Call `process_batches` first: the follower has no name rules yet.")
        return self._rules

    def _add_rejections(self, indexer: Indexer) -> None:
        """Add to the feed the events that were rejected since this process started.

        The parser commits table `events` last in each batch, so the rejections of a new batch are already in bronze.
        """
        table = self._bronze.tables[REJECTED.name]
        version = table.handle().version()
        if version == self._rejections:
            return
        rows = table.run_query(
            "SELECT cast(received_at AS bigint) AS received_us, reason, field, message FROM t "
            f"WHERE received_at > to_timestamp_micros({self._reported_until_us}) "
            f"ORDER BY received_at DESC LIMIT {_MAX_REJECTIONS}"
        ).to_pylist()
        for row in reversed(rows):
            self._reported_until_us = max(self._reported_until_us, row["received_us"])
            row["received_at"] = iso_time(row.pop("received_us"))
        if rows:
            indexer.add_rejections(rows[::-1])
        self._rejections = version

    def _publish_index(self) -> None:
        if self._rules is not None:
            path = self._home.index_path(self._rules)
            if not self._home.is_published_file(path):
                self._record_removed_events(self._current_indexer())
                self._home.publish(path)
            self._reads_all = False
