"""Writes to a Kafka topic. An append returns after all in-sync replicas have stored the appended records."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log import Record, partition_key_of
from headwater.intake.event_log.kafka_clients import KafkaAddress, KafkaFaults, open_producer
from headwater.intake.event_log.kafka_records import headers_of

MANY = 200
"""Requests with more records are passed to the client in a thread.

Otherwise the 3 us per record would block other requests.
"""

_PROBE_S = 1.0
_POLL_S = 0.2
_CLOSE_S = 3.0


@dataclass(slots=True, eq=False)
class _KafkaRequest:
    """A request that waits until all its records are acknowledged or have failed.

    left: number of records without a result. size: bytes of the bodies. error: the first error of a record.
    """

    left: int
    size: int
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]
    error: Any = None


class KafkaLog:
    """Writes to one topic. Create one instance per process. librdkafka sends and retries in its own threads."""

    def __init__(
        self, address: KafkaAddress, *, queued_bytes: int, largest_bytes: int, forget_claims: Callable[[], None]
    ):
        """Connect in the background. Brokers that are down are not an error.

        queued_bytes: maximum bytes of bodies that wait for acknowledgement. largest_bytes: maximum bytes of one body.
        forget_claims: deletes old claims; `retain` calls it. Raises WrongSetting for options that librdkafka rejects.
        """
        self._topic = address.topic
        self._limit = queued_bytes
        self._forget_claims = forget_claims
        self._in_flight = 0
        self._lock = threading.Lock()
        self._closing = False
        self._faults = KafkaFaults(address)
        self._settled: list[_KafkaRequest] = []
        self._producer = open_producer(address, largest_bytes, self._faults.record_client_error)
        self._faults.in_doubt.set()
        self._thread = threading.Thread(target=self._poll_client, name="kafka-reports", daemon=True)
        self._thread.start()

    async def append(self, records: Sequence[Record], *, timeout_s: float) -> None:
        """Send the records, and return when all are acknowledged.

        Raises LogUnavailable if too many bytes wait, the brokers are down, they reject the records, or they do not
        acknowledge the records within the timeout. Kafka may still have stored some records. If the producer repeats
        the request, the event ids identify the duplicates.
        """
        loop = asyncio.get_running_loop()
        waiting = _KafkaRequest(len(records), sum(len(record.body) for record in records), loop, loop.create_future())
        self._check_capacity(waiting.size)
        timer = loop.call_later(timeout_s, _answer_with_timeout, waiting, timeout_s)
        try:
            if len(records) > MANY:
                await asyncio.to_thread(self._produce, records, waiting)
            else:
                self._produce(records, waiting)
            await waiting.done
        finally:
            timer.cancel()

    def unavailability_reason(self) -> str | None:
        """Return why nothing can be acknowledged right now, or None."""
        return self._faults.trouble

    def is_writing(self) -> bool:
        """Whether the client can still send.

        After a fatal error of librdkafka, the process must create another client.
        """
        return self._thread.is_alive() and not self._faults.fatal

    def retain(self, passed: Callable[[], Mapping[str, int]]) -> None:  # noqa: ARG002 - see the docstring
        """Delete old claims. `passed` is not used, because the topic deletes records after its own retention time."""
        self._forget_claims()

    async def aclose(self) -> None:
        """Send the queued records, then close the client."""
        self._closing = True
        await asyncio.to_thread(self._thread.join)

    def _check_capacity(self, size: int) -> None:
        if self._closing:
            raise LogUnavailable("Headwater is stopping. Send the event again in a moment.")
        if self._faults.trouble:  # fail fast; `_probe_during_fault` notices the end of the fault
            raise LogUnavailable(self._faults.trouble)
        with self._lock:
            if self._in_flight and self._in_flight + size > self._limit:
                raise LogUnavailable("Over capacity: too many events are waiting. Send the event again in a moment.")
            self._in_flight += size

    def _produce(self, records: Sequence[Record], waiting: _KafkaRequest) -> None:
        def delivered(error: Any, _: Any) -> None:
            self._record_delivery(waiting, error)

        for record in records:
            headers = headers_of(record)
            try:
                self._producer.produce(
                    self._topic, record.body, partition_key_of(record.key), headers=headers, on_delivery=delivered
                )
            except KafkaException as error:
                self._record_delivery(waiting, error.args[0])

    def _record_delivery(self, waiting: _KafkaRequest, error: Any) -> None:
        with self._lock:
            waiting.left -= 1
            waiting.error = waiting.error or error
            if not waiting.left:
                self._in_flight -= waiting.size
                self._settled.append(waiting)

    # The thread of delivery reports

    def _poll_client(self) -> None:
        looked = 0.0
        while not self._closing:
            self._producer.poll(_POLL_S)
            self._answer_settled()
            if self._faults.in_doubt.is_set() and time.monotonic() - looked > _PROBE_S / 2:
                self._probe_during_fault()
                looked = time.monotonic()
        self._producer.flush(_CLOSE_S)
        self._producer.purge()
        self._producer.flush(_CLOSE_S)
        self._answer_settled()

    def _probe_during_fault(self) -> None:
        """Request the topic's metadata to find out whether a fault has ended.

        Without this probe, a fault would not end while no request arrives.
        """
        try:
            found = self._producer.list_topics(self._topic, timeout=_PROBE_S).topics[self._topic]
        except KafkaException as error:
            self._producer.poll(0)  # deliver the client's error callbacks
            self._faults.record_failure(error.args[0])
        else:
            if found.error:
                self._faults.record_failure(found.error)
            else:
                self._faults.record_success()

    def _answer_settled(self) -> None:
        with self._lock:
            settled, self._settled = self._settled, []
        for waiting in settled:
            if waiting.error:
                self._faults.record_failure(waiting.error)
        if settled and not settled[0].loop.is_closed():
            settled[0].loop.call_soon_threadsafe(_answer_requests, settled, self._faults)


def _answer_requests(settled: Sequence[_KafkaRequest], faults: KafkaFaults) -> None:
    for waiting in settled:
        if waiting.done.done():
            continue
        if waiting.error:
            waiting.done.set_exception(faults.unavailable_error(waiting.error))
        else:
            waiting.done.set_result(None)


def _answer_with_timeout(waiting: _KafkaRequest, timeout_s: float) -> None:
    if not waiting.done.done():
        waiting.done.set_exception(
            LogUnavailable(f"Kafka did not acknowledge within {timeout_s:.1f} s. Send the event again.")
        )
