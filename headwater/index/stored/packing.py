"""Packs values of the index as MessagePack.

Event contents contain the numbers of dataset uses, and edge sets contain positions in a list of names.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, TypeVar

from msgspec import DecodeError, Struct, ValidationError, msgpack

from headwater.lineage.edges.facet_contents import SentEdge, SentSql, Transformation
from headwater.lineage.edges.output_lineage import AmbiguousName, ColumnMention, Edge, JobFeed, OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import DatasetUse, EventContent, NameForms, Tag

T = TypeVar("T")


class PackedFacts(Struct, array_like=True, gc=False):
    """The content of an event, with the numbers of its dataset uses.

    Before format 8, it contained all run facts except the run and the event id. Since then, the fields time_us,
    received_us, execution and parent are unused.
    """

    kind: str
    type: str
    time_us: int
    received_us: int
    job: Name
    artifact: str | None
    execution: str | None
    processing: str | None
    snapshot: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    declared: tuple[tuple[str, str], ...]
    producer: str
    parent: str | None = None
    leads_to: tuple[Name, ...] = ()
    sql: str | None = None
    write_signs: tuple[str, ...] = ()
    sent_job: Name | None = None
    forms: NameForms = ()


class PackedEdges(Struct, array_like=True, gc=False):
    """A packed `OutputLineage`. Datasets, columns and transformations are positions in the first three lists.

    edges: four positions for each edge, in the order of the fields of `Edge`. borrowed: used only before format 14.
    tables, named, also_read, opaque: the inputs; empty if they are stored separately in table `input_lists`.
    """

    names: list[Name]
    column_names: list[str | None]
    transformations: list[Transformation]
    output: int | None
    edges: list[int]
    columns: tuple[str, ...]
    bare: tuple[str, ...]
    tables: list[int]
    named: list[int]
    also_read: list[int]
    carries: bool
    borrowed: bool
    opaque: list[int] | None = None
    shows: bool = True
    inferred: bool = False
    unread: str | None = None
    unaccounted: tuple[str, ...] = ()
    doubts: list[tuple[int, list[int], int | None]] = []
    attempt: str | None = None
    doubtful: list[int] = []
    mentions: list[tuple[int, tuple[str, ...]]] = []
    jobs: list[Name] = []
    feeds: list[tuple[Name, list[int], list[Name]]] = []
    disagrees: bool = False


class PackedInputs(Struct, array_like=True, gc=False):
    """A packed `Inputs`. All fields except `names` are positions in `names`."""

    names: list[Name]
    tables: list[int]
    named: list[int]
    also_read: list[int]
    opaque: list[int]


class Inputs(NamedTuple):
    """The inputs of an edge set.

    They are the `source_datasets`, `column_sources`, `other_inputs` and `opaque_inputs` of an `OutputLineage`.
    """

    tables: tuple[Name, ...] = ()
    named: tuple[Name, ...] = ()
    also_read: tuple[Name, ...] = ()
    opaque: tuple[Name, ...] = ()

    @classmethod
    def from_lineage(cls, lineage: OutputLineage) -> Self:
        """Return the inputs of an edge set."""
        return cls(lineage.source_datasets, lineage.column_sources, lineage.other_inputs, lineage.opaque_inputs)


encode = msgpack.Encoder().encode


def _make_decoder(decoder: msgpack.Decoder[T]) -> Callable[[bytes], T]:
    """Return a function that decodes values of the index.

    The function raises DecodeError also for a value of another type or with invalid UTF-8, because the file is then
    damaged.
    """
    decode = decoder.decode

    def decode_value(value: bytes) -> T:
        try:
            return decode(value)
        except (ValidationError, UnicodeDecodeError) as error:
            raise DecodeError(str(error)) from error

    return decode_value


_edges_from = _make_decoder(msgpack.Decoder(PackedEdges))
_inputs_from = _make_decoder(msgpack.Decoder(PackedInputs))
packed_facts_from = _make_decoder(msgpack.Decoder(PackedFacts))
use_from = _make_decoder(msgpack.Decoder(DatasetUse))
tags_from = _make_decoder(msgpack.Decoder(tuple[Tag, ...]))
versions_from = _make_decoder(msgpack.Decoder(dict[int, str]))
names_from = _make_decoder(msgpack.Decoder(list[Name]))
lines_from = _make_decoder(msgpack.Decoder(tuple[SentEdge, ...]))
sql_from = _make_decoder(msgpack.Decoder(SentSql))
paths_from = _make_decoder(msgpack.Decoder(tuple[tuple[str, ...], ...]))


def pack_content(content: EventContent, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
    """Pack an event's content. inputs, outputs: the numbers of its dataset uses. Equal contents give equal bytes."""
    return encode(
        PackedFacts(
            content.kind, content.type, 0, 0, content.job, content.artifact_id, None, content.processing,
            content.is_snapshot, tuple(inputs), tuple(outputs), content.declared_facets, content.producer, None,
            content.declared_targets, content.sql, content.write_signs, content.sent_job, content.name_forms,
        )
    )  # fmt: skip


