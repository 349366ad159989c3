"""How far a layer is: (log epoch, partition, sequence) of the events it holds, never a Delta version."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import MaskingRule

Source = tuple[str, str, str]
"""Log, incarnation, partition."""

_BODY = ("log", "incarnation", "partition")


@dataclass(frozen=True)
class LayerPosition:
    """What silver and gold hold after a batch.

    batch: its number; exact: the columns that were told apart by case (rule 12), borrows: some run took the columns of
    another run's schema, asks: some candidate is explained by other runs, all for what changes next; masking: the
    declared steps that the rules have; answers: what tables of answers come to; versions: of all tables but `state`;
    newest_us: time of the newest event that is not ahead of its receipt; parted: names of which events mention parts;
    dated: some run has a nominal time; removed_before_us: retention removed older events before the layer took them;
    proves: some event tells what commits prove; buckets: of the tables of edges.
    """

    batch: int = 0
    sequences: Mapping[Source, int] = field(default_factory=dict)
    exact: Mapping[Name, frozenset[str]] = field(default_factory=dict)
    borrows: bool = False
    masking: tuple[MaskingRule, ...] = ()
    asks: bool = False
    answers: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    newest_us: int | None = None
    parted: frozenset[Name] = frozenset()
    dated: bool = False
    removed_before_us: int | None = None
    proves: bool = False
    buckets: int = 1


def read_position(rows: Iterable[Row]) -> LayerPosition:
    """Return what rows of `positions` say."""
    found = list(rows)
    sequences = {(row.log, row.incarnation, row.partition): row.sequence for row in found if row.sequence is not None}
    state = next((row.state for row in found if row.state), None)
    kept = _decoder.decode(state) if state else _StoredPosition()
    exact = {dataset: frozenset(keys) for dataset, keys in kept.exact}
    batch = max((row.batch for row in found), default=0)
    return LayerPosition(
        batch, sequences, exact, kept.borrows, kept.masking, kept.asks, kept.answers, kept.versions, kept.newest_us,
        frozenset(kept.parted), kept.dated, kept.removed_before_us, kept.proves, kept.buckets,
    )  # fmt: skip


def position_rows(position: LayerPosition, rules_hash: str) -> Sequence[tuple[object, ...]]:
    """Return a position as rows of `positions`."""
    exact = tuple((name, sorted(keys)) for name, keys in sorted(position.exact.items()))
    kept = _StoredPosition(
        exact, position.borrows, position.masking, position.asks, position.answers, position.versions,
        position.newest_us, sorted(position.parted), position.dated,
        position.removed_before_us, position.proves, position.buckets,
    )  # fmt: skip
    state = msgspec.json.encode(kept).decode()
    return [(*source, sequence, state, position.batch, rules_hash) for source, sequence in position.sequences.items()]


def beyond(position: LayerPosition) -> Column:
    """Tell which events are behind a position; literals, so that files without such are not read."""
    known = F.lit(False)
    fresh = F.lit(False)
    for source, sequence in position.sequences.items():
        known |= _is_of(source)
        fresh |= _is_of(source) & (F.col("sequence") > sequence)
    return fresh | ~known if position.sequences else F.lit(True)


def limited(events: DataFrame, limit: int) -> tuple[DataFrame, dict[Source, int], int, bool]:
    """Return about `limit` events of a frame, first ones of each source.

    Also the last sequence of each that is in, how many events these may be, and whether there are more.
    """
    found = events.groupBy(*_BODY).agg(F.min("sequence").alias("first"), F.max("sequence").alias("last")).collect()
    share = max(1, limit // max(1, len(found)))
    ends = {(row.log, row.incarnation, row.partition): min(row.last, row["first"] + share - 1) for row in found}
    count = sum(ends[row.log, row.incarnation, row.partition] - row["first"] + 1 for row in found)
    more = any(row.last > ends[row.log, row.incarnation, row.partition] for row in found)
    return within(events, ends), ends, count, more


def within(events: DataFrame, ends: Mapping[Source, int]) -> DataFrame:
    """Return the events of some sources, of each up to a sequence."""
    taken = F.lit(False)
    for source, last in ends.items():
        taken |= _is_of(source) & (F.col("sequence") <= last)
    return events.where(taken)


def _is_of(source: Source) -> Column:
    same = F.lit(True)
    for column, value in zip(_BODY, source, strict=True):
        same &= F.col(column) == value
    return same


class _StoredPosition(msgspec.Struct, array_like=True):
    """See `LayerPosition`; what an older version did not write has its default."""

    exact: tuple[tuple[Name, list[str]], ...] = ()
    borrows: bool = False
    masking: tuple[MaskingRule, ...] = ()
    asks: bool = False
    answers: Mapping[str, str] = {}
    versions: Mapping[str, int] = {}
    newest_us: int | None = None
    parted: Sequence[Name] = ()
    dated: bool = False
    removed_before_us: int | None = None
    proves: bool = False
    buckets: int = 1


_decoder = msgspec.json.Decoder(_StoredPosition)
