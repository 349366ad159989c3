"""The log on our own disk."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from pydantic import Field

from headwater.errors import LogUnavailable
from headwater.eventlog import Claims, LakeCheck, Log, Readers
from headwater.eventlog.folder_claims import FolderClaims, Leftovers
from headwater.eventlog.log_kind import LogKind, LogSettings


class SqliteSettings(LogSettings):
    """How much of the disk the log takes."""

    segment_bytes: int = Field(
        256 << 20, gt=0, le=1 << 60, description="A log segment is closed when it holds this much."
    )
    min_free_bytes: int = Field(
        256 << 20, ge=0, le=1 << 60, description="Free disk space below which requests get 503."
    )
    retain_bytes: int = Field(
        4 << 30, ge=0, le=1 << 60, description="Oldest passed segments go while the log is larger than this."
    )


def unnamed_bodies(folder: Path, claims: FolderClaims) -> Leftovers:
    """Return the large bodies that are there now and of which no record tells; they were never acknowledged."""
    from headwater.eventlog.sqlite_reader import SqliteLogReader

    def named() -> Sequence[bytes]:
        with closing(SqliteLogReader(folder / "log")) as reader:
            return reader.claims()

    return Leftovers(claims, named)


class SqliteKind(LogKind):
    """SQLite files of one machine, in the folder `log`."""

    name = "sqlite"
    extra = "server"
    claim_bytes = 1 << 20

    def open_log(
        self, settings: SqliteSettings, folder: Path, claims: Claims, on_commit: Callable[[], None], lake: LakeCheck
    ) -> Log:
        """Open the log; with its first retention large bodies of no record go: their requests were never acknowledged.

        Only from our own folder: a container may be shared, and deletes by age. While a segment cannot be read, or the
        log was not held against the lake, they stay, and so does everything that retention would take.
        """
        from headwater.eventlog.sqlite_log import LogLimits, SqliteLog

        limits = LogLimits(
            settings.segment_bytes, settings.queued_bytes, settings.min_free_bytes,
            settings.retain_hours, settings.retain_bytes,
        )  # fmt: skip
        if not isinstance(claims, FolderClaims):
            return SqliteLog(folder / "log", limits, on_commit=on_commit, lake=lake)

        leftovers = unnamed_bodies(folder, claims)
        return SqliteLog(
            folder / "log", limits,
            on_remove=claims.remove, before_retention=leftovers.sweep, on_commit=on_commit, lake=lake,
        )  # fmt: skip

    def readers(self, settings: SqliteSettings, folder: Path) -> Readers:
        """Return what opens the one partition."""
        from headwater.eventlog.sqlite_reader import SqliteLogReader

        readers = [SqliteLogReader(folder / "log")]
        return lambda: readers

    def is_made(self, folder: Path) -> bool:
        """Tell whether `serve`, which may still be starting, has made the log: one that cannot be read is made."""
        from headwater.eventlog.sqlite_reader import SqliteLogReader

        with closing(SqliteLogReader(folder / "log")) as reader:
            try:
                return reader.is_begun()
            except LogUnavailable:
                return True

    def renew(self, settings: SqliteSettings, folder: Path) -> None:
        """Begin another epoch of the log; nothing may have it open."""
        from headwater.eventlog.acknowledged import Acknowledged, CountFile
        from headwater.eventlog.segment_writer import SegmentWriter
        from headwater.eventlog.segments import new_epoch, rename

        (folder / "log").mkdir(mode=0o700, exist_ok=True)
        fresh = new_epoch()
        with closing(SegmentWriter(folder / "log", settings.segment_bytes)) as writer:
            counted = Acknowledged(fresh, *writer.newest)
        rename(folder / "log", fresh)
        CountFile(folder / "log", counted).close()
