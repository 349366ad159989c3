"""One topic that is written: records by an idempotent producer, and what became of them."""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaException

from headwater.errors import Retry, WrongSetting
from headwater.eventlog.kafka_clients import KafkaAddress, open_admin, open_producer, without_secrets
from headwater.sinks.contract.sink_shape import Outcome

PATIENCE_S = 10.0
_TOO_LARGE = ("MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE", "RECORD_LIST_TOO_LARGE")


class KafkaRecord(NamedTuple):
    """A record, and the place of the payload that it is part of."""

    place: int
    key: bytes
    value: bytes


class KafkaTopic:
    """A topic by one producer at a time."""

    def __init__(self, address: KafkaAddress, largest_bytes: int) -> None:
        """Connect to nothing yet. largest_bytes: of a record."""
        self._address = address
        self._largest_bytes = largest_bytes
        self._producer: Any = None
        self._cause = ""

    def write(self, records: Iterable[KafkaRecord], count: int, patience_s: float = PATIENCE_S) -> Outcome:
        """Write records of `count` payloads and wait for the brokers; a payload arrived if all its records did."""
        self._producer = self._producer or open_producer(self._address, self._largest_bytes, self._note)
        failed: dict[int, Any] = {}
        waiting = [0] * count

        def done(place: int, error: Any, _: Any) -> None:
            waiting[place] -= 1
            if error is not None:
                failed[place] = error

        for place, key, value in records:
            try:
                self._producer.produce(self._address.topic, value, key, on_delivery=partial(done, place))
                waiting[place] += 1
            except KafkaException as error:
                failed[place] = error.args[0]
        self._producer.flush(patience_s)
        return self._outcome(failed, waiting)

    def check(self) -> str:
        """Ask for the topic; raises Retry or WrongSetting."""
        topic = self._address.topic
        try:
            found = open_admin(self._address, self._note).list_topics(topic, PATIENCE_S).topics[topic]
        except KafkaException as error:
            raise Retry(self._told(error.args[0])) from error
        if found.error is not None:
            raise WrongSetting(f"{self._told(found.error)} Create the topic, or correct its name.")
        return f"topic {topic} has {len(found.partitions)} partitions"

    def close(self) -> None:
        """Let go of the client; what was not acknowledged is sent again by whoever comes next."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(1.0)
            self._producer = None

    def _outcome(self, failed: dict[int, Any], waiting: list[int]) -> Outcome:
        refused = {place: self._told(error) for place, error in failed.items() if error.name() in _TOO_LARGE}
        again = [place for place, left in enumerate(waiting) if place not in refused and (place in failed or left)]
        if not again:
            self._cause = ""
            return Outcome(refused=refused)
        trouble = next((self._told(failed[place]) for place in again if place in failed), "")
        self.close()  # what is on its way must not arrive behind what is sent next; a fatal error ends a client anyway
        return Outcome(refused, again, self._cause or trouble or f"Kafka at {self._address.servers} did not answer.")

    def _note(self, error: Any) -> None:
        """Keep what the client says by itself: it tells more than the timeouts that follow from it."""
        self._cause = self._told(error)

    def _told(self, error: Any) -> str:
        return f"Kafka at {self._address.servers}: {without_secrets(error.str(), self._address)}."
