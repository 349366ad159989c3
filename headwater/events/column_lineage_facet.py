"""The columnLineage facet, the one that is large and often new: typed, at half the cost of any JSON.

Facets with members of their own or of other types are refused here and take the general way, with equal results.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

Text = str | UnsetType | None


class SentTransformation(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What happened to an input on its way; members in alphabetical order, here and below: so they are encoded."""

    description: Text = UNSET
    masking: bool | UnsetType | None = UNSET
    subtype: Text = UNSET
    type: Text = UNSET


class InputField(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A column that another is made of."""

    field: Text = UNSET
    name: Text = UNSET
    namespace: Text = UNSET
    transformations: list[SentTransformation] | UnsetType | None = UNSET


class OutputField(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What one column is made of; the transformation stood here before 1-1-0."""

    inputFields: list[InputField] | UnsetType | None = UNSET  # noqa: N815 - the name on the wire
    transformationDescription: Text = UNSET  # noqa: N815
    transformationType: Text = UNSET  # noqa: N815


class ColumnLineage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Spec facets/1-2-0/ColumnLineageDatasetFacet; `dataset` entries have no output field and stay unexpanded."""

    producer: Text = msgspec.field(default=UNSET, name="_producer")
    schema_url: Text = msgspec.field(default=UNSET, name="_schemaURL")
    dataset: list[InputField] | UnsetType | None = UNSET
    fields: dict[str, OutputField] | UnsetType | None = UNSET


_facet = msgspec.json.Decoder(ColumnLineage)
_encode = msgspec.json.Encoder(order="deterministic").encode  # sorts dictionaries; struct members keep their order
_EMPTY = SentTransformation()


@lru_cache(1)
def read_column_lineage(raw: bytes) -> ColumnLineage | None:
    """Decode a facet; None where it is not exactly what the specification says.

    Keeps the last one, because its digest is wanted and then its rows.
    """
    try:
        return _facet.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def canonical_lineage(facet: ColumnLineage) -> bytes:
    """Encode a facet as `facets.canonical` does, without `_producer` and `_schemaURL`."""
    return _encode(ColumnLineage(dataset=facet.dataset, fields=facet.fields))


def lineage_rows(facet: ColumnLineage) -> Iterator[tuple[Any, ...]]:
    """Yield one row for each transformation of each input, in the order of `tables.COLUMN_LINEAGE`."""
    for output, entry in (facet.fields or {}).items():
        old = _EMPTY
        if entry.transformationType or entry.transformationDescription:
            old = SentTransformation(entry.transformationDescription, UNSET, UNSET, entry.transformationType)
        yield from _edges(output, entry.inputFields or _NOTHING, old)
    yield from _edges(None, facet.dataset or (), _EMPTY)


_NOTHING = [InputField(transformations=[_EMPTY])]
"""A column made of no other is still named: somebody accounts for it."""


def _edges(
    output: str | None, sources: list[InputField] | tuple[()], old: SentTransformation
) -> Iterator[tuple[Any, ...]]:
    for source in sources:
        for step in source.transformations or (old,):
            row = (
                "columnLineage", None, None, None, None, output,
                None, source.namespace, source.name, source.field, None,
                step.type, step.subtype, step.description, step.masking,
            )  # fmt: skip
            yield row if UNSET not in row else tuple(None if value is UNSET else value for value in row)
