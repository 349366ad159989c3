"""Every kind of event log: a new one is a module like `kafka_kind`, its entry here, and its settings in `Settings`."""

from collections.abc import Mapping

from headwater.eventlog.event_hub_kind import EventHubKind
from headwater.eventlog.kafka_kind import KafkaKind
from headwater.eventlog.log_kind import LogKind
from headwater.eventlog.sqlite_kind import SqliteKind

_KINDS: tuple[LogKind, ...] = (SqliteKind(), EventHubKind(), KafkaKind())
KINDS: Mapping[str, LogKind] = {kind.name: kind for kind in _KINDS}
"""By what the setting `log` calls them."""
