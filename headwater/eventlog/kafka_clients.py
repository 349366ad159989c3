"""Clients of one Kafka topic, by librdkafka; also of an event hub at its Kafka endpoint. Importing imports the client.

What Headwater's promises rest on is set here and cannot be set otherwise; `options` add how to reach the brokers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from headwater.errors import WrongSetting

T = TypeVar("T")

TokenOfKafka = Callable[[str], tuple[str, float]]
"""What librdkafka calls, with a text that we do not use, for a token and the Unix time until which it is good."""

DELIVERY_MS = 2400
"""The receiver's deadline: what is not acknowledged by then has been answered with 503, and is not sent any more."""

OVERHEAD_BYTES = 16 << 10
"""Of a record beside its body: key, headers, the frame around a batch."""

IDLE_MS = 180_000
"""Event Hubs hangs up after four idle minutes."""

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
    """Which topic on which servers (`host:port`, separated by commas), and as which consumer group it is read.

    options: settings of librdkafka for reaching them, such as `security.protocol`, `sasl.mechanisms`.
    token_scope: of the tokens that the servers want (OAUTHBEARER); sign_in: opens what gives them, on this machine.
    """

    servers: str
    topic: str
    group: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_scope: str | None = None
    sign_in: Callable[[], TokenOfKafka] | None = field(default=None, repr=False)


def open_producer(address: KafkaAddress, largest_bytes: int, on_error: Callable[[Any], None]) -> Producer:
    """Return a client that writes bodies of at most `largest_bytes`; it connects by itself, again and again."""
    own = {**_PRODUCER, "message.max.bytes": largest_bytes + OVERHEAD_BYTES, "error_cb": on_error}
    return _open(Producer, address, {"linger.ms": 2, "socket.nagle.disable": True, **_QUICK}, own)


def open_consumer(address: KafkaAddress, on_error: Callable[[Any], None]) -> Consumer:
    """Return a client that reads from where it is told, what is committed; positions are kept in the lake, not here."""
    own = {**_CONSUMER, "group.id": address.group, "error_cb": on_error}
    memory = {"queued.max.messages.kbytes": 16 << 10, "fetch.wait.max.ms": 100, **_QUICK}
    return _open(Consumer, address, memory, own)


def open_admin(address: KafkaAddress, on_error: Callable[[Any], None]) -> AdminClient:
    """Return a client that asks about the topic."""
    return _open(AdminClient, address, _QUICK, {"error_cb": on_error})


def _open(
    client: Callable[[dict[str, Any]], T], address: KafkaAddress, defaults: Mapping[str, Any], own: Mapping[str, Any]
) -> T:
    if fixed := _OURS & address.options.keys():
        raise WrongSetting(f"`kafka_options` may not set {sorted(fixed)[0]}: Headwater sets it. Leave it out.")
    reach = {**_signing_in(address), **address.options, "bootstrap.servers": address.servers}
    wanted = {**_COMMON, **defaults, **reach, **own}
    try:
        return client(wanted)
    except KafkaException as error:
        text = without_secrets(error.args[0].str(), address)
        raise WrongSetting(f"Kafka's client does not take its settings: {text}. Correct `kafka_options`.") from None


def _signing_in(address: KafkaAddress) -> dict[str, Any]:
    if address.sign_in is None:
        return {}
    return {"security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER", "oauth_cb": address.sign_in()}


def without_secrets(text: str, address: KafkaAddress) -> str:
    """Return a text of librdkafka without any value of the options."""
    for value in address.options.values():
        if len(value) >= 4:
            text = text.replace(value, "***")
    return text.rstrip(".")
