"""Writes a Delta table: creation, and exactly-once appends by sequence number.

Only writing imports pyarrow (26 MB), because `serve` reads and never writes.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, DeltaError

from headwater.common.errors import LakeUnavailable
from headwater.lake.open_table import REOPEN_AFTER, OpenTable
from headwater.lake.queries import add_columns, column_names, run_query, translate_panics

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 4096
"""Maximum rows per row group."""

_RACES = 20
_PLAIN = ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE")
WRITER = WriterProperties(
    compression="ZSTD",
    compression_level=1,
    max_row_group_size=ROW_GROUP,
    column_properties={"body": _PLAIN, "http": _PLAIN},
)
"""Parquet options for appends and compactions.

`max_row_group_size` also limits the memory of a compaction, which holds several batches of bodies. A batch has at most
as many rows as a row group.
"""

_HOOKS = PostCommitHookProperties(cleanup_expired_logs=False)
"""Commits do not delete expired log entries, because the search for them took 28 of 56 ms after 2,700 commits.

Maintenance deletes them.
"""


_Absent = Callable[[DeltaTable, int], list[bool]]
"""Takes a handle and the watermark of its version. Returns for each row whether this version lacks the row."""

Beside = Callable[[Callable[[str], int | None]], Sequence[tuple[str, int]]]
"""Takes a function that returns the transaction of an `app_id` in the preceding version, or None.

