"""The log held against the lake."""

from collections.abc import Sequence
from typing import Any

from headwater.api.shapes.operations import Audit
from headwater.eventlog import LogReader, each
from headwater.lake.bronze_tables import Bronze


def audit(readers: Sequence[LogReader], bronze: Bronze) -> Audit:
    """Hold the log's count against the lake's (promise P2): every acknowledged event is in exactly one table.

    `balanced` is false when events are missing or stored twice. `removed` were stored, and taken out since by age or by
    `headwater forget`. `received` counts sequence numbers: those the lake has
    passed and those that wait in the log, less the ones that only note refusals. readers: every partition of the log.
    """
    sources = [reader.source for reader in readers]
    counts = bronze.counts(sources)
    passed = counts.watermarks
    pending = sum(each(readers, lambda reader: reader.pending(passed[reader.source.partition])))
    received = sum(passed.values()) - counts.notes + pending + counts.earlier
    accounted = counts.stored + counts.duplicates + counts.rejected + pending
    found = counts.stored - counts.removed, counts.removed, counts.duplicates, counts.rejected, counts.refused
    return Audit(received, *found, pending, balanced=received == accounted)


def log_state(readers: Sequence[LogReader], bronze: Bronze) -> dict[str, Any]:
    """Say of each partition what the log holds and what the lake has passed; `past` are the log's ended lives."""
    passed = bronze.watermarks([reader.source for reader in readers])

    def item(reader: LogReader) -> dict[str, Any]:
        mark = passed[reader.source]
        return {
            "partition": reader.source.partition, "head": reader.head(), "tail": reader.tail(), "passed": mark,
            "pending": reader.pending(mark), "bytes": reader.size_bytes(),
        }  # fmt: skip

    source = readers[0].source
    past = [{"incarnation": name, "received": received} for name, received, _ in bronze.past()]
    return {"log": source.log, "incarnation": source.epoch, "items": each(readers, item), "past": past}
