"""The log held against the lake."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.api.shapes.operations import Audit, LostRange
from headwater.errors import LogDamaged, LogMissing, WrongSetting
from headwater.eventlog import LogReader, each
from headwater.events.position import Source
from headwater.lake.bronze_tables import Bronze, Gap
from headwater.parser.log_match import check_log_matches

MOST_RANGES = 1000
"""Ranges of lost records that an answer lists, the newest."""


def audit(readers: Sequence[LogReader], bronze: Bronze) -> Audit:
    """Hold what the log acknowledged against the lake (promise P2): every event is in exactly one table.

    `balanced` is false when events are missing or stored twice, when some were lost, and while log and lake do not
    belong together, which `trouble` says. `removed` were stored, and taken out since by age or by `headwater forget`.
    `received` counts sequence numbers: those the lake has passed, those that wait in the log, and those that it
    acknowledged and has no more, less the ones that only note refusals. readers: every partition of the log.
    """
    trouble = _trouble(readers, bronze)
    expected = bronze.life()
    lives = [reader.in_epoch(expected) if expected else reader.source for reader in readers]
    counts = bronze.counts(lives)
    passed = counts.watermarks
    missing = _missing(readers, lives, bronze, passed)
    if missing and bronze.watermarks(lives) != {life: passed[life.partition] for life in lives}:
        return audit(readers, bronze)  # the parser was quicker, and retention behind it
    pending = 0 if trouble else sum(each(readers, lambda reader: reader.pending(passed[reader.source.partition])))
    noted = bronze.lost()
    lost = sum(found.records for found in (*noted, *missing))
    rejected = counts.rejected - sum(found.records for found in noted)
    received = sum(passed.values()) - counts.notes + pending + sum(found.records for found in missing) + counts.earlier
    accounted = counts.stored + counts.duplicates + rejected + pending + lost
    return Audit(
        received, counts.stored - counts.removed, counts.removed, counts.duplicates, rejected, counts.refused,
        pending, lost,
        received == accounted and not lost and not trouble,
        [LostRange(*found) for found in (*noted, *missing)][-MOST_RANGES:],
        trouble,
    )  # fmt: skip


def _trouble(readers: Sequence[LogReader], bronze: Bronze) -> str | None:
    """Say why log and lake do not belong together, None where they do."""
    try:
        if bronze.exists():
            check_log_matches(readers, bronze)
    except (WrongSetting, LogDamaged, LogMissing) as error:
        return str(error)
    return None


def _missing(
    readers: Sequence[LogReader], lives: Sequence[Source], bronze: Bronze, passed: Mapping[str, int]
) -> list[Gap]:
    """List what was acknowledged in the life of the log that the lake expects, and can be parsed no more."""
    return [
        Gap(life.epoch, life.partition, *ends)
        for reader, life in zip(readers, lives, strict=True)
        for ends in reader.missing(life, passed[life.partition], bronze.acknowledged(life))
    ]


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
