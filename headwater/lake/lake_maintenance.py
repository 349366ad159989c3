"""Keeping tables small and quick: few large files, young handles, short logs."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from deltalake.exceptions import DeltaError

from headwater.errors import LakeUnavailable
from headwater.failpoints import reach
from headwater.lake.delta_table import WRITER, LakeTable
from headwater.lake.half_written import remove_half_written
from headwater.lake.query_rows import panics_refused
from headwater.storage_faults import explain, on_disk

log = logging.getLogger(__name__)

FILE_BYTES = 32 << 20
"""Size at which a file is left alone; until then each compaction reads and writes it again."""


SMALL_FILES = 200
"""Files of all tables together at which they are joined; a commit makes one in each table that it writes."""


class TableGroup(Protocol):
    """Bronze, or other tables that are kept together."""

    @property
    def tables(self) -> Mapping[str, LakeTable]:
        """The tables by name."""


def small_files(kept: TableGroup) -> int:
    """Count the files that a compaction would read; raises LakeUnavailable."""
    return sum(table.files_below(FILE_BYTES) for table in kept.tables.values())


def compact(kept: TableGroup) -> None:
    """Join small files of every table and write a checkpoint; content and watermarks stay as they are.

    Another writer's commit in between makes it a no-op for that table; the next round comes to it.
    """
    _each_table("Compaction", kept, _compact)


def vacuum(kept: TableGroup, hours: int) -> None:
    """Delete files that no version younger than `hours` uses, and log entries past their retention.

    Also files that no version uses because who wrote them was killed, as old as that.
    hours: at least 24: a reader that began before a compaction still needs the files it replaced.
    """
    _each_table("Vacuum", kept, partial(_vacuum, hours=max(24, hours)))


def _compact(table: LakeTable) -> None:
    handle = table.reopen()
    if table.checksums:
        table.checksums.check(table.small_files(handle, FILE_BYTES))
    with panics_refused(table.uri):
        handle.optimize.compact(target_size=FILE_BYTES, max_concurrent_tasks=1, writer_properties=WRITER)
    reach("maintain.compacted")
    compacted = table.reopen()
    compacted.create_checkpoint()
    if table.checksums:
        table.checksums.note_unknown(table.data_files(compacted))


def _vacuum(table: LakeTable, hours: int) -> None:
    handle = table.reopen()
    handle.vacuum(retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True)
    handle.cleanup_metadata()
    remove_half_written(table.uri, hours)
    if table.checksums:
        table.checksums.forget_removed()


def check_files(kept: TableGroup, most_bytes: int) -> None:
    """Check files again that were checked longest ago, and note those without a note; raises DamagedFile."""
    for table in kept.tables.values():
        if table.checksums and table.exists():
            with on_disk("check files of the lake"):
                most_bytes = table.checksums.look(table.data_files(table.handle()), most_bytes)


def check_reported(kept: TableGroup) -> None:
    """Raise DamagedFile as long as a file is damaged that any process found damaged."""
    for table in kept.tables.values():
        if table.checksums:
            table.checksums.check_reported()


def _each_table(what: str, kept: TableGroup, work: Callable[[LakeTable], None]) -> None:
    """Do one table after the other; a storage that fails ends the round, or each table would wait for it."""
    for name, table in kept.tables.items():
        try:
            work(table)
        except DeltaError as error:
            log.info("%s of %s put off: %s", what, name, explain(error, "lake"))
        except (OSError, LakeUnavailable) as error:
            log.info("%s put off: %s", what, error if isinstance(error, LakeUnavailable) else explain(error, "lake"))
            return
