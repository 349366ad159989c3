"""Delete matching records from the local log, matching large bodies, and matching rows from the tables of the lake.

A record of the log is replaced under the same sequence number, because a missing number would look like a lost event.
Older files and older log entries of the tables are deleted as well.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from deltalake.exceptions import DeltaError

from headwater.common.errors import LakeUnavailable
from headwater.common.failpoints import reach_failpoint
from headwater.intake.event_log import RecordKind
from headwater.intake.event_log.body_packing import compress_body
from headwater.intake.event_log.segment_faults import segment_errors
from headwater.intake.event_log.segments import PACKED_SINCE, format_of, open_readonly, open_writable, segment_files
from headwater.lake.bronze_retention import BLANKED
from headwater.lake.bronze_tables import REMOVED, Bronze
from headwater.lake.delta_table import LakeTable
from headwater.operations.erasure.search import AT_ONCE, ForgetTarget, LogRow, decode_or_text, is_in_record, log_row
from headwater.operations.lake_files import LakeFiles
from headwater.sinks.running.ledger import SinkLedger
from headwater.sinks.targets.alerts.station_state import without_names
from headwater.tables import EVENTS, REFUSED, REJECTED, SINK_FAILURES

_ERASED = b'{"erased":"headwater forget"}'
_REFUSAL_FIELDS = ("key", "field", "message", "user_agent")

T = TypeVar("T", int, str)
_AT_ONCE = 10_000
_BLANKED = {
    REJECTED.name: (*BLANKED, "field", "message"),
    REFUSED.name: ("key", "field", "message", "user_agent"),
}
"""Columns to blank in the matching rows of each table. The rows themselves stay, because the audit counts them."""

Place = tuple[str, str, int]
"""The position of a row: epoch, partition and sequence number."""


def count_in_log(log: Path, claims: Path, target: ForgetTarget) -> tuple[int, int]:
    """Return the number of matching records of the log, and the number of matching large bodies."""
    bodies = _claims_with(claims, target)
    records = 0
    for path in segment_files(log):
        with segment_errors(path), closing(open_readonly(path)) as connection:
            records += sum(1 for _ in _matching_records(connection, target, bodies))
    return records, len(bodies)


def erase_in_log(log: Path, claims: Path, target: ForgetTarget) -> None:
    """Erase the matching records from the segments of the log, then delete the matching large bodies.

    The free pages and side files of a segment do not keep the erased content. The log must not be open elsewhere.
    A call that was interrupted can be repeated. Raises LogUnavailable.
    """
    bodies = _claims_with(claims, target)
    for path in segment_files(log):
        with segment_errors(path), closing(open_writable(path)) as connection:
            packs = format_of(connection) >= PACKED_SINCE
            fresh = [_replacement_row(row, packs) for row in _matching_records(connection, target, bodies)]
            connection.execute("PRAGMA secure_delete=1")
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("UPDATE records SET kind = ?, http = '{}', body = ? WHERE sequence = ?", fresh)
            connection.execute("COMMIT")
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for key in bodies:
        (claims / key).unlink(missing_ok=True)


def _claims_with(claims: Path, target: ForgetTarget) -> set[str]:
    paths = claims.iterdir() if claims.is_dir() else ()
    return {path.name for path in paths if target.matches_value(decode_or_text(path.read_bytes()))}


def _matching_records(connection: sqlite3.Connection, target: ForgetTarget, bodies: set[str]) -> Iterator[LogRow]:
    form = format_of(connection)
    for found in connection.execute("SELECT sequence, kind, http, body FROM records ORDER BY sequence"):
        row = log_row(found, form)
        is_of_claim = row[1] is RecordKind.CLAIM and row[3].decode("ascii", "replace") in bodies
        if is_of_claim or is_in_record(row, target):
            yield row


def _replacement_row(row: LogRow, packs: bool) -> tuple[int, bytes, int]:
    """Return the kind, body and sequence number that replace a record. A note of refusals keeps its counts.

    packs: whether the segment stores compressed bodies.
    """
    sequence, kind, _, body = row
    if kind is RecordKind.REFUSAL:
        note = {**json.loads(body), **dict.fromkeys(_REFUSAL_FIELDS)}
        return kind, json.dumps(note).encode(), sequence
    return RecordKind.EVENT, compress_body(_ERASED) if packs else _ERASED, sequence


class LakeMatches:
    """The rows of the lake that match the target: their positions by table, and the ids of the matching events."""

    def __init__(self, bronze: Bronze, ledger: SinkLedger, target: ForgetTarget) -> None:
        """Search all rows of the bronze tables and of the sinks' dead letters. Raises LakeUnavailable."""
        self._bronze, self._ledger = bronze, ledger
        self.places: dict[str, list[Place]] = {}
        self.event_ids: set[str] = set()
        for table in (EVENTS, REJECTED, REFUSED):
            for row in _table_rows(bronze.tables[table.name]) if bronze.exists() else ():
                if not target.matches_value(row):
                    continue
                place = (row["incarnation"], row["partition"], row["sequence"])
                self.places.setdefault(table.name, []).append(place)
                self.event_ids |= {row["event_id"]} if table is EVENTS else set()
        failures = ledger.tables[SINK_FAILURES.name]
        self.failures = (
            {
                row["event_id"]
                for row in _table_rows(failures)
                if row["event_id"] in self.event_ids or target.matches_value(row)
            }
            if ledger.exists()
            else set()
        )

    def counts_by_table(self) -> Mapping[str, int]:
        """Return the number of matching rows by table."""
        found = {table.name: len(self.places.get(table.name, ())) for table in (EVENTS, REJECTED, REFUSED)}
        return {**found, SINK_FAILURES.name: len(self.failures)}

    def erase_rows(self) -> None:
        """Delete or blank the matching rows. Dead letters are deleted first, because they refer to events.

        What alerts store loses all names, because a title does not tell which events it is about.
        """
        for sink in self._ledger.sinks_with_text():
            while (text := self._ledger.stored_text(sink)) and (after := without_names(text)) != text:
                self._ledger.replace_stored_text(sink, text, after)
        for ids in _in_batches(self.failures):
            named = ", ".join(f"'{each}'" for each in ids)
            self._ledger.tables[SINK_FAILURES.name].delete(f"event_id IN ({named})")
        for name, columns in _BLANKED.items():
            for condition in _position_conditions(self.places.get(name, ())):
                self._bronze.tables[name].set_to_null(columns, condition)
        for condition in _position_conditions(self.places.get(EVENTS.name, ())):
            self._bronze.events.delete(condition, count_transaction=REMOVED)
            reach_failpoint("forget.after_events")


