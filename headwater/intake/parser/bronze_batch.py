"""Converts log records to rows of the bronze tables. Each record results in a row of exactly one table."""

import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from headwater.common.errors import GiveUp, InvalidEvent
from headwater.events.cpu_budget import TOO_SLOW, CpuBudget
from headwater.events.decode import decode
from headwater.events.event import Content, Event
from headwater.events.event_reader import EventReader
from headwater.events.facet_digests import canonical_json
from headwater.events.position import Position, Source
from headwater.events.redaction import redact_value
from headwater.events.rows import (
    Row,
    content_rows,
    duplicate_row,
    event_row,
    gap_row,
    hole_row,
    refused_row,
    rejected_row,
    shape_row,
)
from headwater.intake.event_log import ClaimReader, LoggedRecord, RecordKind
from headwater.intake.parser.run_scopes import NamespaceLookup, apply_key_scopes, no_run_namespaces
from headwater.tables import DUPLICATES, EVENTS, REFUSED, REJECTED, SHAPES, stored_key

MAX_REJECTED_BODY = 1 << 20
_DATA_FAULTS = (
    InvalidEvent,
    ValueError,
    TypeError,
    OverflowError,
    KeyError,
    RecursionError,
    MemoryError,
    pa.ArrowException,
)


@dataclass(slots=True)
class BronzeBatch:
    """Rows that are ready to commit.

    last: sequence of the last record. received_us: when the last record was received (us, UTC). rejected, lost: numbers
    of records (not rows) that are rejected, or that the log lost.
    rows: maps each table to its rows, each with the sequence of its record. ids: the event ids, in order. hashes: the
    keys of facets and shapes that are stored for the first time. begun: maps each run of a scoped key to the job
    namespace in which the run began.
    """

    last: int
    received_us: int
    rejected: int = 0
    lost: int = 0
    rows: dict[str, list[tuple[int, Row]]] = field(default_factory=dict)
    ids: dict[bytes, None] = field(default_factory=dict)
    hashes: set[bytes] = field(default_factory=set)
    begun: Mapping[str, str] = field(default_factory=dict)

    def add(self, table: str, sequence: int, row: Row) -> None:
        """Add one row to a table."""
        self.rows.setdefault(table, []).append((sequence, row))


@dataclass(frozen=True, slots=True)
class ParserContext:
    """The state of the lake before a batch.

    watermark: the newest sequence in the lake. ids: ids of recently stored events. hashes: keys of facets and shapes
    that have rows in the lake. decided: sequences that an interrupted attempt has already stored (see
    `Bronze.stored_sequences`). sparse: whether gaps in sequence numbers are expected; then they are not recorded.
    run_namespaces: looks up the namespaces in which runs began.
    """

    watermark: int
    ids: Container[bytes]
    hashes: Container[bytes]
    decided: Container[int]
    sparse: bool = False
    run_namespaces: NamespaceLookup = no_run_namespaces


def build_batch(
    source: Source, records: Sequence[LoggedRecord], context: ParserContext, reader: EventReader, claims: ClaimReader
) -> BronzeBatch:
    """Convert records to rows. Missing sequence numbers become rows for gaps or holes.

    records: records after the watermark, in order; at least one.
    """
    batch = BronzeBatch(records[-1].sequence, records[-1].received_us)
    _add_gaps(batch, source, () if context.sparse else records, context.watermark)
    open_ = [record for record in records if record.sequence not in context.decided]
    events = [record for record in open_ if record.kind is not RecordKind.REFUSAL]
    bodies = [_read_body(record, claims) for record in events]
    found = reader.read([body if isinstance(body, bytes) else b"" for body in bodies])
    read = [body if isinstance(body, InvalidEvent) else each for body, each in zip(bodies, found, strict=True)]
    outcomes, batch.begun = apply_key_scopes(events, read, context.run_namespaces)
    for record, outcome in zip(events, outcomes, strict=True):
        _add_outcome(batch, _position_of_record(source, record), record, context, outcome)
    for record in open_:
        if record.kind is RecordKind.REFUSAL:
            batch.add(REFUSED.name, record.sequence, refused_row(_position_of_record(source, record), record.body))
    return batch


def process_bisecting(
    records: Sequence[LoggedRecord],
    watermark: int,
    process: Callable[[Sequence[LoggedRecord], int], None],
    reject: Callable[[LoggedRecord, int, InvalidEvent], None],
) -> None:
    """Process records, and reject only the records that cause errors.

    If processing fails because of the data, the records are split in halves, which are processed separately. A single
    record that fails is rejected. process: receives records and the sequence before them. reject: receives a record,
    the sequence before it, and the error.
    """
    try:
        process(records, watermark)
    except _DATA_FAULTS as error:
        if len(records) > 1:
            middle = len(records) // 2
            process_bisecting(records[:middle], watermark, process, reject)
            process_bisecting(records[middle:], records[middle - 1].sequence, process, reject)
            return
        fault = InvalidEvent(
            "unstorable", f"The event cannot be stored: {type(error).__name__}: {error}.", "Report this error."
        )
        reject(records[0], watermark, fault)


