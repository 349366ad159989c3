"""A typed decoder of the columnLineage facet. It takes half the time of generic JSON decoding.

The speed matters because this facet is large and its text is often new. The decoder rejects facets with additional
members or other types; `rows.py` decodes such facets generically, with the same results.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

Text = str | UnsetType | None


class SentTransformation(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A transformation.

    The members of this class and the classes below are in alphabetical order, because msgspec encodes them in the order
    of declaration.
    """

    description: Text = UNSET
    masking: bool | UnsetType | None = UNSET
    subtype: Text = UNSET
    type: Text = UNSET


class InputField(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A source column of an output column."""

    field: Text = UNSET
    name: Text = UNSET
    namespace: Text = UNSET
    transformations: list[SentTransformation] | UnsetType | None = UNSET


class OutputField(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The sources of one output column.

    Facets before version 1-1-0 have the transformation here instead of in each input field.
    """

    inputFields: list[InputField] | UnsetType | None = UNSET  # noqa: N815 - the name on the wire
    transformationDescription: Text = UNSET  # noqa: N815
    transformationType: Text = UNSET  # noqa: N815


class ColumnLineage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The facet by spec facets/1-2-0/ColumnLineageDatasetFacet.

    Entries of `dataset` apply to all output columns. Their rows have no output field; there is not one row per column.
    """

    producer: Text = msgspec.field(default=UNSET, name="_producer")
    schema_url: Text = msgspec.field(default=UNSET, name="_schemaURL")
    dataset: list[InputField] | UnsetType | None = UNSET
    fields: dict[str, OutputField] | UnsetType | None = UNSET


_facet = msgspec.json.Decoder(ColumnLineage)
_encode = msgspec.json.Encoder(order="deterministic").encode  # sorts dictionaries; struct members keep their order
_EMPTY = SentTransformation()


@lru_cache(1)
def read_column_lineage(raw: bytes) -> ColumnLineage | None:
    """Decode a facet. Returns None if the facet deviates from the specification.

    Caches the last result, because a caller decodes a facet once for its digest and again for its rows.
    """
    try:
        return _facet.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def canonical_lineage(facet: ColumnLineage) -> bytes:
    """Encode a facet like `facet_digests.canonical_json`, without `_producer` and `_schemaURL`."""
    return _encode(ColumnLineage(dataset=facet.dataset, fields=facet.fields))


def lineage_rows(facet: ColumnLineage) -> Iterator[tuple[Any, ...]]:
    """Yield one row for each transformation of each input, in the order of `tables.COLUMN_LINEAGE`."""
    for output, entry in (facet.fields or {}).items():
        old = _EMPTY
        if entry.transformationType or entry.transformationDescription:
            old = SentTransformation(entry.transformationDescription, UNSET, UNSET, entry.transformationType)
        yield from _edge_rows(output, entry.inputFields or _NOTHING, old)
    yield from _edge_rows(None, facet.dataset or (), _EMPTY)


_NOTHING = [InputField(transformations=[_EMPTY])]
"""A row for a column without sources: it records that the lineage lists the column."""


def _edge_rows(
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
