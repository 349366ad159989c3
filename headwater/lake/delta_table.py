"""One Delta table: created once, appended to exactly once per sequence number, its handle kept young.

Only writing imports pyarrow (26 MB), when it begins: `serve` reads and never writes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from headwater.errors import GiveUp, LakeUnavailable
from headwater.lake.new_columns import add_columns, columns
from headwater.lake.query_rows import QueryRows, query
from headwater.storage_faults import explain, passes
from headwater.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

REOPEN_AFTER = 100
"""Commits on one handle: measured 44 ms an append on a handle 518 versions old, 11 ms on a new one."""

ROW_GROUP = 4096
"""Most rows of a row group."""

_RACES = 20
_PLAIN = ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE")
WRITER = WriterProperties(
    compression="ZSTD",
    compression_level=1,
    max_row_group_size=ROW_GROUP,
    column_properties={"body": _PLAIN, "http": _PLAIN},
)
"""For appends and compactions. Reading a file, a compaction holds several batches of up to a row group of bodies."""

_HOOKS = PostCommitHookProperties(cleanup_expired_logs=False)
"""Maintenance cleans the log: looking for old entries at each append took 28 of 56 ms after 2,700 commits."""


class _NoTable(GiveUp):
    """There is no table at this address."""


_Absent = Callable[[DeltaTable, int], list[bool]]
"""Tells which rows of a batch the version lacks that the handle is at, given the watermark of its commits."""

NumberedRows = Sequence[tuple[int, tuple[Any, ...]]]
"""Rows, each beside its sequence number."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows as Arrow, ready to commit, and the sequence number of each."""

    sequences: list[int]
    batch: "pa.RecordBatch"


class _Transactions:
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


