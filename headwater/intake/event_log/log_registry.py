"""The registry of log kinds. To add one, write a module like `kafka_kind` and add it here twice."""

from collections.abc import Mapping

from headwater.intake.event_log.event_hub_kind import EventHubKind, EventHubSettings
from headwater.intake.event_log.kafka_kind import KafkaKind, KafkaSettings
from headwater.intake.event_log.log_kind import LogKind
from headwater.intake.event_log.sqlite_kind import SqliteKind, SqliteSettings

_KINDS: tuple[LogKind, ...] = (SqliteKind(), EventHubKind(), KafkaKind())
KINDS: Mapping[str, LogKind] = {kind.name: kind for kind in _KINDS}
"""Log kinds by the value of the setting `log`."""


class SettingsOfLogs(SqliteSettings, EventHubSettings, KafkaSettings):
    """The settings of all log kinds."""
