"""What went wrong with Kafka: one cause, one thing to do; said once, and never with a secret."""

import logging
import threading
from typing import Any

from headwater.errors import LogUnavailable
from headwater.eventlog.kafka_clients import KafkaAddress, without_secrets

log = logging.getLogger(__name__)

_FIXES = {
    "does not take our credentials: {why}. {login}.": (
        "_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "_SSL", "UNSUPPORTED_SASL_MECHANISM",
    ),
    "does not let us use the topic: {why}. Allow this user to write, read and describe topic {topic!r}, and to read as "
    "group {group!r}; of an event hub that is the roles Azure Event Hubs Data Sender and Data Receiver.": (
        "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED",
    ),
    "has no topic {topic!r}. Create it, or correct `kafka_topic`.": (
        "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_ID",
    ),
    "takes no record as large as this one. Set `claim_bytes` 16 KiB below its message.max.bytes.": (
        "MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE", "RECORD_LIST_TOO_LARGE",
    ),
    "has too few replicas in step to keep a record safe. Bring its brokers back.": (
        "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    ),
    "did not answer in time. Send the event again; see that its brokers run.": (
        "_MSG_TIMED_OUT", "_TIMED_OUT", "_TIMED_OUT_QUEUE", "REQUEST_TIMED_OUT",
    ),
    "cannot be reached: {why}. Check `kafka_servers`, and that its brokers run.": (
        "_TRANSPORT", "_RESOLVE", "_ALL_BROKERS_DOWN", "_DESTROY_BROKER", "NETWORK_EXCEPTION",
    ),
}  # fmt: skip
_BY_OPTIONS = "Correct `kafka_options`"
_BY_IDENTITY = "See that `kafka_token_scope` is that of these servers, and that they know this identity"
_TEXTS = {name: text for text, names in _FIXES.items() for name in names}
_ONE_RECORD = {"MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE"}
_OTHER = "failed: {why}. It is tried again."
_TELLING = {name for text, names in list(_FIXES.items())[:3] for name in names} | {"_RESOLVE"}
"""Errors that say more than the timeout or the lost connection that follows from them."""


class Faults:
    """Keeps what is wrong at present, from any thread; a new trouble and its end are logged."""

    def __init__(self, address: KafkaAddress) -> None:
        """Nothing is wrong yet."""
        self.trouble: str | None = None
        self.fatal = False
        self.in_doubt = threading.Event()
        self._address = address
        self._cause: Any = None
        self._said: str | None = None

    def note(self, error: Any) -> None:
        """Keep what a client reports by itself; whether anything can be done is to be seen."""
        self.fatal = self.fatal or error.fatal()
        if error.name() in _TELLING:
            self._cause = error
        self.in_doubt.set()

    def add(self, error: Any) -> None:
        """Take note of something that could not be done; what concerns one record only is no trouble of the others."""
        self.note(error)
        shown, kind = self.explain(error), (self._cause or error).name()
        if kind != self._said:
            self._said = kind
            log.warning("%s", shown)
        if error.name() not in _ONE_RECORD:
            self.trouble = shown

    def over(self) -> None:
        """Take note of a success."""
        self.in_doubt.clear()
        self._cause = self.trouble = None
        if self._said:
            self._said = None
            log.info("Kafka answers again.")

    def unavailable(self, error: Any) -> LogUnavailable:
        """Return what to raise for an error of librdkafka."""
        return LogUnavailable(self.explain(error))

    def explain(self, error: Any) -> str:
        """Say what an error means and what to do."""
        cause = self._cause if self._cause and error.name() not in _TELLING else error
        text, address = _TEXTS.get(cause.name(), _OTHER), self._address
        why, login = without_secrets(cause.str(), address), _BY_IDENTITY if address.token_scope else _BY_OPTIONS
        named = text.format(why=why, topic=address.topic, group=address.group, login=login)
        return f"Kafka at {address.servers} {named}"
