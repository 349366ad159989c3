"""The log kind `sqlite`: a log on the local disk."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from pydantic import Field

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log import Claims, LakeCheck, Log, Readers
from headwater.intake.event_log.folder_claims import FolderClaims, OrphanedClaims
from headwater.intake.event_log.log_kind import LogKind, LogSettings


class SqliteSettings(LogSettings):
    """The disk usage of the log."""

    segment_bytes: int = Field(256 << 20, gt=0, le=1 << 60, description="Size at which a log segment is closed.")
    min_free_bytes: int = Field(
        256 << 20, ge=0, le=1 << 60, description="Free disk space below which requests get 503."
    )
    retain_bytes: int = Field(
        4 << 30,
        ge=0,
        le=1 << 60,
        description="Headwater deletes the oldest parsed segments while the log is larger than this.",
    )


def orphaned_claims(folder: Path, claims: FolderClaims) -> OrphanedClaims:
    """Return an object that finds and deletes stored claims to which no record refers.

    Requests with such claims were never acknowledged.
    """
    from headwater.intake.event_log.sqlite_reader import SqliteLogReader

    def referenced_keys() -> Sequence[bytes]:
        with closing(SqliteLogReader(folder / "log")) as reader:
            return reader.referenced_claim_keys()

    return OrphanedClaims(claims, referenced_keys)


class SqliteKind(LogKind):
    """SQLite files in the folder `log`, for one machine."""

    name = "sqlite"
    settings = SqliteSettings
    extra = "server"
    claim_bytes = 1 << 20

    def open_log(
        self, settings: SqliteSettings, folder: Path, claims: Claims, on_commit: Callable[[], None], lake: LakeCheck
    ) -> Log:
        """Open the log.

        The first retention deletes orphaned claims, but only in a local folder, because a container may be shared.
        Retention deletes nothing while a segment is unreadable, or before the log was compared with the lake.
        """
        from headwater.intake.event_log.sqlite_log import LogLimits, SqliteLog

        limits = LogLimits(
            settings.segment_bytes, settings.queued_bytes, settings.min_free_bytes,
            settings.retain_hours, settings.retain_bytes,
        )  # fmt: skip
        if not isinstance(claims, FolderClaims):
            return SqliteLog(folder / "log", limits, on_commit=on_commit, lake=lake)

        leftovers = orphaned_claims(folder, claims)
        return SqliteLog(
            folder / "log", limits,
            on_remove=claims.remove, before_retention=leftovers.delete_unreferenced, on_commit=on_commit, lake=lake,
        )  # fmt: skip

    def reader_opener(self, settings: SqliteSettings, folder: Path) -> Readers:
        """Return the reader of the only partition."""
        from headwater.intake.event_log.sqlite_reader import SqliteLogReader

        readers = [SqliteLogReader(folder / "log")]
        return lambda: readers

    def log_exists(self, folder: Path) -> bool:
        """Whether `serve` has created the log. Returns True if the log is unreadable."""
        from headwater.intake.event_log.sqlite_reader import SqliteLogReader

        with closing(SqliteLogReader(folder / "log")) as reader:
            try:
                return reader.has_segment()
            except LogUnavailable:
                return True

    def begin_new_epoch(self, settings: SqliteSettings, folder: Path) -> None:
        """Begin another epoch of the log. No process may have the log open."""
        from headwater.intake.event_log.acknowledged import AcknowledgedRecord, CountFile
        from headwater.intake.event_log.segment_writer import SegmentWriter
        from headwater.intake.event_log.segments import change_epoch, new_epoch

        (folder / "log").mkdir(mode=0o700, exist_ok=True)
        fresh = new_epoch()
        with closing(SegmentWriter(folder / "log", settings.segment_bytes)) as writer:
            counted = AcknowledgedRecord(fresh, *writer.newest_sequence_and_time)
        change_epoch(folder / "log", fresh)
        CountFile(folder / "log", counted).close()
