"""The kinds of event logs, by the value of the setting `log`."""

from typing import Any

from headwater.common.errors import WrongSetting
from headwater.common.registry import Registry
from headwater.intake.event_log.event_hub_kind import EventHubSettings
from headwater.intake.event_log.kafka_kind import KafkaSettings
from headwater.intake.event_log.log_kind import LogKind, LogSettings
from headwater.intake.event_log.sqlite_kind import SqliteSettings


def _instantiate_kind(name: str, found: Any) -> LogKind:
    """Return an instance of a class that implements LogKind. Raises ValueError if `found` is not such a class."""
    if not (isinstance(found, type) and LogKind in found.__mro__):
        raise ValueError(f"it is not a class that inherits from `{LogKind.__module__}.LogKind`. Write one.")
    settings = getattr(found, "settings", None)
    if not (isinstance(settings, type) and issubclass(settings, LogSettings)):
        raise ValueError(f"its `settings` is not a class that inherits from `{LogKind.__module__}.LogSettings`.")
    if getattr(found, "name", None) != name:
        raise ValueError(f"its `name` is not {name!r}. Use one name for the entry point and the class.")
    kind: LogKind = found()
    return kind


LOGS: Registry[LogKind] = Registry(
    "event log",
    "headwater.event_logs",
    {
        "sqlite": "headwater.intake.event_log.sqlite_kind:SqliteKind",
        "event_hub": "headwater.intake.event_log.event_hub_kind:EventHubKind",
        "kafka": "headwater.intake.event_log.kafka_kind:KafkaKind",
    },
    _instantiate_kind,
)


class AllLogSettings(SqliteSettings, EventHubSettings, KafkaSettings):
    """The settings of all built-in kinds."""


def log_kind(name: str) -> LogKind:
    """Return the log kind with a name.

    Raises WrongSetting if the kind is unknown, or if the package that adds it is broken.
    """
    kind = LOGS.get(name)
    if kind is None:
        raise WrongSetting(
            f"log = {name[:60]!r} is not a known event log. Use {', '.join(LOGS.names())}, or install the Python "
            "package that adds it."
        )
    return kind
