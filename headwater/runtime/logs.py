"""The event log that the settings name, for its writer and for its readers."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from headwater.eventlog import Claims, LakeCheck, Log, LogReader, Readers
from headwater.eventlog.log_registry import KINDS
from headwater.extras import extra
from headwater.runtime.storage import lake_place, open_bronze
from headwater.settings import Settings


def open_log(settings: Settings, folder: Path, claims: Claims, on_commit: Callable[[], None] = lambda: None) -> Log:
    """Open the log for writing; the caller holds the lock `serve`. A service that is down is no error yet.

    on_commit: called when something has come into a log on our own disk; a service tells its readers itself.
    """
    kind = KINDS[settings.log]
    with extra(kind.extra):
        return kind.open_log(settings, folder, claims, on_commit, _lake_check(settings, folder))


def import_log(settings: Settings) -> None:
    """Import what `open_log` needs before somebody waits for it; raises WrongSetting for an address that is none."""
    kind = KINDS[settings.log]
    with extra(kind.extra):
        kind.prepare(settings)


def open_log_readers(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Open the log for reading, one reader per partition; raises LogUnavailable if a service does not name them."""
    return log_readers(settings, folder)()


def log_readers(settings: Settings, folder: Path) -> Readers:
    """Return what opens the log for reading, for a process that asks again and again."""
    kind = KINDS[settings.log]
    with extra(kind.extra):
        return kind.readers(settings, folder)


def is_log_made(settings: Settings, folder: Path) -> bool:
    """Tell whether the log is there; a log on our own disk is made by `serve`, which may still be starting."""
    return KINDS[settings.log].is_made(folder)


def _lake_check(settings: Settings, folder: Path) -> LakeCheck:
    """Return what holds the log against the lake of these settings."""
    name = sha256(lake_place(settings)[0].encode()).hexdigest()[:16]

    def check() -> None:
        from headwater.parser.log_match import check_log_is_of_lake

        check_log_is_of_lake(open_log_readers(settings, folder), open_bronze(settings))

    return LakeCheck(name, check)


def begin_log(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Let a log on our own disk, made if it is missing, go by another epoch; a service's log has its own.

    Nothing may have the log open. Returns its readers.
    """
    KINDS[settings.log].renew(settings, folder)
    return open_log_readers(settings, folder)
