"""Converts rows to Arrow. Nested columns are flattened first, so that no dictionary is built for each dataset."""

from collections.abc import Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any

import pyarrow as pa

from headwater.tables import ListOf, StructOf, Table, Type

_SCALARS = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
}


def arrow_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema of a table. All columns are nullable."""
    return pa.schema([(name, arrow_type(kind)) for name, kind in table.columns.items()])


def arrow_type(kind: Type) -> pa.DataType:
    """Return the Arrow type of a column."""
    if isinstance(kind, ListOf):
        return pa.list_(arrow_type(kind.item))
    if isinstance(kind, StructOf):
        return pa.struct([(name, arrow_type(part)) for name, part in kind.fields.items()])
    return _SCALARS[kind]


def arrow_batch(table: Table, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Build a record batch from rows in column order.

    Raises ValueError or TypeError (both pyarrow's) if a value does not fit its column.
    """
    columns = zip(*rows, strict=True) if rows else [()] * len(table.columns)
    arrays = [_to_arrow_array(values, kind) for values, kind in zip(columns, table.columns.values(), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(table))


def rows_where(batch: pa.RecordBatch, mask: Sequence[bool]) -> pa.RecordBatch:
    """Return the rows of a batch for which the mask is true. mask: one value for each row."""
    return batch.filter(pa.array(mask, pa.bool_()))


def _to_arrow_array(values: Sequence[Any], kind: Type) -> pa.Array:
    if isinstance(kind, ListOf):
        return _to_list_array(values, kind)
    if isinstance(kind, StructOf):
        arrays = [_to_arrow_array(list(map(attrgetter(name), values)), part) for name, part in kind.fields.items()]
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(kind)))
    return pa.array(values, _SCALARS[kind])


def _to_list_array(values: Sequence[Any], kind: ListOf) -> pa.Array:
    known = [value or () for value in values]
    offsets = pa.array(accumulate(map(len, known), initial=0), pa.int32())
    absent = pa.array([value is None for value in values]) if None in values else None
    return pa.ListArray.from_arrays(offsets, _to_arrow_array(list(chain.from_iterable(known)), kind.item), mask=absent)