class _NamePositions(dict[Name, int]):
    """Assigns positions to names in the order of their first use."""

    def positions_of(self, names: tuple[Name, ...]) -> list[int]:
        """Return the positions of names. New names get the next positions."""
        return [self.setdefault(name, len(self)) for name in names]


def pack_inputs(inputs: Inputs) -> bytes:
    """Pack a list of inputs. Equal lists give equal bytes."""
    names = _NamePositions()
    lists = {field: names.positions_of(value) for field, value in inputs._asdict().items()}
    return encode(PackedInputs(list(names), **lists))


def unpack_inputs(value: bytes) -> Inputs:
    """Unpack a list of inputs."""
    packed = _inputs_from(value)
    return Inputs(
        *(_names_at(packed.names, each) for each in (packed.tables, packed.named, packed.also_read, packed.opaque))
    )


def _names_at(names: list[Name], positions: list[int]) -> tuple[Name, ...]:
    return tuple([names[number] for number in positions])


def pack_edges(lineage: OutputLineage, inputs: Inputs) -> bytes:
    """Pack an edge set. Equal edge sets of different runs give equal bytes.

    inputs: the inputs to include in the packed value; empty if they are stored separately.
    """
    names = _NamePositions()
    columns: dict[str | None, int] = {}
    transformations: dict[Transformation, int] = {}
    edges: list[int] = []

    def position_of(name: Name) -> int:
        return names.setdefault(name, len(names))

    output = position_of(lineage.output) if lineage.output else None
    for edge in lineage.edges:
        edges += (
            position_of(edge.source), columns.setdefault(edge.column, len(columns)),
            columns.setdefault(edge.target, len(columns)),
            transformations.setdefault(edge.transformation, len(transformations)),
        )  # fmt: skip
    packed: dict[str, Any] = {
        "output": output,
        "edges": edges,
        **{field: names.positions_of(value) for field, value in inputs._asdict().items()},
        "doubts": [
            (
                position_of(doubt.source),
                names.positions_of(doubt.possible_inputs),
                doubt.separate_dataset and position_of(doubt.separate_dataset),
            )
            for doubt in lineage.ambiguous_names
        ],
        "doubtful": names.positions_of(lineage.doubtful_sources),
        "mentions": [(position_of(each.dataset), each.columns) for each in lineage.column_mentions],
        "feeds": [
            (each.job, names.positions_of(each.source_datasets), list(each.source_jobs)) for each in lineage.job_feeds
        ],
    }
    return encode(
        PackedEdges(
            list(names), list(columns), list(transformations),
            columns=lineage.dataset_wide_targets, bare=lineage.sourceless_columns,
            carries=lineage.has_column_lineage, shows=lineage.has_transformations, borrowed=False,
            inferred=lineage.is_inferred, unread=lineage.unread_sql_reason,
            unaccounted=lineage.unaccounted_columns, attempt=lineage.attempt_state,
            jobs=list(lineage.source_jobs), disagrees=lineage.has_conflicting_events, **packed,
        )
    )  # fmt: skip


def unpack_edges(value: bytes, separate_inputs: Inputs | None) -> OutputLineage:
    """Unpack an edge set. separate_inputs: the inputs that are stored separately, or None if `value` contains them."""
    packed = _edges_from(value)
    names, columns, transformations = packed.names, packed.column_names, packed.transformations
    numbers = iter(packed.edges)
    edges = zip(numbers, numbers, numbers, numbers, strict=True)
    inputs = separate_inputs or Inputs(
        *(_names_at(names, each) for each in (packed.tables, packed.named, packed.also_read, _opaque_inputs(packed)))
    )
    return OutputLineage(
        output=None if packed.output is None else names[packed.output],
        edges=tuple(
            [
                Edge(names[source], columns[column] or "", columns[target], transformations[transformation])
                for source, column, target, transformation in edges
            ]
        ),
        dataset_wide_targets=packed.columns,
        sourceless_columns=packed.bare,
        source_datasets=inputs.tables,
        column_sources=inputs.named,
        other_inputs=inputs.also_read,
        opaque_inputs=inputs.opaque,
        has_column_lineage=packed.carries,
        has_transformations=packed.shows,
        is_inferred=packed.inferred,
        unread_sql_reason=packed.unread,
        unaccounted_columns=packed.unaccounted,
        ambiguous_names=tuple(
            AmbiguousName(names[source], _names_at(names, inputs_of_doubt), None if known is None else names[known])
            for source, inputs_of_doubt, known in packed.doubts
        ),
        attempt_state=packed.attempt,
        doubtful_sources=_names_at(names, packed.doubtful),
        column_mentions=tuple(ColumnMention(names[dataset], own) for dataset, own in packed.mentions),
        source_jobs=tuple(packed.jobs),
        job_feeds=tuple(JobFeed(job, _names_at(names, datasets), tuple(jobs)) for job, datasets, jobs in packed.feeds),
        has_conflicting_events=packed.disagrees,
    )


def _opaque_inputs(packed: PackedEdges) -> list[int]:
    """Return the positions of the opaque inputs.

    In files of older formats, all inputs of an output without column lineage are opaque.
    """
    if packed.opaque is not None:
        return packed.opaque
    return [] if packed.carries else [*packed.tables, *packed.also_read]