def build_gap_batch(source: Source, watermark: int, tail: int) -> BronzeBatch:
    """Build a batch that records the sequences after the watermark up to `tail` as one gap."""
    now = time.time_ns() // 1000
    batch = BronzeBatch(tail, now)
    position = Position(source, watermark + 1, now)
    _add_gap(batch, position, tail)
    return batch


def build_rejection_batch(source: Source, record: LoggedRecord, watermark: int, error: InvalidEvent) -> BronzeBatch:
    """Build a batch that stores one record as rejected, with the gap before it.

    watermark: the newest sequence in the lake.
    """
    batch = BronzeBatch(record.sequence, record.received_us)
    _add_gaps(batch, source, [record], watermark)
    _add_rejection(batch, _position_of_record(source, record), record, error)
    return batch


def _add_rejection(batch: BronzeBatch, position: Position, record: LoggedRecord, error: InvalidEvent) -> None:
    body = "" if error.reason == TOO_SLOW else rejected_body_text(record.body)
    row = rejected_row(position, error, record.http, body)
    batch.add(REJECTED.name, record.sequence, row)
    batch.rejected += 1


def _add_gap(batch: BronzeBatch, position: Position, last: int) -> None:
    batch.add(REJECTED.name, position.sequence, gap_row(position, last))
    batch.lost += last - position.sequence + 1


def rejected_body_text(body: bytes) -> str:
    """Return a rejected body as text without secrets. The body may have any bytes.

    Returns an empty text if the redaction exceeds the CPU budget.
    """
    try:
        return _redacted_text(body, CpuBudget())[:MAX_REJECTED_BODY]
    except InvalidEvent:
        return ""


def _redacted_text(body: bytes, budget: CpuBudget) -> str:
    try:
        value = decode(body)
    except InvalidEvent:
        return redact_value(body.decode("utf-8", "replace"), budget.check)
    return canonical_json(redact_value(value, budget.check)).decode()


def _add_outcome(
    batch: BronzeBatch, position: Position, record: LoggedRecord, context: ParserContext, outcome: Event | InvalidEvent
) -> None:
    sequence = record.sequence
    if isinstance(outcome, InvalidEvent):
        _add_rejection(batch, position, record, outcome)
    elif outcome.id in context.ids or outcome.id in batch.ids:
        batch.add(DUPLICATES.name, sequence, duplicate_row(position, outcome))
    else:
        batch.add(EVENTS.name, sequence, event_row(position, record.http, outcome))
        batch.ids[outcome.id] = None
        _add_contents(batch, sequence, outcome, context)


def _add_contents(batch: BronzeBatch, sequence: int, event: Event, context: ParserContext) -> None:
    """Add the rows of facets that are not stored yet, and of a new shape.

    If the shape of the event is stored already, only its run facets can be new.
    """
    shape = stored_key(SHAPES.name, event.shape)
    known = shape in context.hashes or shape in batch.hashes
    for content in event.run_contents if known else event.contents:
        _add_content(batch, sequence, content, context)
    if not known:
        batch.hashes.add(shape)
        batch.add(SHAPES.name, sequence, shape_row(event.event_shape))


def _add_content(batch: BronzeBatch, sequence: int, content: Content, context: ParserContext) -> None:
    key = stored_key(content.table, content.content_hash)
    if key not in context.hashes and key not in batch.hashes:
        batch.hashes.add(key)
        rows = batch.rows.setdefault(content.table, [])
        rows.extend((sequence, row) for row in content_rows(content))


def _add_gaps(batch: BronzeBatch, source: Source, records: Sequence[LoggedRecord], watermark: int) -> None:
    expected = watermark + 1
    for record in records:
        first_hole = max(expected, record.sequence - record.holes)
        if first_hole > expected:
            position = Position(source, expected, record.received_us)
            _add_gap(batch, position, first_hole - 1)
        if record.sequence > first_hole:
            position = Position(source, first_hole, record.received_us)
            batch.add(REJECTED.name, first_hole, hole_row(position, record.sequence - 1))
        expected = record.sequence + 1


def _read_body(record: LoggedRecord, claims: ClaimReader) -> bytes | InvalidEvent:
    if record.kind is not RecordKind.CLAIM:
        return record.body
    try:
        return claims.get(record.body)
    except GiveUp as error:
        return InvalidEvent("claim_missing", str(error), "Send the event again.")


def _position_of_record(source: Source, record: LoggedRecord) -> Position:
    return Position(source, record.sequence, record.received_us)
