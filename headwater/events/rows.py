"""Converts events to table rows: tuples in the column order of `tables/`, for delta-rs and Spark."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import astuple

from headwater.common.errors import InvalidEvent
from headwater.events.column_lineage_facet import lineage_rows, read_column_lineage
from headwater.events.decode import decode
from headwater.events.event import Content, Event, EventShape
from headwater.events.position import Position
from headwater.events.times import AHEAD_US
from headwater.tables import VALUES

Row = tuple[Any, ...]
"""The cells of a row.

Timestamps are microseconds since 1970-01-01 UTC, and dates are days since then, both as integers.
"""

LONGEST_RUN_FACETS = LONGEST_STATISTICS = 4096
"""Maximum length (characters) of run facets and statistics in the table `events`. Longer ones are only in the body."""

_DAY_US = 24 * 3600 * 1_000_000


def event_row(position: Position, http: str, event: Event) -> Row:
    """Return the row of table `events`."""
    flags = event.flags
    if event.event_time_us is not None and event.event_time_us > position.received_us + AHEAD_US:
        flags = (*flags, "time_ahead")
    return (
        event.id.hex(),
        *position.cells(),
        position.received_us // _DAY_US,
        event.event_time_us,
        event.kind,
        event.event_type,
        event.run_id,
        event.job_namespace,
        event.job_name,
        event.parent_run_id,
        event.root_run_id,
        event.producer,
        event.inputs,
        event.outputs,
        event.lineage_hashes,
        event.shape,
        event.parent_job_namespace,
        event.parent_job_name,
        event.root_job_namespace,
        event.root_job_name,
        event.run_facets if event.run_facets and len(event.run_facets) <= LONGEST_RUN_FACETS else None,
        event.versions,
        flags,
        event.statistics if event.statistics is not None and len(event.statistics) <= LONGEST_STATISTICS else None,
        http,
        event.body.decode(),
    )


def shape_row(shape: EventShape) -> Row:
    """Return the row of table `shapes`."""
    return astuple(shape)


def duplicate_row(position: Position, event: Event) -> Row:
    """Return the row of table `duplicates`."""
    return (*position.cells(), event.id.hex())


def rejected_row(position: Position, error: InvalidEvent, http: str, body: str) -> Row:
    """Return the row of table `rejected` for one record.

    error: why the record is rejected. http: metadata of the request as JSON. body: text without secrets.
    """
    return (*position.cells(), position.sequence, error.reason, error.field, str(error)[:2000], http, body)


def gap_row(position: Position, to_sequence: int) -> Row:
    """Return the row of table `rejected` for the sequences from `position` to `to_sequence`, which the log has lost."""
    message = "The log lost these sequence numbers before the parser read them, by retention or by a disk fault."
    return (*position.cells(), to_sequence, "gap", None, message, "{}", None)


def hole_row(position: Position, to_sequence: int) -> Row:
    """Return the row of table `rejected` for the sequences from `position` to `to_sequence`, which have no record."""
    message = "Kafka used these offsets internally (transaction markers, compaction). No event is missing."
    return (*position.cells(), to_sequence, "hole", None, message, "{}", None)


def refused_row(position: Position, body: bytes) -> Row:
    """Return the row of table `refused` for one note of the receiver.

    body: the note as JSON.
    """
    note = decode(body)
    names = ("status", "reason", "route", "key", "field", "message", "user_agent", "first_us", "count")
    return (*position.cells(), *(note[name] for name in names))


def content_rows(content: Content) -> list[Row]:
    """Return the rows of a facet for its table. A schema or lineage facet without fields or edges has no rows."""
    if content.table == VALUES.name:
        return [(content.content_hash, content.raw.decode())]
    lineage = read_column_lineage(content.raw) if content.key == "columnLineage" else None
    rows = _rows_of_irregular_content(content) if lineage is None else lineage_rows(lineage)
    return [(content.content_hash, ordinal, *row) for ordinal, row in enumerate(rows)]


def schema_columns(facet: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield (path, type) of each column of a schema facet, including nested columns. Names and types are as sent."""
    return ((path, kind) for path, kind, _ in _schema_rows(facet))


