"""Values of the rules as text in flat columns, and back; a text that comes again is read once."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from headwater.events.facets import Memo
from headwater.lineage.contents import ContentsInMemory, Path, SentEdge
from headwater.lineage.edges import Contribution
from headwater.lineage.name import Name
from headwater.lineage.outcome import Reported
from headwater.lineage.part import DELETED, Part

T = TypeVar("T")


class Carried(Struct, array_like=True):
    """The facets that the parts of one run refer to, by hash."""

    schemas: dict[str, tuple[Path, ...]]
    lineage: dict[str, tuple[SentEdge, ...]]


class Reading(Generic[T]):
    """Decodes one kind of text; recurring texts cost a look-up."""

    def __init__(self, kind: type[T]):
        """Remember nothing yet."""
        self._decoder = msgspec.json.Decoder(kind)
        self._memo: Memo[T] = Memo()

    def __call__(self, text: str) -> T:
        """Return the value; it is shared, so nobody may change it."""
        raw = text.encode()
        return self._memo.get(raw) or self._memo.put(raw, self._decoder.decode(raw))


_parts = msgspec.json.Decoder(list[Part])
_encoder = msgspec.json.Encoder()


def parts_text(parts: Iterable[Part]) -> str:
    """Return parts as text."""
    return _encoder.encode(list(parts)).decode()


def read_parts(text: str) -> list[Part]:
    """Return the parts of a text."""
    return _parts.decode(text)


def text_of(value: object) -> str:
    """Return any value of the rules as JSON."""
    return _encoder.encode(value).decode()


def key_of(*parts: str | None) -> str:
    """Return a short key for what several texts name together."""
    return digest_of(parts)


def digest_of(value: object) -> str:
    """Return a short digest of any value of the rules."""
    return hashlib.sha256(_encoder.encode(value)).hexdigest()[:32]


class CarriedTexts:
    """Writes what parts carry, each facet encoded once."""

    def __init__(self, contents: ContentsInMemory):
        """`contents`: holds all that the parts refer to."""
        self._contents = contents
        self._schemas: dict[str, Raw] = {}
        self._lineage: dict[str, Raw] = {}

    def of(self, part: Part) -> str:
        """Return the contents of an event."""
        schemas, lineage = hashes_of(part)
        held = (
            {name: self._schema(name) for name in sorted(schemas)},
            {name: self._edges(name) for name in sorted(lineage)},
        )
        return _encoder.encode(held).decode()

    def _schema(self, name: str) -> Raw:
        known = self._schemas.get(name)
        return known or self._schemas.setdefault(name, Raw(_encoder.encode(self._contents.schema(name))))

    def _edges(self, name: str) -> Raw:
        known = self._lineage.get(name)
        return known or self._lineage.setdefault(name, Raw(_encoder.encode(self._contents.lineage(name))))


def hashes_of(part: Part) -> tuple[set[str], set[str]]:
    """Return the hashes of the schemas and of the lineage facets that a part refers to."""
    mentions = (*part.inputs, *part.outputs)
    lineage = {found for _, found in part.declared}
    lineage.update(found for one in mentions for found in (one.lineage, one.declared) if found)
    return {one.schema for one in mentions if one.schema} - {DELETED}, lineage - {DELETED}


def union(carried: Sequence[Carried]) -> Carried:
    """Return all that several texts hold, in the same order whichever comes first."""
    if len(carried) == 1:
        return carried[0]
    held = Carried({}, {})
    for each in carried:
        held.schemas.update(each.schemas)
        held.lineage.update(each.lineage)
    return Carried(dict(sorted(held.schemas.items())), dict(sorted(held.lineage.items())))


def contents_of(carried: Carried) -> ContentsInMemory:
    """Return contents that the rules can ask."""
    contents = ContentsInMemory()
    add_all(contents, carried.schemas, carried.lineage)
    return contents


def add_all(
    contents: ContentsInMemory, schemas: Mapping[str, Sequence[Path]], lineage: Mapping[str, Sequence[SentEdge]]
) -> None:
    """Put schemas and lineage facets into contents."""
    for name, columns in schemas.items():
        contents.add_schema(name, columns)
    for name, edges in lineage.items():
        contents.add_lineage(name, edges)


read_said = Reading(list[tuple[str, str, str, str]])
read_names = Reading(list[Name])
read_reported = Reading(Reported)
read_contribution = Reading(Contribution)
