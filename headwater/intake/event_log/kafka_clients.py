"""Clients of one Kafka topic (librdkafka), or of an event hub's Kafka endpoint. Importing this imports the client.

The settings here guarantee durability and cannot be overridden; `options` add how to reach the brokers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from headwater.common.errors import WrongSetting

T = TypeVar("T")

TokenOfKafka = Callable[[str], tuple[str, float]]
"""The token callback of librdkafka: takes an unused text, returns a token and its expiry (Unix time)."""

DELIVERY_MS = 2400
"""The receiver's deadline. It answers 503 afterwards, so the client stops sending."""

OVERHEAD_BYTES = 16 << 10
"""Size of a record in addition to its body: key, headers and batch frame."""

IDLE_MS = 180_000
"""Event Hubs closes connections after four idle minutes."""

_COMMON = {"client.id": "headwater", "log_level": 0, "connections.max.idle.ms": IDLE_MS}
_QUICK = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500}
_PRODUCER = {
    "acks": "all",
    "enable.idempotence": True,
    "message.timeout.ms": DELIVERY_MS,
    "queue.buffering.max.messages": 0,
    "partitioner": "murmur2_random",
}
_CONSUMER = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
}
_OURS = frozenset({"bootstrap.servers", "group.id", "message.max.bytes", *_PRODUCER, *_CONSUMER})


@dataclass(frozen=True)
class KafkaAddress:
    """A topic, its servers (`host:port`, separated by commas), and the consumer group for reading.

    options: settings of librdkafka for reaching the servers, such as `security.protocol` and `sasl.mechanisms`.
    token_scope: scope of the tokens that the servers require (OAUTHBEARER); sign_in: returns the token callback.
    """

    servers: str
    topic: str
    group: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_scope: str | None = None
    sign_in: Callable[[], TokenOfKafka] | None = field(default=None, repr=False)


def open_producer(address: KafkaAddress, largest_bytes: int, on_error: Callable[[Any], None]) -> Producer:
    """Return a producer of bodies up to `largest_bytes`. It connects and reconnects automatically."""
    own = {**_PRODUCER, "message.max.bytes": largest_bytes + OVERHEAD_BYTES, "error_cb": on_error}
    return _open(Producer, address, {"linger.ms": 2, "socket.nagle.disable": True, **_QUICK}, own)


def open_consumer(address: KafkaAddress, on_error: Callable[[Any], None]) -> Consumer:
    """Return a consumer that reads committed records from given offsets. The lake stores the positions, not Kafka."""
    own = {**_CONSUMER, "group.id": address.group, "error_cb": on_error}
    memory = {"queued.max.messages.kbytes": 16 << 10, "fetch.wait.max.ms": 100, **_QUICK}
    return _open(Consumer, address, memory, own)


def open_admin(address: KafkaAddress, on_error: Callable[[Any], None]) -> AdminClient:
    """Return a client for metadata of the topic."""
    return _open(AdminClient, address, _QUICK, {"error_cb": on_error})


def _open(
    client: Callable[[dict[str, Any]], T], address: KafkaAddress, defaults: Mapping[str, Any], own: Mapping[str, Any]
) -> T:
    if fixed := _OURS & address.options.keys():
        raise WrongSetting(
            f"`kafka_options` must not contain {sorted(fixed)[0]}, because Headwater sets it. Remove it."
        )
    reach = {**_signing_in(address), **address.options, "bootstrap.servers": address.servers}
    wanted = {**_COMMON, **defaults, **reach, **own}
    try:
        return client(wanted)
    except KafkaException as error:
        text = without_secrets(error.args[0].str(), address)
        raise WrongSetting(f"The Kafka client rejects its settings: {text}. Correct `kafka_options`.") from None


def _signing_in(address: KafkaAddress) -> dict[str, Any]:
    if address.sign_in is None:
        return {}
    return {"security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER", "oauth_cb": address.sign_in()}


def without_secrets(text: str, address: KafkaAddress) -> str:
    """Remove the values of the options, which may be secrets, from a message of librdkafka."""
    for value in address.options.values():
        if len(value) >= 4:
            text = text.replace(value, "***")
    return text.rstrip(".")
