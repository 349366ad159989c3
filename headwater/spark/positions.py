"""How far a layer is: (incarnation, partition, sequence) of the events it holds, never a Delta version."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.name import Name
from headwater.lineage.user_rules import MaskingRule
from headwater.spark.delta import Folder
from headwater.tables import POSITIONS

Source = tuple[str, str, str]
"""Log, incarnation, partition."""

_BODY = ("log", "incarnation", "partition")


@dataclass(frozen=True)
class Position:
    """What a layer holds after a batch.

    batch: its number; exact: the columns that were told apart by case (rule 12), borrows: some run took the columns of
    another run's schema, both for what changes next; masking: the declared steps that silver's rules have.
    """

    batch: int = 0
    sequences: Mapping[Source, int] = field(default_factory=dict)
    exact: Mapping[Name, frozenset[str]] = field(default_factory=dict)
    borrows: bool = False
    masking: tuple[MaskingRule, ...] = ()


def read_position(folder: Folder) -> Position:
    """Return the position of a layer's last finished batch."""
    rows = folder.read(POSITIONS).collect()
    sequences = {(row.log, row.incarnation, row.partition): row.sequence for row in rows if row.sequence is not None}
    state = next((row.state for row in rows if row.state), None)
    kept = _decoder.decode(state) if state else _State()
    exact = {dataset: frozenset(keys) for dataset, keys in kept.exact}
    return Position(max((row.batch for row in rows), default=0), sequences, exact, kept.borrows, kept.masking)


def write_position(folder: Folder, position: Position, rules_hash: str) -> None:
    """Say that a batch is done, in one commit."""
    exact = tuple((name, sorted(keys)) for name, keys in sorted(position.exact.items()))
    state = msgspec.json.encode(_State(exact, position.borrows, position.masking)).decode()
    rows = [(*source, sequence, state, position.batch, rules_hash) for source, sequence in position.sequences.items()]
    folder.overwrite(POSITIONS, folder.rows(POSITIONS, rows))


def beyond(events: DataFrame, position: Position) -> DataFrame:
    """Return the events behind a position; literals, so that files without such are not read."""
    known = F.lit(False)
    fresh = F.lit(False)
    for source, sequence in position.sequences.items():
        same = F.lit(True)
        for column, value in zip(_BODY, source, strict=True):
            same &= F.col(column) == value
        known |= same
        fresh |= same & (F.col("sequence") > sequence)
    return events.where(fresh | ~known) if position.sequences else events


def limited(events: DataFrame, limit: int) -> tuple[DataFrame, dict[Source, int]]:
    """Return about `limit` events of a frame, first ones of each source, and the last sequence of each that is in."""
    found = events.groupBy(*_BODY).agg(F.min("sequence").alias("first"), F.max("sequence").alias("last")).collect()
    share = max(1, limit // max(1, len(found)))
    ends = {(row.log, row.incarnation, row.partition): min(row.last, row["first"] + share - 1) for row in found}
    taken = F.lit(False)
    for source, last in ends.items():
        same = F.col("sequence") <= last
        for column, value in zip(_BODY, source, strict=True):
            same &= F.col(column) == value
        taken |= same
    return events.where(taken), ends


class _State(msgspec.Struct, array_like=True):
    """See `Position`; what an older version did not write has its default."""

    exact: tuple[tuple[Name, list[str]], ...] = ()
    borrows: bool = False
    masking: tuple[MaskingRule, ...] = ()


_decoder = msgspec.json.Decoder(_State)
