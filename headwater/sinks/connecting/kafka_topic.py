"""Write records to one Kafka topic with an idempotent producer, and report the outcome."""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaException

from headwater.common.errors import Retry, WrongSetting
from headwater.intake.event_log.kafka_clients import KafkaAddress, open_admin, open_producer, without_secrets
from headwater.sinks.interface.shape import Outcome

PATIENCE_S = 10.0
_TOO_LARGE = ("MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE", "RECORD_LIST_TOO_LARGE")


class KafkaRecord(NamedTuple):
    """A Kafka record. place: index of the payload that the record belongs to."""

    place: int
    key: bytes
    value: bytes


class KafkaTopic:
    """A topic with at most one open producer."""

    def __init__(self, address: KafkaAddress, largest_bytes: int) -> None:
        """largest_bytes: maximum size of a record in bytes."""
        self._address = address
        self._largest_bytes = largest_bytes
        self._producer: Any = None
        self._cause = ""

    def write_records(self, records: Iterable[KafkaRecord], count: int, patience_s: float = PATIENCE_S) -> Outcome:
        """Write the records of `count` payloads, and wait at most `patience_s` seconds until the brokers confirm them.

        A payload counts as delivered when the brokers have confirmed all its records.
        """
        self._producer = self._producer or open_producer(self._address, self._largest_bytes, self._on_error)
        failed: dict[int, Any] = {}
        waiting = [0] * count

        def on_delivery(place: int, error: Any, _: Any) -> None:
            waiting[place] -= 1
            if error is not None:
                failed[place] = error

        for place, key, value in records:
            try:
                self._producer.produce(self._address.topic, value, key, on_delivery=partial(on_delivery, place))
                waiting[place] += 1
            except KafkaException as error:
                failed[place] = error.args[0]
        self._producer.flush(patience_s)
        return self._delivery_outcome(failed, waiting)

    def check(self) -> str:
        """Request the topic's metadata; raises Retry without a response, WrongSetting if the topic has an error."""
        topic = self._address.topic
        try:
            found = open_admin(self._address, self._on_error).list_topics(topic, PATIENCE_S).topics[topic]
        except KafkaException as error:
            raise Retry(self._error_text(error.args[0])) from error
        if found.error is not None:
            raise WrongSetting(f"{self._error_text(found.error)} Create the topic, or correct its name.")
        return f"topic {topic} has {len(found.partitions)} partitions"

    def close(self) -> None:
        """Close the producer; the sink sends unacknowledged records again later."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(1.0)
            self._producer = None

    def _delivery_outcome(self, failed: dict[int, Any], waiting: list[int]) -> Outcome:
        refused = {place: self._error_text(error) for place, error in failed.items() if error.name() in _TOO_LARGE}
        again = [place for place, left in enumerate(waiting) if place not in refused and (place in failed or left)]
        if not again:
            self._cause = ""
            return Outcome(refused=refused)
        trouble = next((self._error_text(failed[place]) for place in again if place in failed), "")
        self.close()  # outstanding records must not arrive after the next attempt; fatal errors need a new client
        return Outcome(refused, again, self._cause or trouble or f"No response from Kafka at {self._address.servers}.")

    def _on_error(self, error: Any) -> None:
        """Store the error that the client reports, because it explains more than the timeouts that it causes."""
        self._cause = self._error_text(error)

    def _error_text(self, error: Any) -> str:
        return f"Kafka at {self._address.servers}: {without_secrets(error.str(), self._address)}."