def described_columns(facet: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str | None, str | None]]:
    """Yield (path, type, description) of each column of a schema facet, including nested columns. All are as sent."""
    return ((path, kind, description) for path, kind, description in _schema_rows(facet))


def _rows_of_irregular_content(content: Content) -> Iterator[Row]:
    value = decode(content.raw)
    if not isinstance(value, dict):
        return iter(())
    return _READERS[content.key](value)


def _schema_rows(facet: Mapping[str, Any]) -> Iterator[Row]:
    around: tuple[str, ...] = ()
    waiting = [(field, around) for field in reversed(_objects_in_list(facet.get("fields")))]
    while waiting:
        field, around = waiting.pop()
        name = _text_or_none(field.get("name"))
        if name is not None:
            path = (*around, name)
            yield (path, _text_or_none(field.get("type")), _text_or_none(field.get("description")))
            waiting += [(inner, path) for inner in reversed(_objects_in_list(field.get("fields")))]


def _column_lineage_rows(facet: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of a columnLineage facet that the typed decoder in `column_lineage_facet.py` rejects."""
    own = ("columnLineage", None, None, None, None)
    for name, entry in _objects_by_name(facet.get("fields")):
        old = {"type": entry.get("transformationType"), "description": entry.get("transformationDescription")}
        for edge in _input_rows(entry.get("inputFields"), old if any(old.values()) else None) or [_NO_INPUT]:
            yield (*own, name, *edge)
    for edge in _input_rows(facet.get("dataset"), None):
        yield (*own, None, *edge)


def _lineage_rows(facet: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of a `lineage` facet (spec facets/1-0-0/LineageFacet).

    The facet of a dataset is itself an entry. The facet of a job or run has a list of entries.
    """
    entries = _objects_in_list(facet.get("entries")) if "entries" in facet else [facet]
    for entry in entries:
        target = tuple(_text_or_none(entry.get(key)) for key in ("type", "namespace", "name", "runId"))
        for edge in _input_rows(entry.get("inputs"), None) or [_NO_INPUT]:
            yield ("lineage", *target, None, *edge)
        for name, field in _objects_by_name(entry.get("fields")):
            for edge in _input_rows(field.get("inputs"), None) or [_NO_INPUT]:
                yield ("lineage", *target, name, *edge)


_READERS = {"schema": _schema_rows, "columnLineage": _column_lineage_rows, "lineage": _lineage_rows}
"""Maps the name of each facet that is stored as rows to its row generator."""

_NO_INPUT: Row = (None,) * 9


def _input_rows(value: Any, old: Mapping[str, Any] | None) -> list[Row]:
    """Return one row per transformation of each input.

    old: the transformation of the output field in facets before 1-1-0; it applies to inputs without a transformation.
    """
    rows = []
    for source in _objects_in_list(value):
        get = source.get
        names = (
            _text_or_none(get("type")), _text_or_none(get("namespace")), _text_or_none(get("name")),
            _text_or_none(get("field")), _text_or_none(get("runId")),
        )  # fmt: skip
        for step in _objects_in_list(source.get("transformations")) or [old or {}]:
            get = step.get
            masking = get("masking")
            masks = masking if isinstance(masking, bool) else None
            rows.append(
                (
                    *names,
                    _text_or_none(get("type")),
                    _text_or_none(get("subtype")),
                    _text_or_none(get("description")),
                    masks,
                )
            )
    return rows


def _objects_in_list(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _objects_by_name(value: Any) -> list[tuple[str, Mapping[str, Any]]]:
    return [(key, item) for key, item in value.items() if isinstance(item, dict)] if isinstance(value, dict) else []


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