Returns the additional transactions of a commit as (app_id, version). It is called again after a conflict.
"""

NumberedRows = Sequence[tuple[int, tuple[Any, ...]]]
"""Rows with their sequence numbers."""


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """An Arrow batch that is ready to commit, and the sequence numbers of its rows."""

    sequences: list[int]
    batch: "pa.RecordBatch"


class LakeTable(OpenTable):
    """A writable table of the lake.

    passed: the watermark that the last append found before its commit; None if no commit had its `app_id` yet.
    """

    passed: int | None = None

    def create(self, properties: Mapping[str, str]) -> None:
        """Create the table if it does not exist, or add missing columns to a table that an older version created."""
        self._translate_errors(partial(self._create_or_extend, properties))
        for _ in range(_RACES):
            handle = self.reopen()
            if self._translate_errors(partial(add_columns, handle, self.table)):
                self._record_version(handle)
                return
        raise self._overtaken_error()

    def _create_or_extend(self, properties: Mapping[str, str]) -> None:
        from headwater.lake.arrow_batches import arrow_schema  # noqa: PLC0415 - see the module

        with suppress(CommitFailedError):  # another process created it meanwhile
            DeltaTable.create(
                self.uri,
                arrow_schema(self.table),
                mode="ignore",
                partition_by=list(self.table.partition_by),
                configuration=dict(properties),
                raise_if_key_not_exists=False,
                storage_options=self._options or None,
            )

    def prepare(self, rows: NumberedRows) -> PreparedRows:
        """Convert rows to Arrow. Raises ValueError or TypeError if a value does not fit its column."""
        from headwater.lake.arrow_batches import arrow_batch  # noqa: PLC0415 - see the module

        return PreparedRows([sequence for sequence, _ in rows], arrow_batch(self.table, [row for _, row in rows]))

    def append_once(self, app_id: str, rows: PreparedRows, last: int, with_transactions: Beside = lambda _: ()) -> int:
        """Append rows in one commit that moves the watermark to `last`. Returns the number of rows written.

        Skips rows at or below the watermark, because they are stored. with_transactions: returns additional
        transactions of the commit. Only commits with this `app_id` may set them. If a concurrent commit with the same
        `app_id` conflicts, the watermark is read again on a new handle. Raises LakeUnavailable. A retry with the same
        rows is safe.
        """
        fresh: _Absent = lambda _, done: [number > done for number in rows.sequences]  # noqa: E731
        return self._append_absent(app_id, rows.batch, last, fresh, with_transactions)

    def append_missing(
        self,
        app_id: str,
        rows: PreparedRows,
        last: int,
        key: str | None = None,
        with_transactions: Beside = lambda _: (),
    ) -> int:
        """Append like `append_once`, but look up rows at or below the watermark, and append those that are missing.

        Use it for tables in which another attempt at the batch may have stored other rows. One attempt may reject a
        record that another accepted, for example because the claim was missing or the record took too long.
        key: the column that identifies rows. None means the sequence number within the partition.
        """

        def find_absent(handle: DeltaTable, done: int) -> list[bool]:
            keys = rows.batch.column(key).to_pylist() if key else rows.sequences
            old = {each for each, sequence in zip(keys, rows.sequences, strict=True) if sequence <= done}
            present = self._stored_keys(handle, rows.batch, key, old) if old else set()
            return [each not in present for each in keys]

        return self._append_absent(app_id, rows.batch, last, find_absent, with_transactions)

    def append(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append rows without sequence numbers. If it raises LakeUnavailable, the rows may or may not be stored."""
        batch = self.prepare([(0, row) for row in rows]).batch
        for _ in range(_RACES):
            if self._commit(self.handle(), batch, []):
                return
            self.reopen()
        raise self._overtaken_error()

    def delete(
        self,
        condition: str,
        count_transaction: str | None = None,
        transactions: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Delete the rows that match an SQL condition.

        count_transaction: the `app_id` of a transaction to which the commit adds the number of deleted rows. If it is
        set and no row matches, nothing is committed. transactions: other transactions of the commit, versions by
        `app_id`. They are set only together with `count_transaction`.
        """

        def delete(handle: DeltaTable) -> None:
            moved = []
            if count_transaction:
                count: int = run_query(handle, f"SELECT count(*) AS n FROM t WHERE {condition}").column("n")[0].as_py()
                if not count:
                    return
                moved = [Transaction(count_transaction, (handle.transaction_version(count_transaction) or 0) + count)]
                moved += [Transaction(name, version) for name, version in transactions.items()]
            properties = CommitProperties(app_transactions=moved)
            handle.delete(
                condition, writer_properties=WRITER, commit_properties=properties, post_commithook_properties=_HOOKS
            )

        self._commit_with_retries(delete)

    def set_to_null(self, columns: Sequence[str], condition: str) -> None:
        """Set columns to null in the rows that match an SQL condition."""
        nothing = dict.fromkeys(columns, "NULL")
        self._commit_with_retries(
            lambda handle: handle.update(
                updates=nothing, predicate=condition, writer_properties=WRITER, post_commithook_properties=_HOOKS
            )
        )

    def _commit_with_retries(self, change: Callable[[DeltaTable], object]) -> None:
        """Commit a change. After a conflict, compute the change again on the newest version."""
        for _ in range(_RACES):
            handle = self.reopen()
            try:
                with translate_panics(self.uri):
                    change(handle)
            except CommitFailedError:
                continue
            except (DeltaError, OSError) as error:
                raise self._unavailable_error(error) from error
            self._record_version(handle)
            self._handle = None
            return
        raise self._overtaken_error()

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set table properties in one commit."""
        self._set_properties(self.handle(), properties)

    def replace_property(self, name: str, expected: str | None, value: str) -> bool:
        """Set a table property in one commit if its value is `expected` (None: not set); returns whether it was.

        A commit of another process between the check and the write fails this commit: raises LakeUnavailable. The
        caller opens the table again, and tries again.
        """
        handle = self.handle()
        if self._translate_errors(lambda: handle.metadata().configuration).get(name) != expected:
            return False
        self._set_properties(handle, {name: value})
        return True

    def _set_properties(self, handle: DeltaTable, properties: Mapping[str, str]) -> None:
        self._translate_errors(lambda: handle.alter.set_table_properties(dict(properties), raise_if_not_exists=False))
        self._record_version(handle)

    def _append_absent(
        self, app_id: str, batch: "pa.RecordBatch", last: int, absent: _Absent, with_transactions: Beside
    ) -> int:
        from headwater.lake.arrow_batches import rows_where  # noqa: PLC0415 - see the module

        handle = self._handle if self._handle is not None and self.commits < REOPEN_AFTER else self.reopen()
        for _ in range(_RACES):
            done = self.passed = self._transaction(handle, app_id)
            fresh = batch if done is None else rows_where(batch, absent(handle, done))
            if done is not None and done >= last and not fresh.num_rows:
                return 0
            others = with_transactions(partial(self._transaction, handle))
            moved = [Transaction(app_id, max(last, done or 0)), *(Transaction(*each) for each in others)]
            if self._commit(handle, fresh, moved):
                return int(fresh.num_rows)
            handle = self.reopen()
        raise self._overtaken_error()

    def _stored_keys(self, handle: DeltaTable, batch: "pa.RecordBatch", key: str | None, keys: set[Any]) -> set[Any]:
        """Return the elements of `keys` that the handle's version of the table contains.

        key: the column of the keys. None means sequence numbers, which all belong to the partition of the first row.
        """
        if key:
            quoted = ", ".join(f"'{each}'" for each in sorted(keys))
            where = f"{key} IN ({quoted})"
        else:
            where = " AND ".join(f"{name} = '{batch.column(name)[0]}'" for name in ("log", "incarnation", "partition"))
            where += f" AND sequence BETWEEN {min(keys)} AND {max(keys)}"
        found = self._translate_errors(
            lambda: run_query(handle, f"SELECT DISTINCT {key or 'sequence'} AS key FROM t WHERE {where}")
        )
        return set(found.column("key").to_pylist())

    def _commit(self, handle: DeltaTable, batch: "pa.RecordBatch", transactions: list[Transaction]) -> bool:
        """Commit one append. Returns False after a conflict.

        Columns that only a newer version of Headwater writes become null. Columns that the table lacks are added.
        """
        properties, version = CommitProperties(app_transactions=transactions), handle.version()
        same = column_names(handle) == set(self.table.columns)
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
            raise self._unavailable_error(error) from error
        self.commits += 1
        self._known.record_commit(version, handle.version(), transactions)
        self._record_version(handle)
        return True

    def _record_version(self, handle: DeltaTable) -> None:
        if self.checksums:
            self.checksums.record_commit(handle.version())

    def _overtaken_error(self) -> LakeUnavailable:
        return LakeUnavailable(
            f"The commit to {self.uri} conflicted {_RACES} times with other writers. Stop all parsers but one."
        )
