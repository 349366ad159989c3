"""A topic of Kafka: a record an event, by an idempotent producer; events of one run stay on one partition, in order."""

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal, cast

from pydantic import Field

from headwater.errors import Retry, WrongSetting
from headwater.events.envelope import read_envelope
from headwater.sinks.sink_holdings import as_sent
from headwater.sinks.sink_options import Options, Reference, Reveal, SecretReference
from headwater.sinks.sink_shape import Outcome, Payload, SinkEvent, verbatim

_PATIENCE_S = 10.0
_TOO_LARGE = ("MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE", "RECORD_LIST_TOO_LARGE")


class KafkaOptions(Options):
    """Options of the type `kafka`."""

    type: Literal["kafka"]
    servers: str = Field(min_length=1, description="`host:port`, separated by commas.")
    topic: str = Field(pattern=r"^[a-zA-Z0-9._-]+$", description="Topic, which must be there.")
    largest_bytes: int = Field(900 << 10, gt=0, description="Largest body; below the topic's `max.message.bytes`.")
    options: dict[str, str | SecretReference] = Field(
        {}, description="Settings of librdkafka for reaching the servers, such as `security.protocol`."
    )


OPTIONS = KafkaOptions
holdings = as_sent


class KafkaTarget:
    """One topic."""

    largest = 2_000

    def __init__(self, given: KafkaOptions, reveal: Reveal) -> None:
        """Connect to nothing yet."""
        from headwater.eventlog.kafka_clients import KafkaAddress  # noqa: PLC0415 - imports an extra

        options = {
            name: reveal(value) if isinstance(value, Reference) else value for name, value in given.options.items()
        }
        self._address = KafkaAddress(given.servers, given.topic, "headwater", options)
        self._largest_bytes = given.largest_bytes
        self._producer: Any = None
        self._cause = ""

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Send events as they are; one that is too large for the topic is unfit."""
        what = f"larger than `largest_bytes`, {self._largest_bytes} bytes"
        return [
            each._replace(unfit=f"{len(each.body)} bytes, {what}") if len(each.body) > self._largest_bytes else each
            for each in verbatim(events)
        ]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Write records and wait for the brokers' acknowledgements."""
        from confluent_kafka import KafkaException  # noqa: PLC0415 - an extra

        from headwater.eventlog.kafka_clients import open_producer  # noqa: PLC0415 - imports an extra

        self._producer = self._producer or open_producer(self._address, self._largest_bytes, self._note)
        failed: dict[int, Any] = {}
        written: set[int] = set()

        def done(place: int, error: Any, _: Any) -> None:
            written.add(place)
            if error is not None:
                failed[place] = error

        for place, payload in enumerate(payloads):
            try:
                self._producer.produce(
                    self._address.topic, payload.body, read_envelope(payload.body).key.encode(),
                    on_delivery=partial(done, place),
                )  # fmt: skip
            except KafkaException as error:
                failed[place] = error.args[0]
        self._producer.flush(_PATIENCE_S)
        return self._outcome(len(payloads), failed, written)

    def check(self) -> str:
        """Ask for the topic."""
        from confluent_kafka import KafkaException  # noqa: PLC0415 - an extra

        from headwater.eventlog.kafka_clients import open_admin  # noqa: PLC0415 - imports an extra

        topic = self._address.topic
        try:
            found = open_admin(self._address, self._note).list_topics(topic, _PATIENCE_S).topics[topic]
        except KafkaException as error:
            raise Retry(self._told(error.args[0])) from error
        if found.error is not None:
            raise WrongSetting(f"{self._told(found.error)} Create the topic, or correct `topic`.")
        return f"topic {topic} has {len(found.partitions)} partitions"

    def close(self) -> None:
        """Let go of the client; what was not acknowledged is sent again by whoever comes next."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(1.0)
            self._producer = None

    def _outcome(self, count: int, failed: dict[int, Any], written: set[int]) -> Outcome:
        refused = {place: self._told(error) for place, error in failed.items() if error.name() in _TOO_LARGE}
        again = [place for place in range(count) if place not in refused and (place in failed or place not in written)]
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
        from headwater.eventlog.kafka_clients import without_secrets  # noqa: PLC0415 - imports an extra

        return f"Kafka at {self._address.servers}: {without_secrets(error.str(), self._address)}."


def open_target(options: Options, reveal: Reveal) -> KafkaTarget:
    """Open a topic; raises WrongSetting where Kafka's client is not installed."""
    if find_spec("confluent_kafka") is None:
        raise WrongSetting("The Python package confluent-kafka is missing. Run `pip install headwater[kafka]`.")
    return KafkaTarget(cast("KafkaOptions", options), reveal)
