"""Converts cells of bronze tables, with structs as dictionaries, back to event types: the inverse of `rows.py`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headwater.events.event import EventShape, Facet, Sent, SentSymlink, SentTag, UsedDataset
from headwater.tables import SHAPES

SENT = {**{name: name for name in Sent.__struct_fields__}, "kind": "event_kind", "event_time_us": "event_time"}
"""Maps each member of `Sent` to its column of the table `events`."""


class StoredHead(NamedTuple):
    """The subject of a stored event.

    state: the event type, such as COMPLETE. size: length of the body in bytes.
    """

    sequence: int
    event_id: str
    received_us: int
    kind: str
    state: str | None
    run_id: str | None
    job_namespace: str | None
    job_name: str | None
    size: int


def sent_from_cells(cells: Sequence[Any]) -> Sent | None:
    """Convert the cells of the columns in `SENT` to a `Sent`.

    Returns None for a row that an older version with fewer columns wrote.
    """
    named = dict(zip(SENT, cells, strict=True))
    if named["shape"] is None:
        return None
    if named["versions"] is not None:
        named["versions"] = tuple(named["versions"])
    return Sent(**named)


def shape_from_cells(cells: Sequence[Any]) -> EventShape:
    """Convert a row of the table `shapes` to an `EventShape`."""
    named = dict(zip(SHAPES.columns, cells, strict=True))
    named |= {side: tuple(_used_dataset_from_cell(each) for each in named[side]) for side in ("inputs", "outputs")}
    return EventShape(
        **{**named, "run_facets": tuple(named["run_facets"]), "job_facets": _facets_from_cells(named["job_facets"])}
    )


def _used_dataset_from_cell(cell: Mapping[str, Any]) -> UsedDataset:
    tags = cell["tags"]
    lists = {
        "symlinks": tuple(SentSymlink(**link) for link in cell["symlinks"]),
        "tags": None if tags is None else tuple(SentTag(**tag) for tag in tags),
        "facets": _facets_from_cells(cell["facets"]),
        "counted": tuple(cell["counted"]),
    }
    return UsedDataset(**{**cell, **lists})


def _facets_from_cells(cells: Sequence[Mapping[str, Any]]) -> tuple[Facet, ...]:
    return tuple(Facet(**cell) for cell in cells)
