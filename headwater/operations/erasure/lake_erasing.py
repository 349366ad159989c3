"""Erase rows from bronze and the sinks' table, then every older file and log entry of their tables."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from deltalake.exceptions import DeltaError

from headwater.common.errors import LakeUnavailable
from headwater.common.failpoints import reach
from headwater.lake.bronze_retention import BLANKED
from headwater.lake.bronze_tables import REMOVED, Bronze
from headwater.lake.delta_table import LakeTable
from headwater.operations.erasure.forget_targets import ForgetTarget
from headwater.operations.erasure.searching import AT_ONCE
from headwater.operations.local.lake_files import LakeFiles
from headwater.sinks.running.sink_ledger import SinkLedger
from headwater.tables import EVENTS, REFUSED, REJECTED, SINK_FAILURES

T = TypeVar("T", int, str)

_AT_ONCE = 10_000
_BLANKED = {
    REJECTED.name: (*BLANKED, "field", "message"),
    REFUSED.name: ("key", "field", "message", "user_agent"),
}
"""Rows that the audit counts are kept without their content."""

Place = tuple[str, str, int]
"""Epoch, partition, sequence."""


class LakeMatches:
    """Rows of the lake that match the target, by table; and the ids of matching events."""

    def __init__(self, bronze: Bronze, ledger: SinkLedger, target: ForgetTarget) -> None:
        """Read all rows of these tables; raises LakeUnavailable."""
        self._bronze, self._ledger = bronze, ledger
        self.places: dict[str, list[Place]] = {}
        self.event_ids: set[str] = set()
        for table in (EVENTS, REJECTED, REFUSED):
            rows = _matching(bronze.tables[table.name], target) if bronze.exists() else ()
            for row in rows:
                place = (row["incarnation"], row["partition"], row["sequence"])
                self.places.setdefault(table.name, []).append(place)
                self.event_ids |= {row["event_id"]} if table is EVENTS else set()
        failures = ledger.tables[SINK_FAILURES.name]
        self.failures = (
            {row["event_id"] for row in _rows(failures) if row["event_id"] in self.event_ids or target.in_value(row)}
            if ledger.exists()
            else set()
        )

    def counts(self) -> Mapping[str, int]:
        """Return the number of rows by table."""
        found = {table.name: len(self.places.get(table.name, ())) for table in (EVENTS, REJECTED, REFUSED)}
        return {**found, SINK_FAILURES.name: len(self.failures)}

    def erase(self) -> None:
        """Delete or blank the rows; dead letters first, because they refer to events."""
        for ids in _portions(self.failures):
            named = ", ".join(f"'{each}'" for each in ids)
            self._ledger.tables[SINK_FAILURES.name].delete(f"event_id IN ({named})")
        for name, columns in _BLANKED.items():
            for condition in _conditions(self.places.get(name, ())):
                self._bronze.tables[name].blank(columns, condition)
        for condition in _conditions(self.places.get(EVENTS.name, ())):
            self._bronze.events.delete(condition, counted_as=REMOVED)
            reach("forget.after_events")


def delete_history(table: LakeTable, files: LakeFiles) -> None:
    """Delete every file that the newest version does not use, and the log before that version.

    Nothing else may use the table. Raises LakeUnavailable.
    """
    try:
        handle = table.reopen()
        handle.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
        handle = table.reopen()
        handle.create_checkpoint()
        log = f"{table.uri.removeprefix(files.address).strip('/')}/_delta_log"
        files.delete(name for name in files.names(log) if _is_before(name, handle.version()))
    except (DeltaError, OSError) as error:
        raise LakeUnavailable(f"Cannot delete older files of {table.uri}: {error}. Run the command again.") from error


def _is_before(name: str, version: int) -> bool:
    number = name.rpartition("/")[2].partition(".")[0]
    return number.isdigit() and int(number) < version


def _conditions(places: Any) -> Iterator[str]:
    """Yield conditions by position, so that the log of the table does not contain the forgotten text."""
    by_partition: dict[tuple[str, str], list[int]] = {}
    for epoch, partition, sequence in places:
        by_partition.setdefault((epoch, partition), []).append(sequence)
    for (epoch, partition), sequences in by_partition.items():
        for some in _portions(sequences):
            listed = ", ".join(map(str, some))
            yield f"incarnation = '{epoch}' AND partition = '{partition}' AND sequence IN ({listed})"


def _portions(values: Iterable[T]) -> Iterator[list[T]]:
    ordered = sorted(values)
    return (ordered[at : at + _AT_ONCE] for at in range(0, len(ordered), _AT_ONCE))


def _matching(table: LakeTable, target: ForgetTarget) -> Iterator[dict[str, Any]]:
    return (row for row in _rows(table) if target.in_value(row))


def _rows(table: LakeTable) -> Iterator[dict[str, Any]]:
    try:
        for batch in table.reopen().to_pyarrow_dataset().to_batches(batch_size=AT_ONCE):
            yield from batch.to_pylist()
    except (DeltaError, OSError) as error:
        raise LakeUnavailable(
            f"Cannot read {table.uri}: {error}. Nothing else was erased. Run the command again."
        ) from error
