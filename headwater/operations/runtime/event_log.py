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
    """Open the log for writing. The caller must hold the lock `serve`.

    An unavailable log service does not raise an error here, but when events are appended. on_commit: called after each
    append to a local log. A log service notifies its readers itself.
    """
    kind = log_kind(settings.log)
    with require_extra(kind.extra):
        return kind.open_log(settings, folder, claims, on_commit, _make_lake_check(settings, folder))


def import_log_packages(settings: Settings) -> None:
    """Import the packages that `open_log` needs, so that the first request does not wait for them.

    Raises WrongSetting if the address of the log is invalid.
    """
    kind = log_kind(settings.log)
    with require_extra(kind.extra):
        kind.prepare(settings)


def open_log_readers(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Open one reader per partition. Raises LogUnavailable if a log service does not list its partitions."""
    return reader_opener(settings, folder)()


def reader_opener(settings: Settings, folder: Path) -> Readers:
    """Return a function that opens log readers, for a process that needs them repeatedly."""
    kind = log_kind(settings.log)
    with require_extra(kind.extra):
        return kind.reader_opener(settings, folder)


def log_exists(settings: Settings, folder: Path) -> bool:
    """Return whether the log exists. The process `serve` creates a local log when it starts."""
    return log_kind(settings.log).log_exists(folder)


def _make_lake_check(settings: Settings, folder: Path) -> LakeCheck:
    """Return the check that the log belongs to the lake of these settings, with a name that identifies the lake."""
    name = sha256(lake_root_and_options(settings)[0].encode()).hexdigest()[:16]

    def check_log_of_lake() -> None:
        from headwater.intake.parser.log_match import check_log_belongs_to_lake

        check_log_belongs_to_lake(open_log_readers(settings, folder), open_bronze(settings))

    return LakeCheck(name, check_log_of_lake)


def renew_log_epoch(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Give a local log a new epoch, and return readers of the log. A missing local log is created.

    The epoch of a log service does not change. The log must not be open elsewhere.
    """
    log_kind(settings.log).begin_new_epoch(settings, folder)
    return open_log_readers(settings, folder)
