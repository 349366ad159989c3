"""The event log that the settings name, for its writer and for its readers."""

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import LogUnavailable, WrongSetting
from headwater.eventlog import Claims, Log, LogReader, Readers
from headwater.eventlog.folder_claims import FolderClaims, Leftovers
from headwater.runtime.storage import claim_limit
from headwater.settings import Settings

if TYPE_CHECKING:
    from headwater.eventlog.event_hub_clients import HubAddress
    from headwater.eventlog.kafka_clients import KafkaAddress
    from headwater.eventlog.sqlite_log import SqliteLog

log = logging.getLogger(__name__)


def open_log(settings: Settings, folder: Path, claims: Claims, on_commit: Callable[[], None] = lambda: None) -> Log:
    """Open the log for writing; the caller holds the lock `serve`. A service that is down is no error yet.

    on_commit: called when something has come into a log on our own disk; a service tells its readers itself.
    """
    match settings.log:
        case "sqlite":
            return _open_sqlite(settings, folder, claims, on_commit)
        case "event_hub":
            from headwater.eventlog.event_hub_log import EventHubLog

            return EventHubLog(
                _hub_address(settings),
                queued_bytes=settings.queued_bytes,
                forget_claims=lambda: _forget_old(claims, settings.retain_hours),
            )
        case "kafka":
            from headwater.eventlog.kafka_log import KafkaLog

            address, largest = kafka_address(settings), claim_limit(settings)
            return KafkaLog(
                address,
                queued_bytes=settings.queued_bytes,
                largest_bytes=largest,
                forget_claims=lambda: _forget_old(claims, settings.retain_hours),
            )


def import_log(settings: Settings) -> None:
    """Import what `open_log` needs, 0.3 s of an Azure SDK and as much of its identities, before somebody waits for it.

    Raises WrongSetting for a connection string that is none.
    """
    if settings.log == "kafka":
        import headwater.eventlog.kafka_log
    if settings.log == "event_hub":
        import headwater.eventlog.event_hub_log  # noqa: F401
        from headwater.eventlog.event_hub_clients import import_identity

        _hub_address(settings).host  # noqa: B018 - reads the connection string
        if settings.hub_namespace:
            import_identity()


def open_log_readers(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Open the log for reading, one reader per partition; raises LogUnavailable if a service does not name them."""
    return log_readers(settings, folder)()


def log_readers(settings: Settings, folder: Path) -> Readers:
    """Return what opens the log for reading, for a process that asks again and again."""
    match settings.log:
        case "sqlite":
            from headwater.eventlog.sqlite_reader import SqliteLogReader

            readers = [SqliteLogReader(folder / "log")]
            return lambda: readers
        case "event_hub":
            from headwater.eventlog.event_hub_reader import HubReaders

            return HubReaders(_hub_address(settings), settings.hub_consumer_group)
        case "kafka":
            from headwater.eventlog.kafka_reader import KafkaReaders

            return KafkaReaders(kafka_address(settings))


def is_log_made(settings: Settings, folder: Path) -> bool:
    """Tell whether the log is there; a log on our own disk is made by `serve`, which may still be starting."""
    from headwater.eventlog.segments import segment_files

    return settings.log != "sqlite" or bool(segment_files(folder / "log"))


def begin_log(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Let a log on our own disk, made if it is missing, go by another incarnation; a service's log has its own.

    Nothing may have the log open. Returns its readers.
    """
    if settings.log == "sqlite":
        from headwater.eventlog.segment_writer import SegmentWriter
        from headwater.eventlog.segments import rename

        (folder / "log").mkdir(mode=0o700, exist_ok=True)
        SegmentWriter(folder / "log", settings.segment_bytes).close()
        rename(folder / "log")
    return open_log_readers(settings, folder)


def _hub_address(settings: Settings) -> "HubAddress":
    from headwater.eventlog.event_hub_clients import HubAddress

    connection = settings.hub_connection
    return HubAddress(
        settings.hub_name,
        settings.hub_namespace,
        connection.get_secret_value() if connection else None,
        settings.identity_client_id,
    )


def kafka_address(settings: Settings) -> "KafkaAddress":
    """Return the address of Kafka; raises WrongSetting where its client is not installed."""
    if find_spec("confluent_kafka") is None:
        raise WrongSetting("The Python package confluent-kafka is missing. Run `pip install headwater[kafka]`.")
    from headwater.eventlog.kafka_clients import KafkaAddress

    options = {name: value.get_secret_value() for name, value in settings.kafka_options.items()}
    return KafkaAddress(settings.kafka_servers or "", settings.kafka_topic, settings.kafka_group, options)


def _open_sqlite(settings: Settings, folder: Path, claims: Claims, on_commit: Callable[[], None]) -> "SqliteLog":
    """Open the log of one machine; large bodies of no record go: their requests were never acknowledged.

    Only from our own folder: a container may be shared, and deletes by age. While a segment cannot be read they stay,
    and so does everything that retention would take.
    """
    from headwater.eventlog.sqlite_log import LogLimits, SqliteLog
    from headwater.eventlog.sqlite_reader import SqliteLogReader

    limits = LogLimits(
        settings.segment_bytes, settings.queued_bytes, settings.min_free_bytes,
        settings.retain_hours, settings.retain_bytes,
    )  # fmt: skip
    if not isinstance(claims, FolderClaims):
        return SqliteLog(folder / "log", limits, on_commit=on_commit)

    def named() -> Sequence[bytes]:
        with closing(SqliteLogReader(folder / "log")) as reader:
            return reader.claims()

    leftovers = Leftovers(claims, named)
    opened = SqliteLog(
        folder / "log", limits, on_remove=claims.remove, before_retention=leftovers.sweep, on_commit=on_commit
    )
    try:
        leftovers.sweep()
    except LogUnavailable as error:
        log.warning("Nothing is deleted before every segment of the log was read: %s", error)
    return opened


def _forget_old(claims: object, hours: float) -> None:
    """Let large bodies of our own folder go by age; a container has a rule of its own for that."""
    if isinstance(claims, FolderClaims):
        claims.forget_older(hours)
