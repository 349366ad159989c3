"""The registry of log kinds. To add one, write a module like `kafka_kind` and add it here twice."""

from collections.abc import Mapping

from headwater.eventlog.event_hub_kind import EventHubKind, EventHubSettings
from headwater.eventlog.kafka_kind import KafkaKind, KafkaSettings
from headwater.eventlog.log_kind import LogKind
from headwater.eventlog.sqlite_kind import SqliteKind, SqliteSettings

_KINDS: tuple[LogKind, ...] = (SqliteKind(), EventHubKind(), KafkaKind())
KINDS: Mapping[str, LogKind] = {kind.name: kind for kind in _KINDS}
"""Log kinds by the value of the setting `log`."""


class SettingsOfLogs(SqliteSettings, EventHubSettings, KafkaSettings):
    """The settings of all log kinds."""
