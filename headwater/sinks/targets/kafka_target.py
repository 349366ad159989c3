"""A topic of Kafka: a record an event, by an idempotent producer; events of one run stay on one partition, in order."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from pydantic import Field

from headwater.events.envelope import read_envelope
from headwater.extras import extra
from headwater.sinks.contract.sink_holdings import as_sent
from headwater.sinks.contract.sink_options import Options, Reveal, SecretReference, revealed
from headwater.sinks.contract.sink_shape import Outcome, Payload, SinkEvent, verbatim

if TYPE_CHECKING:
    from headwater.sinks.targets.kafka_topic import KafkaTopic

KafkaSettings = dict[str, str | SecretReference]


class KafkaOptions(Options):
    """Options of the type `kafka`."""

    type: Literal["kafka"]
    servers: str = Field(min_length=1, description="`host:port`, separated by commas.")
    topic: str = Field(pattern=r"^[a-zA-Z0-9._-]+$", description="Topic, which must be there.")
    largest_bytes: int = Field(900 << 10, gt=0, description="Largest body; below the topic's `max.message.bytes`.")
    options: KafkaSettings = Field(
        {}, description="Settings of librdkafka for reaching the servers, such as `security.protocol`."
    )


OPTIONS = KafkaOptions
holdings = as_sent


class KafkaTarget:
    """One topic."""

    largest = 2_000

    def __init__(self, topic: "KafkaTopic", largest_bytes: int) -> None:
        """Connect to nothing yet."""
        self._topic = topic
        self._largest_bytes = largest_bytes

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Send events as they are; one that is too large for the topic is unfit."""
        what = f"larger than `largest_bytes`, {self._largest_bytes} bytes"
        return [
            each._replace(unfit=f"{len(each.body)} bytes, {what}") if len(each.body) > self._largest_bytes else each
            for each in verbatim(events)
        ]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Write records and wait for the brokers' acknowledgements."""
        from headwater.sinks.targets.kafka_topic import KafkaRecord  # noqa: PLC0415 - imports an extra

        records = [
            KafkaRecord(place, read_envelope(each.body).key.encode(), each.body) for place, each in enumerate(payloads)
        ]
        return self._topic.write(records, len(payloads))

    def check(self) -> str:
        """Ask for the topic."""
        return self._topic.check()

    def close(self) -> None:
        """Let go of the client."""
        self._topic.close()


def open_target(options: Options, reveal: Reveal) -> KafkaTarget:
    """Open a topic; raises WrongSetting where Kafka's client is not installed."""
    given = cast("KafkaOptions", options)
    return KafkaTarget(
        open_topic(given.servers, given.topic, given.options, given.largest_bytes, reveal), given.largest_bytes
    )


def open_topic(
    servers: str, topic: str, settings: Mapping[str, str | SecretReference], largest_bytes: int, reveal: Reveal
) -> "KafkaTopic":
    """Open a topic, which connects to nothing yet; raises WrongSetting where Kafka's client is not installed."""
    with extra("kafka"):
        from headwater.eventlog.kafka_clients import KafkaAddress  # noqa: PLC0415 - imports an extra
        from headwater.sinks.targets.kafka_topic import KafkaTopic  # noqa: PLC0415 - imports an extra

    return KafkaTopic(KafkaAddress(servers, topic, "headwater", revealed(settings, reveal)), largest_bytes)
