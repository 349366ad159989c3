"""Reads from a Kafka topic, with one reader per partition.

Kafka uses some offsets internally, for the ends of transactions and for compacted records. An offset without a record
within a continuous read is such a hole. Records are lost only if the log begins after the requested position, so that
the reader has to continue at the beginning of the log.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import ConfigResource, ResourceType

from headwater.common.errors import LogUnavailable, WrongSetting
from headwater.events.position import Source
from headwater.intake.event_log import LoggedRecord
from headwater.intake.event_log.kafka_clients import KafkaAddress, KafkaFaults, open_admin, open_consumer
from headwater.intake.event_log.kafka_records import logged_record, offset_after, sequence_of

ASK_S = 5.0
DELIVERY_S = 10.0
_MORE_S = 0.2
"""Seconds that a batch waits for its next record."""


class KafkaReaders:
    """Looks up the partitions of a topic on each call, and returns a reader for each partition."""

    def __init__(self, address: KafkaAddress):
        """Start the client without waiting for a connection.

        Raises WrongSetting for options that librdkafka rejects.
        """
        self._address = address
        self._faults = KafkaFaults(address)
        self._admin = open_admin(address, self._faults.record_client_error)
        self._readers: list[KafkaReader] = []
        self._lock = threading.Lock()

    def __call__(self) -> Sequence["KafkaReader"]:
        """Return the readers, which stay the same until the topic is replaced.

        Raises LogUnavailable if Kafka does not answer, and WrongSetting for a compacted topic, because compaction
        deletes events.
        """
        topic = self._address.topic
        found = self._run_query(
            lambda: self._admin.describe_topics(TopicCollection([topic]), request_timeout=ASK_S)[topic]
        )
        epoch = self._epoch(found.topic_id)
        names = sorted(partition.id for partition in found.partitions)
        sources = [Source(topic, epoch, str(name)) for name in names]
        with self._lock:
            if sources != [reader.source for reader in self._readers]:
                self._check_not_compacted()
                for reader in self._readers:
                    reader.close()
                self._readers = [KafkaReader(self._address, source) for source in sources]
            return list(self._readers)

    def _epoch(self, topic_id: Any) -> str:
        """Return the epoch: the topic id as Kafka's tools show it, or the cluster id if the broker has no topic ids."""
        if topic_id.get_most_significant_bits() or topic_id.get_least_significant_bits():
            return str(topic_id).translate(str.maketrans("+/", "-_"))
        return str(self._run_query(lambda: self._admin.describe_cluster(request_timeout=ASK_S)).cluster_id)

    def _check_not_compacted(self) -> None:
        """Raise WrongSetting for a compacted topic.

        Compaction keeps one record per key, and Headwater uses 64 keys, so only 64 events would remain.
        """
        resource = ConfigResource(ResourceType.TOPIC, self._address.topic)
        try:
            found = self._run_query(lambda: self._admin.describe_configs([resource], request_timeout=ASK_S)[resource])
        except LogUnavailable:
            return  # the user may not read the configuration, or the service does not have it
        policy = found.get("cleanup.policy")
        if policy and "compact" in policy.value:
            raise WrongSetting(
                f"Topic {self._address.topic!r} has cleanup.policy={policy.value}: Kafka would delete events that were "
                "acknowledged. Set it to `delete`."
            )

    def _run_query(self, question: Callable[[], Any]) -> Any:
        try:
            answer = question().result(ASK_S * 2)
        except KafkaException as error:
            self._admin.poll(0)  # deliver the client's error callbacks
            raise self._faults.unavailable_error(error.args[0]) from None
        except TimeoutError:
            raise LogUnavailable(
                f"Kafka at {self._address.servers} did not answer in time. Headwater tries again."
            ) from None
        self._faults.record_success()
        return answer


