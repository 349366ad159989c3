"""Open the event log that the settings select, for its writer and its readers."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from headwater.common.extras import require_extra
from headwater.intake.event_log import Claims, LakeCheck, Log, LogReader, Readers
from headwater.intake.event_log.log_registry import log_kind
from headwater.operations.runtime.storage import lake_root_and_options, open_bronze
from headwater.operations.settings import Settings


def open_log(settings: Settings, folder: Path, claims: Claims, on_commit: Callable[[], None] = lambda: None) -> Log:
    """Open the log for writing; the caller holds the lock `serve`. An unavailable service is not an error yet.

    on_commit: called after each append to a local log; a service notifies its readers itself.
    """
    kind = log_kind(settings.log)
    with require_extra(kind.extra):
        return kind.open_log(settings, folder, claims, on_commit, _make_lake_check(settings, folder))


def import_log_packages(settings: Settings) -> None:
    """Import the packages that `open_log` needs in advance; raises WrongSetting for an invalid address."""
    kind = log_kind(settings.log)
    with require_extra(kind.extra):
        kind.prepare(settings)


def open_log_readers(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Open one reader per partition; raises LogUnavailable if a service does not list its partitions."""
    return reader_opener(settings, folder)()


def reader_opener(settings: Settings, folder: Path) -> Readers:
    """Return a function that opens log readers, for a process that needs them repeatedly."""
    kind = log_kind(settings.log)
    with require_extra(kind.extra):
        return kind.readers(settings, folder)


def log_exists(settings: Settings, folder: Path) -> bool:
    """Return whether the log exists; `serve` creates a local log and may still be starting."""
    return log_kind(settings.log).is_made(folder)


def _make_lake_check(settings: Settings, folder: Path) -> LakeCheck:
    """Return the check that the log belongs to the lake of these settings."""
    name = sha256(lake_root_and_options(settings)[0].encode()).hexdigest()[:16]

    def check_log_of_lake() -> None:
        from headwater.intake.parser.log_match import check_log_belongs_to_lake

        check_log_belongs_to_lake(open_log_readers(settings, folder), open_bronze(settings))

    return LakeCheck(name, check_log_of_lake)


def renew_log_epoch(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Give a local log a new epoch, creating it if it is missing; a service's log has its own epoch.

    The log must not be open elsewhere. Returns its readers.
    """
    log_kind(settings.log).renew(settings, folder)
    return open_log_readers(settings, folder)