def delete_history(table: LakeTable, files: LakeFiles) -> None:
    """Delete every file that the newest version of a table does not use, and all log entries of older versions.

    Nothing else may use the table. Raises LakeUnavailable.
    """
    try:
        handle = table.reopen()
        handle.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
        handle = table.reopen()
        handle.create_checkpoint()
        log = f"{table.uri.removeprefix(files.address).strip('/')}/_delta_log"
        files.delete(name for name in files.names(log) if _is_log_entry_before(name, handle.version()))
    except (DeltaError, OSError) as error:
        raise LakeUnavailable(f"Cannot delete older files of {table.uri}: {error}. Run the command again.") from error


def _is_log_entry_before(name: str, version: int) -> bool:
    number = name.rpartition("/")[2].partition(".")[0]
    return number.isdigit() and int(number) < version


def _position_conditions(places: Any) -> Iterator[str]:
    """Yield SQL conditions that select rows by position. The table's log stores them, so they contain no content."""
    by_partition: dict[tuple[str, str], list[int]] = {}
    for epoch, partition, sequence in places:
        by_partition.setdefault((epoch, partition), []).append(sequence)
    for (epoch, partition), sequences in by_partition.items():
        for some in _in_batches(sequences):
            listed = ", ".join(map(str, some))
            yield f"incarnation = '{epoch}' AND partition = '{partition}' AND sequence IN ({listed})"


def _in_batches(values: Iterable[T]) -> Iterator[list[T]]:
    ordered = sorted(values)
    return (ordered[at : at + _AT_ONCE] for at in range(0, len(ordered), _AT_ONCE))


def _table_rows(table: LakeTable) -> Iterator[dict[str, Any]]:
    try:
        for batch in table.reopen().to_pyarrow_dataset().to_batches(batch_size=AT_ONCE):
            yield from batch.to_pylist()
    except (DeltaError, OSError) as error:
        raise LakeUnavailable(
            f"Cannot read {table.uri}: {error}. Nothing else was erased. Run the command again."
        ) from error
