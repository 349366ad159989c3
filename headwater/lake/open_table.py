"""Reads a Delta table: opens it on demand at its newest version, and reopens the handle regularly."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from deltalake import DeltaTable, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError

from headwater.common.errors import GiveUp, LakeUnavailable
from headwater.common.storage_faults import explain_storage_error, is_transient
from headwater.lake.file_checksums import DamagedFile, FileChecksums
from headwater.lake.queries import QueryRows, run_query, translate_panics
from headwater.tables import Table

T = TypeVar("T")

REOPEN_AFTER = 100
"""A handle is opened again after this number of its commits, because old handles are slow.

An append took 44 ms on a handle that was 518 versions old, and 11 ms on a new one.
"""

CHECKED_BYTES = 256 << 20
"""A process checks this many bytes of data files, newest first, before its first read. This takes 0.2 s of CPU."""


class _MissingTable(GiveUp):
    """The table does not exist."""


class TransactionCache:
    """A cache of the transactions of one table version.

    Without it, delta-rs would read all commits since the newest checkpoint for each look-up.
    """

    def __init__(self) -> None:
        self._version = -1
        self._found: dict[str, int | None] = {}

    def transaction_of(self, version: int, app_id: str, read: Callable[[], int | None]) -> int | None:
        """Return the transaction of `app_id` in a version. `read` is called if the cache does not contain it."""
        if version != self._version:
            self._version, self._found = version, {}
        if app_id not in self._found:
            self._found[app_id] = read()
        return self._found[app_id]

    def record_commit(self, before: int, after: int, transactions: Sequence[Transaction]) -> None:
        """Add the transactions of this process's commit, which changed the table from version `before` to `after`.

        Clears the cache first if other commits came in between.
        """
        if after != before + 1 or before != self._version:
            self._found = {}
        self._version = after
        self._found |= {each.app_id: each.version for each in transactions}


def newest_version(uri: str) -> int:
    """Return the newest version of a local table.

    Raises LakeUnavailable if the table does not exist or its log is damaged.
    """
    try:
        with translate_panics(uri):
            return DeltaTable(uri).version()
    except (DeltaError, OSError) as error:
        raise LakeUnavailable(f"Cannot use the Delta table at {uri}: {explain_storage_error(error, 'lake')}") from error


class OpenTable:
    """A table at `uri`: a folder, `abfss://container@account.dfs.core.windows.net/path`, `s3://bucket/path`, `gs://…`.

    commits: the number of commits that were made with the current handle.
    """

    def __init__(
        self, uri: str, table: Table, storage_options: Mapping[str, str] | None = None, *, keeps_checksums: bool = False
    ):
        """keeps_checksums: record and check the checksums of the table's files if they are on the local disk.

        The table is opened when a method first needs it.
        """
        self.uri = uri
        self.table = table
        self._options = dict(storage_options or {})
        self._log = None if "://" in uri else Path(uri, "_delta_log")
        self.checksums = FileChecksums(Path(uri)) if keeps_checksums and self._log else None
        self._handle: DeltaTable | None = None
        self._known = TransactionCache()
        self.commits = 0

    def exists(self) -> bool:
        """Whether the table exists.

        This method opens the table, because `is_deltatable` of delta-rs blocks every thread until the storage answers.
        """
        try:
            self.reopen()
        except _MissingTable:
            return False
        return True

    def handle(self) -> DeltaTable:
        """Return a handle at the newest version."""
        if self._handle is None or self.commits >= REOPEN_AFTER:
            return self.reopen()
        handle = self._handle
        if not self._is_newest(handle.version()):
            self._translate_errors(handle.update_incremental)
        self._check_files(handle)
        return handle

    def _is_newest(self, version: int) -> bool:
        """Whether a version is the newest one of a local table. Always False for a remote table.

        The same check by delta-rs takes a hundred times as long. The method also checks that the log entry of the
        version exists. If maintenance deleted this entry, it may have deleted the next one as well.
        """
        if self._log is None:
            return False
        return (self._log / f"{version:020}.json").exists() and not (self._log / f"{version + 1:020}.json").exists()

    def reopen(self) -> DeltaTable:
        """Open the table again at its newest version."""
        self._handle = self._translate_errors(lambda: DeltaTable(self.uri, storage_options=self._options or None))
        self._known = TransactionCache()
        self.commits = 0
        self._check_files(self._handle)
        return self._handle

    def _check_files(self, handle: DeltaTable) -> None:
        """Check the files of the version that this process has not checked before. Raises DamagedFile."""
        if self.checksums:
            self.checksums.check_version(handle.version(), partial(self.data_files, handle), CHECKED_BYTES)

    def data_files(self, handle: DeltaTable) -> list[str]:
        """Return the data files of a version, relative to the table's folder."""
        found = self._translate_errors(handle.file_uris)
        return [each.removeprefix("file://").removeprefix(self.uri).lstrip("/") for each in found]

    def small_files(self, handle: DeltaTable, size: int) -> list[str]:
        """Return the data files of a version that are smaller than `size` bytes, relative to the table's folder."""
        actions = self._translate_errors(lambda: handle.get_add_actions(flatten=True))
        found = zip(actions.column("path").to_pylist(), actions.column("size_bytes").to_pylist(), strict=True)
        return [path for path, found_size in found if found_size < size]

    def watermark(self, app_id: str) -> int | None:
        """Return the newest sequence number committed with `app_id`, or None if there is none."""
        return self._transaction(self.handle(), app_id)

    def watermarks(self, app_ids: Sequence[str]) -> list[int]:
        """Return the newest sequence number committed with each `app_id` (0: none), from one table version."""
        handle = self.handle()
        return [self._transaction(handle, app_id) or 0 for app_id in app_ids]

    def run_query(self, sql: str) -> QueryRows:
        """Run SQL over the newest version of the table. The SQL refers to the table as `t`."""
        handle = self.handle()
        return self._translate_errors(lambda: run_query(handle, sql, self.table))

    def rows_and_watermarks(self, app_ids: Iterable[str]) -> tuple[int, list[int]]:
        """Return (number of rows, watermark of each `app_id` (0: none)) of one table version.

        The number of rows comes from file statistics.
        """
        handle = self.handle()
        return sum(self._file_metadata_column(handle, "num_records")), [
            self._transaction(handle, each) or 0 for each in app_ids
        ]

    def rows_within(self, condition: str, app_ids: Iterable[str]) -> tuple[str, int, list[int]]:
        """Return (table id, number of rows that do not match an SQL condition, watermarks (0: none)) of one version.

        The query reads only files that may have rows that match.
        """
        handle = self.handle()
        beyond = self._translate_errors(
            lambda: run_query(handle, f"SELECT count(*) AS n FROM t WHERE {condition}", self.table)
        )
        rows = sum(self._file_metadata_column(handle, "num_records")) - beyond.column("n")[0].as_py()
        table = str(handle.metadata().id)
        return table, rows, [self._transaction(handle, each) or 0 for each in app_ids]

    def newest_file_us(self) -> int | None:
        """Return when the newest data file of this version was written (us, UTC); None for an empty table."""
        written_ms = self._file_metadata_column(self.handle(), "modification_time")
        return max(written_ms) * 1000 if written_ms else None

    def files_below(self, size: int) -> int:
        """Count the data files of the newest version that are smaller than `size` bytes."""
        return sum(found < size for found in self._file_metadata_column(self.handle(), "size_bytes"))

    def _file_metadata_column(self, handle: DeltaTable, column: str) -> list[int]:
        """Return a column of the file metadata in the log of a version."""
        actions = self._translate_errors(lambda: handle.get_add_actions(flatten=True))
        found: list[int | None] = list(actions.column(column).to_pylist()) if actions.num_rows else []
        values = [int(each) for each in found if each is not None]
        if len(values) < len(found):
            raise LakeUnavailable(
                f"The Delta log of {self.uri} lacks {column!r} of some files, which Headwater always writes: the "
                "newest checkpoint or a later entry is damaged. Restore `_delta_log` from a copy."
            )
        return values

    def properties(self) -> Mapping[str, str]:
        """Return the table properties."""
        found: Mapping[str, str] = self.handle().metadata().configuration
        return found

    def _transaction(self, handle: DeltaTable, app_id: str) -> int | None:
        """Return the newest transaction of `app_id` in the handle's version."""
        read = partial(self._translate_errors, partial(handle.transaction_version, app_id))
        return self._known.transaction_of(handle.version(), app_id, read)

    def _translate_errors(self, call: Callable[[], T]) -> T:
        try:
            with translate_panics(self.uri):
                return call()
        except TableNotFoundError as error:
            if is_transient(error):  # delta-rs also raises TableNotFoundError if it cannot create the folder
                raise self._unavailable_error(error) from error
            raise _MissingTable(
                f"There is no Delta table at {self.uri}. Start `headwater up` once, or check `data` and `lake`."
            ) from error
        except (DeltaError, OSError) as error:
            raise self._unavailable_error(error) from error

    def _unavailable_error(self, error: Exception) -> LakeUnavailable:
        self._handle = None
        if self.checksums and not is_transient(error) and (damage := self.checksums.find_log_damage()):
            return DamagedFile(f"{damage} ({explain_storage_error(error, 'lake')})")
        return LakeUnavailable(f"Cannot use the Delta table at {self.uri}: {explain_storage_error(error, 'lake')}")
