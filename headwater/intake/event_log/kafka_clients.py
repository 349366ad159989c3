"""Clients of one Kafka topic (librdkafka), or of an event hub's Kafka endpoint.

Importing this module imports librdkafka. The settings in this module guarantee durability and cannot be overridden.
`KafkaAddress.options` contains only settings for reaching the brokers. Errors are explained with cause and fix, and
each fault is logged once, without secrets.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from headwater.common.errors import LogUnavailable, WrongSetting

T = TypeVar("T")

TokenOfKafka = Callable[[str], tuple[str, float]]
"""The token callback of librdkafka.

It receives a text that it ignores, and returns (token, expiry as Unix time in seconds).
"""

DELIVERY_MS = 2400
"""The receiver's deadline (ms). After it, the receiver has answered 503, so the client stops sending the records."""

OVERHEAD_BYTES = 16 << 10
"""Bytes that a record needs in addition to its body: key, headers and batch frame."""

IDLE_MS = 180_000
"""The client closes idle connections after this time (ms), because Event Hubs closes them after four minutes."""

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
    token_scope: scope of the tokens that the servers require (OAUTHBEARER), or None. sign_in: returns the token
    callback; None if the servers require no tokens.
    """

    servers: str
    topic: str
    group: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_scope: str | None = None
    sign_in: Callable[[], TokenOfKafka] | None = field(default=None, repr=False)


def open_producer(address: KafkaAddress, largest_bytes: int, on_error: Callable[[Any], None]) -> Producer:
    """Return a producer of records with bodies up to `largest_bytes`.

    The producer connects and reconnects automatically. on_error: receives each error that librdkafka reports.
    """
    own = {**_PRODUCER, "message.max.bytes": largest_bytes + OVERHEAD_BYTES, "error_cb": on_error}
    return _open_client(Producer, address, {"linger.ms": 2, "socket.nagle.disable": True, **_QUICK}, own)


def open_consumer(address: KafkaAddress, on_error: Callable[[Any], None]) -> Consumer:
    """Return a consumer that reads committed records from given offsets.

    The consumer commits no offsets to Kafka, because the lake stores the positions.
    """
    own = {**_CONSUMER, "group.id": address.group, "error_cb": on_error}
    memory = {"queued.max.messages.kbytes": 16 << 10, "fetch.wait.max.ms": 100, **_QUICK}
    return _open_client(Consumer, address, memory, own)


def open_admin(address: KafkaAddress, on_error: Callable[[Any], None]) -> AdminClient:
    """Return a client for metadata of the topic."""
    return _open_client(AdminClient, address, _QUICK, {"error_cb": on_error})


def _open_client(
    client: Callable[[dict[str, Any]], T],
    address: KafkaAddress,
    defaults: Mapping[str, Any],
    overrides: Mapping[str, Any],
) -> T:
    if fixed := _OURS & address.options.keys():
        raise WrongSetting(
            f"`kafka_options` must not contain {sorted(fixed)[0]}, because Headwater sets it. Remove it."
        )
    reach = {**_sign_in_options(address), **address.options, "bootstrap.servers": address.servers}
    wanted = {**_COMMON, **defaults, **reach, **overrides}
    try:
        return client(wanted)
    except KafkaException as error:
        text = without_secrets(error.args[0].str(), address)
        raise WrongSetting(f"The Kafka client rejects its settings: {text}. Correct `kafka_options`.") from None


def _sign_in_options(address: KafkaAddress) -> dict[str, Any]:
    if address.sign_in is None:
        return {}
    return {"security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER", "oauth_cb": address.sign_in()}


def without_secrets(text: str, address: KafkaAddress) -> str:
    """Replace the values of `options`, which may be secrets, in a message of librdkafka."""
    for value in address.options.values():
        if len(value) >= 4:
            text = text.replace(value, "***")
    return text.rstrip(".")


log = logging.getLogger(__name__)

_FIXES = {
    "rejects the credentials: {why}. {login}.": (
        "_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "_SSL", "UNSUPPORTED_SASL_MECHANISM",
    ),
    "does not allow access to the topic: {why}. Allow this user to write, read and describe topic {topic!r}, and to "
    "read as group {group!r}; for an event hub, assign the roles Azure Event Hubs Data Sender and Data Receiver.": (
        "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED",
    ),
    "has no topic {topic!r}. Create it, or correct `kafka_topic`.": (
        "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_ID",
    ),
    "rejects a record of this size. Set `claim_bytes` to 16 KiB less than its message.max.bytes.": (
        "MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE", "RECORD_LIST_TOO_LARGE",
    ),
    "has too few in-sync replicas to store a record safely. Restart its brokers.": (
        "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    ),
    "did not answer in time. Send the event again, and check that its brokers run.": (
        "_MSG_TIMED_OUT", "_TIMED_OUT", "_TIMED_OUT_QUEUE", "REQUEST_TIMED_OUT",
    ),
    "cannot be reached: {why}. Check `kafka_servers`, and that its brokers run.": (
        "_TRANSPORT", "_RESOLVE", "_ALL_BROKERS_DOWN", "_DESTROY_BROKER", "NETWORK_EXCEPTION",
    ),
}  # fmt: skip
_BY_OPTIONS = "Correct `kafka_options`"
_BY_IDENTITY = "Check that `kafka_token_scope` belongs to these servers, and that they know this identity"
_TEXTS = {name: text for text, names in _FIXES.items() for name in names}
_ONE_RECORD = {"MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE"}
_OTHER = "failed: {why}. Headwater tries again."
_TELLING = {name for text, names in list(_FIXES.items())[:3] for name in names} | {"_RESOLVE"}
"""Names of errors that explain a cause.

