"""A Delta table as it is read: opened when it is asked for, at its newest version, by a handle that is kept young."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from deltalake import DeltaTable, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError

from headwater.errors import GiveUp, LakeUnavailable
from headwater.lake.query_rows import QueryRows, panics_refused, query
from headwater.storage_faults import explain, passes
from headwater.tables import Table

T = TypeVar("T")

REOPEN_AFTER = 100
"""Commits on one handle: measured 44 ms an append on a handle 518 versions old, 11 ms on a new one."""


class _NoTable(GiveUp):
    """There is no table at this address."""


class KnownTransactions:
    """What is known of the transactions of one version: delta-rs reads all commits since a checkpoint to tell one."""

    def __init__(self) -> None:
        self._version = -1
        self._found: dict[str, int | None] = {}

    def of(self, version: int, app_id: str, read: Callable[[], int | None]) -> int | None:
        """Return the transaction of `app_id` as of a version, read once."""
        if version != self._version:
            self._version, self._found = version, {}
        if app_id not in self._found:
            self._found[app_id] = read()
        return self._found[app_id]

    def committed(self, before: int, after: int, transactions: Sequence[Transaction]) -> None:
        """Note a commit of ours; it failed if another of its app came between, but commits of others may have."""
        if after != before + 1 or before != self._version:
            self._found = {}
        self._version = after
        self._found |= {each.app_id: each.version for each in transactions}


def newest_version(uri: str) -> int:
    """Return the newest version of a table on this machine.

    Raises LakeUnavailable if there is no such table or its log is damaged.
    """
    try:
        with panics_refused(uri):
            return DeltaTable(uri).version()
    except (DeltaError, OSError) as error:
        raise LakeUnavailable(f"Cannot use the Delta table at {uri}: {explain(error, 'lake')}") from error


class OpenTable:
    """A table at `uri`: a folder, `abfss://container@account.dfs.core.windows.net/path`, `s3://bucket/path`, `gs://…`.

    commits: by this handle since it was opened.
    """

    def __init__(self, uri: str, table: Table, storage_options: Mapping[str, str] | None = None):
        """Touch nothing yet."""
        self.uri = uri
        self.table = table
        self._options = dict(storage_options or {})
        self._log = None if "://" in uri else Path(uri, "_delta_log")
        self._handle: DeltaTable | None = None
        self._known = KnownTransactions()
        self.commits = 0

    def exists(self) -> bool:
        """Tell whether the table has been created.

        By opening it: `is_deltatable` of delta-rs stops every thread of the process until the storage answers.
        """
        try:
            self.reopen()
        except _NoTable:
            return False
        return True

    def handle(self) -> DeltaTable:
        """Return a handle at the newest version."""
        if self._handle is None or self.commits >= REOPEN_AFTER:
            return self.reopen()
        handle = self._handle
        if not self._is_newest(handle.version()):
            self._guarded(handle.update_incremental)
        return handle

    def _is_newest(self, version: int) -> bool:
        """Tell, where two looks at the disk do, that no version has come since; delta-rs takes a hundred times as long.

        The version itself must be there, too: where it was cleaned away, the one behind it may have been as well.
        """
        if self._log is None:
            return False
        return (self._log / f"{version:020}.json").exists() and not (self._log / f"{version + 1:020}.json").exists()

    def reopen(self) -> DeltaTable:
        """Read the table's log anew."""
        self._handle = self._guarded(lambda: DeltaTable(self.uri, storage_options=self._options or None))
        self._known = KnownTransactions()
        self.commits = 0
        return self._handle

    def watermark(self, app_id: str) -> int | None:
        """Return the newest sequence number committed under `app_id`, None before the first."""
        return self._transaction(self.handle(), app_id)

    def watermarks(self, app_ids: Sequence[str]) -> list[int]:
        """Return the newest sequence number committed under each, 0 before the first; one version's."""
        handle = self.handle()
        return [self._transaction(handle, app_id) or 0 for app_id in app_ids]

    def query(self, sql: str) -> QueryRows:
        """Run SQL over the table, named `t`, at its newest version."""
        handle = self.handle()
        return self._guarded(lambda: query(handle, sql, self.table))

    def rows_and_watermarks(self, app_ids: Iterable[str]) -> tuple[int, list[int]]:
        """Count rows by the statistics of the files of one version, and return that version's watermarks."""
        handle = self.handle()
        return sum(self._of_files(handle, "num_records")), [self._transaction(handle, each) or 0 for each in app_ids]

    def rows_within(self, condition: str, app_ids: Iterable[str]) -> tuple[str, int, list[int]]:
        """Return the table's id, its rows but for those that fulfil a condition in SQL, and watermarks: one version's.

        Only files that may hold rows of the condition are read.
        """
        handle = self.handle()
        beyond = self._guarded(lambda: query(handle, f"SELECT count(*) AS n FROM t WHERE {condition}", self.table))
        rows = sum(self._of_files(handle, "num_records")) - beyond.column("n")[0].as_py()
        table = str(handle.metadata().id)
        return table, rows, [self._transaction(handle, each) or 0 for each in app_ids]

    def written_us(self) -> int | None:
        """Return when the newest file was written (us, UTC), None for an empty table."""
        written_ms = self._of_files(self.handle(), "modification_time")
        return max(written_ms) * 1000 if written_ms else None

    def files_below(self, size: int) -> int:
        """Count the files of the newest version that are smaller than so many bytes."""
        return sum(found < size for found in self._of_files(self.handle(), "size_bytes"))

    def _of_files(self, handle: DeltaTable, column: str) -> list[int]:
        """Return what the log says of each file of a version."""
        actions = self._guarded(lambda: handle.get_add_actions(flatten=True))
        found: list[int | None] = list(actions.column(column).to_pylist()) if actions.num_rows else []
        told = [int(each) for each in found if each is not None]
        if len(told) < len(found):
            raise LakeUnavailable(
                f"The Delta log of {self.uri} does not say {column!r} of each file, which every writer of Headwater "
                "notes: the newest checkpoint or an entry behind it is damaged. Restore `_delta_log` from a copy."
            )
        return told

    def properties(self) -> Mapping[str, str]:
        """Return the table properties."""
        found: Mapping[str, str] = self.handle().metadata().configuration
        return found

    def _transaction(self, handle: DeltaTable, app_id: str) -> int | None:
        """Return the newest transaction of `app_id` in the version that the handle is at."""
        read = partial(self._guarded, partial(handle.transaction_version, app_id))
        return self._known.of(handle.version(), app_id, read)

    def _guarded(self, call: Callable[[], T]) -> T:
        try:
            with panics_refused(self.uri):
                return call()
        except TableNotFoundError as error:
            if passes(error):  # delta-rs says so, too, where it cannot make the folder
                raise self._unavailable(error) from error
            raise _NoTable(
                f"No Delta table at {self.uri}. Start `headwater up` once, or check `data` and `lake`."
            ) from error
        except (DeltaError, OSError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> LakeUnavailable:
        self._handle = None
        return LakeUnavailable(f"Cannot use the Delta table at {self.uri}: {explain(error, 'lake')}")
