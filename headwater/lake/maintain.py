"""Keeping tables small and quick: few large files, young handles, short logs."""

import logging

from deltalake.exceptions import DeltaError

from headwater.errors import LakeUnavailable
from headwater.failpoints import reach
from headwater.lake.bronze import Bronze
from headwater.lake.delta import WRITER

log = logging.getLogger(__name__)

FILE_BYTES = 32 << 20
"""Size at which a file is left alone; until then each compaction reads and writes it again."""


def compact(bronze: Bronze) -> None:
    """Join small files of every table and write a checkpoint; content and watermarks stay as they are.

    Another writer's commit in between makes it a no-op for that table; the next round comes to it.
    """
    for table in bronze.tables.values():
        try:
            handle = table.reopen()
            handle.optimize.compact(target_size=FILE_BYTES, max_concurrent_tasks=1, writer_properties=WRITER)
            reach("maintain.compacted")
            table.reopen().create_checkpoint()
        except (DeltaError, OSError, LakeUnavailable) as error:
            log.info("Compaction of %s put off: %s", table.table.name, error)


def vacuum(bronze: Bronze, hours: int) -> None:
    """Delete files that no version younger than `hours` uses, and log entries past their retention.

    hours: at least 24: a reader that began before a compaction still needs the files it replaced.
    """
    for table in bronze.tables.values():
        try:
            handle = table.reopen()
            handle.vacuum(retention_hours=max(24, hours), dry_run=False)
            handle.cleanup_metadata()
        except (DeltaError, OSError, LakeUnavailable) as error:
            log.info("Vacuum of %s put off: %s", table.table.name, error)
