"""Maintenance of tables: compaction, vacuum, removal of temporary files, and checksum verification."""

import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from deltalake.exceptions import DeltaError

from headwater.common.errors import LakeUnavailable
from headwater.common.failpoints import reach_failpoint
from headwater.common.storage_faults import explain_storage_error, transient_faults_as_retry
from headwater.lake.delta_table import WRITER, LakeTable
from headwater.lake.queries import translate_panics

log = logging.getLogger(__name__)
FILE_BYTES = 32 << 20
"""Compactions rewrite files below this size."""
SMALL_FILES = 200
"""A compaction starts at this number of small files in all tables. A commit adds one file to each written table."""
_STAGED = re.compile(r".*#\d+")
"""Matches the names of the temporary files that delta-rs and obstore (the crate `object_store`) write."""


class TableGroup(Protocol):
    """Bronze, or another group of tables."""

    @property
    def tables(self) -> Mapping[str, LakeTable]:
        """The tables by name."""


def count_small_files(tables: TableGroup) -> int:
    """Count the files that a compaction would rewrite. Raises LakeUnavailable."""
    return sum(table.files_below(FILE_BYTES) for table in tables.tables.values())


def compact_tables(tables: TableGroup) -> None:
    """Merge the small files of every table and write a checkpoint. Content and watermarks do not change.

    If a compaction conflicts with another writer, the table stays unchanged until the next call.
    """
    _process_tables("Compaction", tables, _compact)


def vacuum_tables(tables: TableGroup, hours: int) -> None:
    """Delete expired log entries, and files that no version of the last `hours` hours uses.

    This includes the files that killed writers left. hours: values below 24 count as 24, because a reader that started
    before a compaction still needs the replaced files.
    """
    _process_tables("Vacuum", tables, partial(_vacuum, hours=max(24, hours)))


def _compact(table: LakeTable) -> None:
    handle = table.reopen()
    if table.checksums:
        table.checksums.check_files(table.small_files(handle, FILE_BYTES))
    with translate_panics(table.uri):
        handle.optimize.compact(target_size=FILE_BYTES, max_concurrent_tasks=1, writer_properties=WRITER)
    reach_failpoint("maintain.compacted")
    compacted = table.reopen()
    compacted.create_checkpoint()
    if table.checksums:
        table.checksums.record_missing(table.data_files(compacted))


def _vacuum(table: LakeTable, hours: int) -> None:
    handle = table.reopen()
    handle.vacuum(retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True)
    handle.cleanup_metadata()
    remove_temporary_files(table.uri, hours)
    if table.checksums:
        table.checksums.drop_records_of_deleted()


def check_files(tables: TableGroup, max_bytes: int) -> None:
    """Check the next files of each table in turn, up to `max_bytes` bytes, and record missing checksums.

    Each call continues after the last file of the previous call. Raises DamagedFile.
    """
    for table in tables.tables.values():
        if table.checksums and table.exists():
            with transient_faults_as_retry("check files of the lake"):
                max_bytes = table.checksums.check_in_turn(table.data_files(table.handle()), max_bytes)


def check_reported_damage(tables: TableGroup) -> None:
    """Raise DamagedFile if a file that any process has found damaged is not repaired yet."""
    for table in tables.tables.values():
        if table.checksums:
            table.checksums.check_reported()


def _process_tables(operation: str, tables: TableGroup, work: Callable[[LakeTable], None]) -> None:
    """Call `work` for one table after the other. A storage failure ends the loop, because every table would fail."""
    for name, table in tables.tables.items():
        try:
            work(table)
        except DeltaError as error:
            log.info("%s of %s is postponed: %s", operation, name, explain_storage_error(error, "lake"))
        except (OSError, LakeUnavailable) as error:
            reason = error if isinstance(error, LakeUnavailable) else explain_storage_error(error, "lake")
            log.info("%s is postponed: %s", operation, reason)
            return


def is_temporary_file(name: str) -> bool:
    """Whether a file of a local lake is temporary. name: the file's name without its folder."""
    return _STAGED.fullmatch(name) is not None


def remove_temporary_files(address: str, hours: float) -> None:
    """Delete the temporary files in a folder that are older than `hours`. Does nothing if the address is a URI."""
    oldest = time.time() - hours * 3600
    for path in _temporary_files(address) if "://" not in address else ():
        with suppress(FileNotFoundError):  # another process deleted it first
            if path.stat().st_mtime < oldest:
                path.unlink()


def _temporary_files(folder: str) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if is_temporary_file(name))