They are shown instead of the timeouts and lost connections that they lead to.
"""


class KafkaFaults:
    """The current fault of the Kafka clients. Logs when a fault begins and when it ends. Thread-safe."""

    def __init__(self, address: KafkaAddress) -> None:
        """address: shown in messages; its option values are removed from them."""
        self.trouble: str | None = None
        self.fatal = False
        self.in_doubt = threading.Event()
        self._address = address
        self._cause: Any = None
        self._logged_kind: str | None = None

    def record_client_error(self, error: Any) -> None:
        """Record an error that a client reports.

        Sets `in_doubt`, because only the next probe shows whether requests fail.
        """
        self.fatal = self.fatal or error.fatal()
        if error.name() in _TELLING:
            self._cause = error
        self.in_doubt.set()

    def record_failure(self, error: Any) -> None:
        """Record a failed operation, which begins a fault.

        An error of a single record, such as its size, begins no fault.
        """
        self.record_client_error(error)
        shown, kind = self.explain_error(error), (self._cause or error).name()
        if kind != self._logged_kind:
            self._logged_kind = kind
            log.warning("%s", shown)
        if error.name() not in _ONE_RECORD:
            self.trouble = shown

    def record_success(self) -> None:
        """Record a successful operation, which ends the fault."""
        self.in_doubt.clear()
        self._cause = self.trouble = None
        if self._logged_kind:
            self._logged_kind = None
            log.info("Kafka responds again.")

    def unavailable_error(self, error: Any) -> LogUnavailable:
        """Return the exception for an error of librdkafka."""
        return LogUnavailable(self.explain_error(error))

    def explain_error(self, error: Any) -> str:
        """Explain an error, with its cause and fix."""
        cause = self._cause if self._cause and error.name() not in _TELLING else error
        text, address = _TEXTS.get(cause.name(), _OTHER), self._address
        why, login = without_secrets(cause.str(), address), _BY_IDENTITY if address.token_scope else _BY_OPTIONS
        named = text.format(why=why, topic=address.topic, group=address.group, login=login)
        return f"Kafka at {address.servers} {named}"