class LakeTable:
    """A table of the lake at `uri`: a folder or `abfss://container@account.dfs.core.windows.net/path`."""

    def __init__(self, uri: str, table: Table, storage_options: Mapping[str, str] | None = None):
        """Touch nothing yet."""
        self.uri = uri
        self.table = table
        self._options = dict(storage_options or {})
        self._log = None if "://" in uri else Path(uri, "_delta_log")
        self._handle: DeltaTable | None = None
        self._known = _Transactions()
        self.commits = 0

    def create(self, properties: Mapping[str, str]) -> None:
        """Create the table unless it is there; one that an older version made gets the columns that came since."""
        self._guarded(partial(self._create, properties))
        for _ in range(_RACES):
            handle = self.reopen()
            if self._guarded(partial(add_columns, handle, self.table)):
                return
        raise self._overtaken()

    def _create(self, properties: Mapping[str, str]) -> None:
        from headwater.lake.arrow_batches import arrow_schema  # noqa: PLC0415 - see the module

        with suppress(CommitFailedError):  # another process made it meanwhile
            DeltaTable.create(
                self.uri,
                arrow_schema(self.table),
                mode="ignore",
                partition_by=list(self.table.partition_by),
                configuration=dict(properties),
                raise_if_key_not_exists=False,
                storage_options=self._options or None,
            )

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
        self._known = _Transactions()
        self.commits = 0
        return self._handle

    def watermark(self, app_id: str) -> int | None:
        """Return the newest sequence number committed under `app_id`, None before the first."""
        return self._transaction(self.handle(), app_id)

    def watermarks(self, app_ids: Sequence[str]) -> list[int]:
        """Return the newest sequence number committed under each, 0 before the first; one version's."""
        handle = self.handle()
        return [self._transaction(handle, app_id) or 0 for app_id in app_ids]

    def prepare(self, rows: NumberedRows) -> Prepared:
        """Build Arrow from rows; raises ValueError or TypeError if a value fits no column."""
        from headwater.lake.arrow_batches import arrow_batch  # noqa: PLC0415 - see the module

        return Prepared([sequence for sequence, _ in rows], arrow_batch(self.table, [row for _, row in rows]))

    def append_once(self, app_id: str, rows: Prepared, last: int, beside: Sequence[tuple[str, int]] = ()) -> int:
        """Append rows, each with its sequence number, in one commit that moves the watermark to `last`.

        beside: transactions that the same commit sets; nobody but the caller writes under their names.

        Rows at or below the table's watermark are left out: they are there. Returns the number of rows written.
        A racing commit under the same `app_id` conflicts; then the watermark is read again, on a new handle.
        Raises LakeUnavailable; sending the same rows again is safe.
        """
        fresh: _Absent = lambda _, done: [number > done for number in rows.sequences]  # noqa: E731
        return self._append(app_id, rows.batch, last, fresh, beside)

    def append_missing(self, app_id: str, rows: Prepared, last: int) -> int:
        """Append like `append_once`, but look rows at or below the watermark up instead of taking them for granted.

        For tables that a cut-off attempt may have passed without these rows: a record can be rejected the second
        time only, because its claim has vanished or because it killed the process.
        """

        def absent(handle: DeltaTable, done: int) -> list[bool]:
            old = [sequence for sequence in rows.sequences if sequence <= done]
            present = self._present(handle, rows.batch, old) if old else set()
            return [sequence not in present for sequence in rows.sequences]

        return self._append(app_id, rows.batch, last, absent)

    def append(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append rows that have no place in a log; after LakeUnavailable they may be there or not."""
        batch = self.prepare([(0, row) for row in rows]).batch
        for _ in range(_RACES):
            if self._commit(self.handle(), batch, []):
                return
            self.reopen()
        raise self._overtaken()

    def delete(self, condition: str, counted_as: str | None = None) -> None:
        """Delete the rows that fulfil a condition in SQL.

        counted_as: name of a transaction that goes on, in the same commit, by how many there are; none, no commit.
        """

        def delete(handle: DeltaTable) -> None:
            moved = []
            if counted_as:
                count: int = query(handle, f"SELECT count(*) AS n FROM t WHERE {condition}").column("n")[0].as_py()
                if not count:
                    return
                moved = [Transaction(counted_as, (handle.transaction_version(counted_as) or 0) + count)]
            properties = CommitProperties(app_transactions=moved)
            handle.delete(
                condition, writer_properties=WRITER, commit_properties=properties, post_commithook_properties=_HOOKS
            )

        self._change(delete)

    def blank(self, columns: Sequence[str], condition: str) -> None:
        """Let columns be null in the rows that fulfil a condition in SQL."""
        nothing = dict.fromkeys(columns, "NULL")
        self._change(
            lambda handle: handle.update(
                updates=nothing, predicate=condition, writer_properties=WRITER, post_commithook_properties=_HOOKS
            )
        )

    def _change(self, change: Callable[[DeltaTable], object]) -> None:
        """Commit a change that is worked out anew where another commit was faster."""
        for _ in range(_RACES):
            handle = self.reopen()
            try:
                change(handle)
            except CommitFailedError:
                continue
            except (DeltaError, OSError) as error:
                raise self._unavailable(error) from error
            self._handle = None
            return
        raise self._overtaken()

    def query(self, sql: str) -> QueryRows:
        """Run SQL over the table, named `t`, at its newest version."""
        handle = self.handle()
        return self._guarded(lambda: query(handle, sql, self.table))

    def rows_and_watermarks(self, app_ids: Iterable[str]) -> tuple[int, list[int]]:
        """Count rows by the statistics of the files of one version, and return that version's watermarks."""
        handle = self.handle()
        actions = self._guarded(lambda: handle.get_add_actions(flatten=True))
        rows = sum(actions.column("num_records").to_pylist()) if actions.num_rows else 0
        return rows, [self._transaction(handle, app_id) or 0 for app_id in app_ids]

    def written_us(self) -> int | None:
        """Return when the newest file was written (us, UTC), None for an empty table."""
        handle = self.handle()
        actions = self._guarded(lambda: handle.get_add_actions(flatten=True))
        found = actions.column("modification_time").to_pylist() if actions.num_rows else ()
        return max((int(written_ms) * 1000 for written_ms in found), default=None)

    def files_below(self, size: int) -> int:
        """Count the files of the newest version that are smaller than so many bytes."""
        handle = self.handle()
        actions = self._guarded(lambda: handle.get_add_actions(flatten=True))
        return sum(found < size for found in actions.column("size_bytes").to_pylist()) if actions.num_rows else 0

    def properties(self) -> Mapping[str, str]:
        """Return the table properties."""
        found: Mapping[str, str] = self.handle().metadata().configuration
        return found

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set table properties, all in one commit."""
        handle = self.handle()
        self._guarded(lambda: handle.alter.set_table_properties(dict(properties), raise_if_not_exists=False))

    def _append(
        self, app_id: str, batch: "pa.RecordBatch", last: int, absent: _Absent, beside: Sequence[tuple[str, int]] = ()
    ) -> int:
        from headwater.lake.arrow_batches import rows_where  # noqa: PLC0415 - see the module

        handle = self._handle if self._handle is not None and self.commits < REOPEN_AFTER else self.reopen()
        for _ in range(_RACES):
            done = self._transaction(handle, app_id)
            fresh = batch if done is None else rows_where(batch, absent(handle, done))
            if done is not None and done >= last and not fresh.num_rows:
                return 0
            moved = [Transaction(app_id, max(last, done or 0)), *(Transaction(*each) for each in beside)]
            if self._commit(handle, fresh, moved):
                return int(fresh.num_rows)
            handle = self.reopen()
        raise self._overtaken()

    def _present(self, handle: DeltaTable, batch: "pa.RecordBatch", sequences: Sequence[int]) -> set[int]:
        """Tell which of these sequences of the batch's partition the table holds, on the handle that will commit."""
        same = " AND ".join(f"{name} = '{batch.column(name)[0]}'" for name in ("log", "incarnation", "partition"))
        between = f"sequence BETWEEN {min(sequences)} AND {max(sequences)}"
        sql = f"SELECT sequence FROM t WHERE {same} AND {between}"
        found = self._guarded(lambda: query(handle, sql))
        return set(found.column("sequence").to_pylist())

    def _commit(self, handle: DeltaTable, batch: "pa.RecordBatch", transactions: list[Transaction]) -> bool:
        """Commit one append; False if another commit was faster.

        A table that has columns of a newer version gets null in them, one that lacks ours gets them.
        """
        properties, version = CommitProperties(app_transactions=transactions), handle.version()
        same = columns(handle) == set(self.table.columns)
        try:
            write_deltalake(
                handle,
                batch,
                mode="append",
                schema_mode=None if same else "merge",
                writer_properties=WRITER,
                commit_properties=properties,
                post_commithook_properties=_HOOKS,
            )
        except CommitFailedError:
            return False
        except (DeltaError, OSError) as error:
            raise self._unavailable(error) from error
        self.commits += 1
        self._known.committed(version, handle.version(), transactions)
        return True

    def _transaction(self, handle: DeltaTable, app_id: str) -> int | None:
        """Return the newest transaction of `app_id` in the version that the handle is at."""
        read = partial(self._guarded, partial(handle.transaction_version, app_id))
        return self._known.of(handle.version(), app_id, read)

    def _guarded(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except TableNotFoundError as error:
            if passes(error):  # delta-rs says so, too, where it cannot make the folder
                raise self._unavailable(error) from error
            raise _NoTable(
                f"No Delta table at {self.uri}. Start `headwater up` once, or check `data` and `lake`."
            ) from error
        except (DeltaError, OSError) as error:
            raise self._unavailable(error) from error

    def _overtaken(self) -> LakeUnavailable:
        return LakeUnavailable(f"{_RACES} other writers won the race for {self.uri}. Stop all but one parser.")

    def _unavailable(self, error: Exception) -> LakeUnavailable:
        self._handle = None
        return LakeUnavailable(f"Cannot use the Delta table at {self.uri}: {explain(error, 'lake')}")
