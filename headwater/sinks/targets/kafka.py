"""Write events to a Kafka topic with an idempotent producer: one record per event, with the run as key."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from pydantic import Field

from headwater.common.extras import require_extra
from headwater.events.envelope import read_envelope
from headwater.sinks.interface.options import Options, SecretReference, SecretResolver, resolve_secrets
from headwater.sinks.interface.shape import Outcome, Payload, SinkEvent, unchanged_payloads
from headwater.sinks.interface.support import full_support

if TYPE_CHECKING:
    from headwater.sinks.connecting.kafka_topic import KafkaTopic


KafkaSettings = dict[str, str | SecretReference]


class KafkaOptions(Options):
    """Options of the type `kafka`."""

    type: Literal["kafka"]
    servers: str = Field(min_length=1, description="`host:port`, separated by commas.")
    topic: str = Field(pattern=r"^[a-zA-Z0-9._-]+$", description="Topic, which must exist.")
    largest_bytes: int = Field(900 << 10, gt=0, description="Largest body; below the topic's `max.message.bytes`.")
    options: KafkaSettings = Field(
        {}, description="Settings of librdkafka for the connection, such as `security.protocol`."
    )


OPTIONS = KafkaOptions
support_table = full_support


class KafkaTarget:
    """A target that writes to one topic."""

    largest = 2_000

    def __init__(self, topic: "KafkaTopic", largest_bytes: int) -> None:
        self._topic = topic
        self._largest_bytes = largest_bytes

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Return unchanged events; an event that is too large for the topic is unfit."""
        what = f"larger than `largest_bytes`, {self._largest_bytes} bytes"
        return [
            each._replace(unfit=f"{len(each.body)} bytes, {what}") if len(each.body) > self._largest_bytes else each
            for each in unchanged_payloads(events)
        ]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Write records and wait for the brokers' acknowledgements."""
        from headwater.sinks.connecting.kafka_topic import KafkaRecord  # noqa: PLC0415 - imports an extra

        records = [
            KafkaRecord(place, read_envelope(each.body).key.encode(), each.body) for place, each in enumerate(payloads)
        ]
        return self._topic.write_records(records, len(payloads))

    def check(self) -> str:
        """Request the topic's metadata."""
        return self._topic.check()

    def close(self) -> None:
        """Close the producer."""
        self._topic.close()


def open_target(options: Options, reveal: SecretResolver) -> KafkaTarget:
    """Return the target; raises WrongSetting if the Kafka client is not installed."""
    given = cast("KafkaOptions", options)
    return KafkaTarget(
        kafka_topic(given.servers, given.topic, given.options, given.largest_bytes, reveal), given.largest_bytes
    )


def kafka_topic(
    servers: str, topic: str, settings: Mapping[str, str | SecretReference], largest_bytes: int, reveal: SecretResolver
) -> "KafkaTopic":
    """Return a topic without connecting; raises WrongSetting if the Kafka client is not installed."""
    with require_extra("kafka"):
        from headwater.intake.event_log.kafka_clients import KafkaAddress  # noqa: PLC0415 - imports an extra
        from headwater.sinks.connecting.kafka_topic import KafkaTopic  # noqa: PLC0415 - imports an extra

    return KafkaTopic(KafkaAddress(servers, topic, "headwater", resolve_secrets(settings, reveal)), largest_bytes)
