"""Every kind of event log: a new one is a module like `kafka_kind` and its two entries here."""

from collections.abc import Mapping

from headwater.eventlog.event_hub_kind import EventHubKind, EventHubSettings
from headwater.eventlog.kafka_kind import KafkaKind, KafkaSettings
from headwater.eventlog.log_kind import LogKind
from headwater.eventlog.sqlite_kind import SqliteKind, SqliteSettings

_KINDS: tuple[LogKind, ...] = (SqliteKind(), EventHubKind(), KafkaKind())
KINDS: Mapping[str, LogKind] = {kind.name: kind for kind in _KINDS}
"""By what the setting `log` calls them."""


class SettingsOfLogs(SqliteSettings, EventHubSettings, KafkaSettings):
    """What can be set of any kind, used or not."""
