"""What each target can represent of an event. Tests compare these declarations with the payloads."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from headwater.sinks.interface.options import Options

ItemKind = Literal[
    "event", "state", "read dataset", "written dataset", "run facet", "job facet", "dataset facet", "input facet",
    "output facet", "nested value", "long text", "many values", "nested column", "value edge", "other edge",
    "dataset-wide edge", "dataset edge", "job edge", "masked column", "subtype", "description",
    "missing input",
]  # fmt: skip
"""Kinds of items in events.

event, state: the kind of event and the state of a run. "... facet": a facet by its name; lineage facets count as edges.
nested value, long text, many values: values of run or job facets that are inside lists or deeper than DEEP levels,
longer than LONG_TEXT characters, or beyond the first MANY values; their names are `run.FACET` and `job.FACET`.
value edge, other edge: column to column, direct or indirect. dataset-wide edge: column to dataset.
dataset edge: dataset to column or dataset. job edge: to or from a job. subtype, description: properties of an edge.
missing input: a finished run that writes datasets and has no known input, so that targets which build edges from inputs
show no edge.
"""

Held = Literal["whole", "part", "not"]

DEEP = 2
LONG_TEXT = 1000
MANY = 200


class ItemSupport(NamedTuple):
    """How a target represents some items; of several entries, the first match applies.

    names: a pattern with `*` for the names of items. why: what happens to the items, empty if they are kept whole.
    """

    part: ItemKind | Literal["*"]
    names: str
    held: Held
    why: str = ""


SupportTable = Sequence[ItemSupport]


def full_support(_: Options) -> SupportTable:
    """Return the entries of a target that takes events unchanged; losses inside that system are not known here."""
    return (ItemSupport("*", "*", "whole"),)


def support_for(support_table: SupportTable, part: str, name: str) -> ItemSupport:
    """Return the entry for one item; every declaration has an entry that matches."""
    return next(each for each in support_table if each.part in ("*", part) and fnmatchcase(name, each.names))