class KafkaReader:
    """Reads one partition of a topic. Thread-safe. Sequential reads of one thread use prefetched records."""

    def __init__(self, address: KafkaAddress, source: Source):
        """Create a reader without a connection. The first read connects."""
        self.source = source
        self._address = address
        self._faults = KafkaFaults(address)
        self._lock = threading.RLock()
        self._consumer: Consumer | None = None
        self._next: int | None = None
        self._begin = 0
        self._at_end = False
        self._oldest = (0, 0)

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the records after sequence `after`. An empty list means that Kafka has no such records."""
        with self._lock:
            if offset_after(after) != self._next:
                self._seek_offset(offset_after(after))
            found: list[LoggedRecord] = []
            size = 0
            while len(found) < limit and size < max_bytes and (record := self._next_record(bool(found))):
                found.append(record)
                size += len(record.body)
            return found

    def read_between(self, after: int, before: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the records between two sequences, exclusive.

        The list is empty if they are lost or were never written.
        """
        found = self.read(after, limit=min(limit, before - after), max_bytes=max_bytes)
        return [record for record in found if record.sequence < before]

    def lost_up_to(self, after: int) -> int:
        """Return the newest sequence if retention has deleted all records after `after`, else 0."""
        low, high = self._first_and_end_offset()
        return high if low == high > after else 0

    def in_epoch(self, epoch: str) -> Source:
        """Return the source of this partition in another epoch of the log."""
        return replace(self.source, epoch=epoch)

    def record_at(self, sequence: int) -> LoggedRecord | None:
        """Return the record with this sequence; None if Kafka deleted the record, or used its offset internally."""
        with self._lock:
            found = self.read(sequence - 1, limit=1, max_bytes=1)
            self._stop_delivery()
        return found[0] if found and found[0].sequence == sequence else None

    def acknowledged(self) -> int:
        """Return 0, because only local logs have a count file."""
        return 0

    def missing_ranges(self, epoch_source: Source, passed: int, acknowledged: int) -> list[tuple[int, int]]:  # noqa: ARG002 - see the docstring
        """Return an empty list, because a loss becomes visible only when the next record arrives."""
        return []

    def tail(self) -> int:
        """Fetch the newest sequence number."""
        return self._first_and_end_offset()[1]

    def head(self) -> int:
        """Fetch the oldest stored sequence number. If the partition is empty, fetch the number of the next record."""
        return sequence_of(self._first_and_end_offset()[0])

    def pending(self, passed: int) -> int:
        """Count the sequence numbers after `passed`, including notes of refused requests and holes.

        Returns 0 if no record follows `passed`.
        """
        waiting = max(0, self.tail() - passed)
        return waiting if waiting and self.received_us(passed + 1) is not None else 0

    def received_us(self, sequence: int) -> int | None:
        """Return when the first record with this or a later sequence was received (us, UTC); None if there is none.

        Caches the last answer.
        """
        with self._lock:
            if self._oldest[0] != sequence:
                found = self.read(sequence - 1, limit=1, max_bytes=1)
                self._stop_delivery()
                if not found:
                    return None
                self._oldest = (sequence, found[0].received_us)
            return self._oldest[1]

    def size_bytes(self) -> int:
        """Return 0: the log is not on this machine."""
        return 0

    def close(self) -> None:
        """Close the connection. The next read opens another connection."""
        with self._lock:
            if self._consumer is not None:
                self._consumer.close()
            self._consumer = self._next = None

    def _next_record(self, has_some: bool) -> LoggedRecord | None:
        """Return the next record; None if Kafka has no further record, or if a batch would have to wait for it.

        has_some: whether the batch has a record already. Then the method waits only briefly.
        """
        wait_s = 0.0 if self._at_end else _MORE_S if has_some else DELIVERY_S
        deadline = time.monotonic() + wait_s
        while (message := self._current_consumer().poll(max(0.0, deadline - time.monotonic()))) is not None:
            if not (error := message.error()):
                return self._to_logged_record(message)
            match error.name():
                case "_PARTITION_EOF":
                    self._at_end = True
                    return None
                case "_AUTO_OFFSET_RESET":
                    self._skip_to_log_start()
                case _:
                    self._next = None
                    raise self._faults.unavailable_error(error)
        if not (has_some or self._at_end):
            self._next = None
            raise self._faults.unavailable_error(KafkaError(KafkaError._TIMED_OUT))
        return None

    def _to_logged_record(self, message: Any) -> LoggedRecord:
        self._at_end = False
        offset = message.offset()
        holes = offset - max(self._next or 0, self._begin)
        self._next = offset + 1
        return logged_record(offset, message.timestamp()[1], message.value(), message.headers(), holes=holes)

    def _seek_offset(self, offset: int) -> None:
        self._current_consumer().assign([self._topic_partition(offset)])
        self._next, self._begin, self._at_end = offset, 0, False

    def _skip_to_log_start(self) -> None:
        """Continue reading at the present beginning of the log. The records before it are lost."""
        low, high = self._first_and_end_offset()
        wanted = self._next or 0
        if wanted >= low:
            self._next = None
            raise LogUnavailable(
                f"Topic {self.source.log!r} ends at sequence {high} of partition {self.source.partition}, but the lake "
                f"has {wanted}: the topic was replaced or has lost records. Headwater opens it again."
            )
        self._current_consumer().assign([self._topic_partition(low)])
        self._begin = low

    def _stop_delivery(self) -> None:
        self._current_consumer().unassign()
        self._next = None

    def _first_and_end_offset(self) -> tuple[int, int]:
        """Fetch (first offset, end offset) of the partition. The end offset equals Headwater's newest sequence."""
        with self._lock:
            try:
                low, high = self._current_consumer().get_watermark_offsets(
                    self._topic_partition(0), timeout=ASK_S, cached=False
                )
            except KafkaException as error:
                raise self._faults.unavailable_error(error.args[0]) from None
            return low, high

    def _topic_partition(self, offset: int) -> TopicPartition:
        return TopicPartition(self.source.log, int(self.source.partition), offset)

    def _current_consumer(self) -> Consumer:
        if self._consumer is None:
            self._consumer = open_consumer(self._address, self._faults.record_client_error)
        return self._consumer
