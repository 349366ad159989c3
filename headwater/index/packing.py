"""Values of the index as bytes: parts that share their mentions, edge sets that name each dataset once."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, msgpack

from headwater.lineage.contents import How, SentEdge
from headwater.lineage.edges import Contribution, Edge
from headwater.lineage.name import Name
from headwater.lineage.newest import Order, order_of
from headwater.lineage.part import Mention, Part, Tag


class PackedPart(Struct, array_like=True, gc=False):
    """A part without run and event id, its mentions by number."""

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


class PackedEdges(Struct, array_like=True, gc=False):
    """A contribution; datasets, columns and transformations by their place in `names`, `said` and `hows`.

    edges: four numbers each, as in `Edge`.
    """

    names: list[Name]
    said: list[str | None]
    hows: list[How]
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


encode = msgpack.Encoder().encode
_part = msgpack.Decoder(PackedPart)
_edges = msgpack.Decoder(PackedEdges)
mention_from = msgpack.Decoder(Mention).decode
tags_from = msgpack.Decoder(tuple[Tag, ...]).decode
names_from = msgpack.Decoder(list[Name]).decode
lines_from = msgpack.Decoder(tuple[SentEdge, ...]).decode
paths_from = msgpack.Decoder(tuple[tuple[str, ...], ...]).decode


def pack_part(part: Part, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
    """Encode a part whose mentions have these numbers."""
    return encode(
        PackedPart(
            part.kind, part.type, part.time_us, part.received_us, part.job, part.artifact, part.execution,
            part.processing, part.snapshot, tuple(inputs), tuple(outputs), part.declared, part.producer, part.parent,
        )
    )  # fmt: skip


def unpack_part(run_key: str, event: bytes, value: bytes, mention: Callable[[int], Mention]) -> Part:
    """Decode a part."""
    packed = _part.decode(value)
    return Part(
        event.hex(), packed.kind, packed.type, packed.time_us, packed.received_us, run_key, packed.job, packed.artifact,
        packed.execution, packed.processing, packed.snapshot, tuple(map(mention, packed.inputs)),
        tuple(map(mention, packed.outputs)), packed.declared, packed.producer, packed.parent,
    )  # fmt: skip


def order_in(event: bytes, value: bytes) -> Order:
    """Return the order of a part that is encoded."""
    packed = _part.decode(value)
    return order_of(event.hex(), packed.type, packed.time_us, packed.received_us)


def pack_edges(said: Contribution) -> bytes:
    """Encode a contribution; equal ones give equal bytes. What differs from run to run (`landed`) is left out."""
    names: dict[Name, int] = {}
    columns: dict[str | None, int] = {}
    hows: dict[How, int] = {}
    edges: list[int] = []

    def place(name: Name) -> int:
        return names.setdefault(name, len(names))

    output = place(said.output) if said.output else None
    for edge in said.edges:
        edges += (
            place(edge.source), columns.setdefault(edge.column, len(columns)),
            columns.setdefault(edge.target, len(columns)), hows.setdefault(edge.how, len(hows)),
        )  # fmt: skip
    packed: dict[str, Any] = {
        "output": output,
        "edges": edges,
        "tables": [place(name) for name in said.tables],
        "named": [place(name) for name in said.named],
        "also_read": [place(name) for name in said.also_read],
        "opaque": [place(name) for name in said.opaque],
    }
    return encode(
        PackedEdges(
            list(names), list(columns), list(hows), columns=said.columns, bare=said.bare, carries=said.carries,
            shows=said.shows, borrowed=said.borrowed, **packed,
        )
    )  # fmt: skip


def unpack_edges(value: bytes) -> Contribution:
    """Decode a contribution."""
    packed = _edges.decode(value)
    names, said, hows = packed.names, packed.said, packed.hows
    numbers = iter(packed.edges)
    edges = zip(numbers, numbers, numbers, numbers, strict=True)
    return Contribution(
        output=None if packed.output is None else names[packed.output],
        edges=tuple(
            [Edge(names[source], said[column] or "", said[target], hows[how]) for source, column, target, how in edges]
        ),
        columns=packed.columns,
        bare=packed.bare,
        tables=tuple(names[number] for number in packed.tables),
        named=tuple(names[number] for number in packed.named),
        also_read=tuple(names[number] for number in packed.also_read),
        opaque=tuple(names[number] for number in _opaque(packed)),
        carries=packed.carries,
        shows=packed.shows,
        borrowed=packed.borrowed,
    )


def _opaque(packed: PackedEdges) -> list[int]:
    """Return opaque inputs; files from before they were kept had them in outputs without column lineage alone."""
    if packed.opaque is not None:
        return packed.opaque
    return [] if packed.carries else [*packed.tables, *packed.also_read]
