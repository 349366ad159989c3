"""The position of silver and gold in the logs: the last sequence that they include of each partition and epoch.

A position is not a Delta version.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import MaskingRule

Source = tuple[str, str, str]
"""A partition of a log: log, incarnation, partition."""

_SOURCE_COLUMNS = ("log", "incarnation", "partition")


@dataclass(frozen=True)
class LayerPosition:
    """The position of silver and gold after a batch, and the facts that the next batch needs.

    batch: number of the batch
    sequences: the last processed sequence number of each partition
    ambiguous_columns: casefolded names that several columns of a dataset share (rule 12), by dataset
    has_schema_sources: some run uses a schema that another run reports
    masking: the masking rules that the batch applied
    has_unexplained: some candidate depends on the reports of other runs
    answers: notes about the tables with answers, by table name; if empty, the next batch computes all answers
    versions: versions of all tables except `state`, by `layer/table`
    newest_us: time of the newest event whose time is not after its receipt
    partitioned_names: names of datasets that are known to have partitions
    has_nominal_times: some run has a nominal time
    removed_before_us: retention removed events before this time that silver and gold never processed
    has_commit_proofs: some event contains proofs of commits
    buckets: number of buckets in the edge tables
    compacted: number of the last batch that compacted `state`
    content_chars: total length of the texts of open candidates
    has_stale_copies: some tables of `STATE_COPIES` are older than `state`
    has_base_lists: some dataset has had a base list (rule 12.7)
    """

    batch: int = 0
    sequences: Mapping[Source, int] = field(default_factory=dict)
    ambiguous_columns: Mapping[Name, frozenset[str]] = field(default_factory=dict)
    has_schema_sources: bool = False
    masking: tuple[MaskingRule, ...] = ()
    has_unexplained: bool = False
    answers: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    newest_us: int | None = None
    partitioned_names: frozenset[Name] = frozenset()
    has_nominal_times: bool = False
    removed_before_us: int | None = None
    has_commit_proofs: bool = False
    buckets: int = 1
    compacted: int = 0
    content_chars: int = 0
    has_stale_copies: bool = False
    has_base_lists: bool = False


def read_position(rows: Iterable[Row]) -> LayerPosition:
    """Decode the rows of `positions` to a position. Of each partition, the row with the highest batch applies."""
    found = sorted(rows, key=lambda row: row.batch or 0)
    sequences = {(row.log, row.incarnation, row.partition): row.sequence for row in found if row.sequence is not None}
    state = next((row.state for row in reversed(found) if row.state), None)
    stored = _decoder.decode(state) if state else _StoredPosition()
    ambiguous_columns = {dataset: frozenset(keys) for dataset, keys in stored.ambiguous_columns}
    batch = max((row.batch for row in found), default=0)
    return LayerPosition(
        batch, sequences, ambiguous_columns, stored.has_schema_sources, stored.masking, stored.has_unexplained,
        stored.answers, stored.versions, stored.newest_us, frozenset(stored.partitioned_names),
        stored.has_nominal_times, stored.removed_before_us, stored.has_commit_proofs, stored.buckets, stored.compacted,
        stored.content_chars, stored.has_stale_copies, stored.has_base_lists,
    )  # fmt: skip


def position_rows(position: LayerPosition, rules_hash: str) -> Sequence[tuple[object, ...]]:
    """Return a position as rows of `positions`, one for each partition."""
    ambiguous_columns = tuple((name, sorted(keys)) for name, keys in sorted(position.ambiguous_columns.items()))
    stored = _StoredPosition(
        ambiguous_columns, position.has_schema_sources, position.masking, position.has_unexplained, position.answers,
        position.versions, position.newest_us, sorted(position.partitioned_names), position.has_nominal_times,
        position.removed_before_us, position.has_commit_proofs, position.buckets, position.compacted,
        position.content_chars,
        position.has_stale_copies, position.has_base_lists,
    )  # fmt: skip
    state = msgspec.json.encode(stored).decode()
    return [(*source, sequence, state, position.batch, rules_hash) for source, sequence in position.sequences.items()]


def after_position_condition(position: LayerPosition) -> Column:
    """Return the condition for events after a position. It compares with literals, so that Delta can skip files."""
    known = F.lit(False)
    new_events = F.lit(False)
    for source, sequence in position.sequences.items():
        known |= _is_of_source(source)
        new_events |= _is_of_source(source) & (F.col("sequence") > sequence)
    return new_events | ~known if position.sequences else F.lit(True)


def first_events_of_partitions(events: DataFrame, limit: int) -> tuple[DataFrame, dict[Source, int], int, bool]:
    """Select about `limit` events of a frame, the first events of each partition.

    Returns four values: these events, the last selected sequence number of each partition, the maximum number of
    selected events, and whether the frame contains more events.
    """
    found = (
        events.groupBy(*_SOURCE_COLUMNS)
        .agg(F.min("sequence").alias("first"), F.max("sequence").alias("last"))
        .collect()
    )
    share = max(1, limit // max(1, len(found)))
    ends = {(row.log, row.incarnation, row.partition): min(row.last, row["first"] + share - 1) for row in found}
    count = sum(ends[row.log, row.incarnation, row.partition] - row["first"] + 1 for row in found)
    more = any(row.last > ends[row.log, row.incarnation, row.partition] for row in found)
    return events_up_to(events, ends), ends, count, more


def events_up_to(events: DataFrame, ends: Mapping[Source, int]) -> DataFrame:
    """Return the events of the given partitions, up to the last sequence number (inclusive) that `ends` contains."""
    included = F.lit(False)
    for source, last in ends.items():
        included |= _is_of_source(source) & (F.col("sequence") <= last)
    return events.where(included)


def _is_of_source(source: Source) -> Column:
    same = F.lit(True)
    for column, value in zip(_SOURCE_COLUMNS, source, strict=True):
        same &= F.col(column) == value
    return same


class _StoredPosition(msgspec.Struct, array_like=True):
    """A stored `LayerPosition`. Fields that an older release did not write have defaults."""

    ambiguous_columns: tuple[tuple[Name, list[str]], ...] = ()
    has_schema_sources: bool = False
    masking: tuple[MaskingRule, ...] = ()
    has_unexplained: bool = False
    answers: Mapping[str, str] = {}
    versions: Mapping[str, int] = {}
    newest_us: int | None = None
    partitioned_names: Sequence[Name] = ()
    has_nominal_times: bool = False
    removed_before_us: int | None = None
    has_commit_proofs: bool = False
    buckets: int = 1
    compacted: int = 0
    content_chars: int = 0
    has_stale_copies: bool = False
    has_base_lists: bool = False


_decoder = msgspec.json.Decoder(_StoredPosition)
