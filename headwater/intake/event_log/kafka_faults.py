"""Explains errors of Kafka, with cause and fix. Logs each once, without secrets."""

import logging
import threading
from typing import Any

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log.kafka_clients import KafkaAddress, without_secrets

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
"""Errors that explain a cause. Timeouts and lost connections that follow from them explain less."""


class Faults:
    """The current fault, thread-safe. Logs a new fault and its end."""

    def __init__(self, address: KafkaAddress) -> None:
        """address: for messages, and for the secrets to remove from them."""
        self.trouble: str | None = None
        self.fatal = False
        self.in_doubt = threading.Event()
        self._address = address
        self._cause: Any = None
        self._said: str | None = None

    def note(self, error: Any) -> None:
        """Record an error that a client reports. Whether requests fail is unknown until the next probe."""
        self.fatal = self.fatal or error.fatal()
        if error.name() in _TELLING:
            self._cause = error
        self.in_doubt.set()

    def add(self, error: Any) -> None:
        """Record a failed operation. An error of a single record is not a fault of the log."""
        self.note(error)
        shown, kind = self.explain(error), (self._cause or error).name()
        if kind != self._said:
            self._said = kind
            log.warning("%s", shown)
        if error.name() not in _ONE_RECORD:
            self.trouble = shown

    def over(self) -> None:
        """Record a success, which ends the fault."""
        self.in_doubt.clear()
        self._cause = self.trouble = None
        if self._said:
            self._said = None
            log.info("Kafka responds again.")

    def unavailable(self, error: Any) -> LogUnavailable:
        """Return the exception for an error of librdkafka."""
        return LogUnavailable(self.explain(error))

    def explain(self, error: Any) -> str:
        """Explain an error, with its cause and fix."""
        cause = self._cause if self._cause and error.name() not in _TELLING else error
        text, address = _TEXTS.get(cause.name(), _OTHER), self._address
        why, login = without_secrets(cause.str(), address), _BY_IDENTITY if address.token_scope else _BY_OPTIONS
        named = text.format(why=why, topic=address.topic, group=address.group, login=login)
        return f"Kafka at {address.servers} {named}"
