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

event, state: the kind of event and the state of a run.
"... facet": a facet, identified by its name. Lineage facets count as edges instead.
nested value: a value of a run or job facet that is inside a list or deeper than DEEP levels.
long text: a text in a run or job facet with more than LONG_TEXT characters.
many values: each value of run or job facets beyond the first MANY values. The names of nested values, long texts and
many values are `run.FACET` and `job.FACET`.
value edge, other edge: a direct and an indirect edge from column to column.
dataset-wide edge: an edge from a column to a dataset. dataset edge: an edge from a dataset to a column or a dataset.
job edge: an edge to or from a job. subtype, description: properties of an edge.
missing input: a finished run that writes datasets and has no known input. Targets that build edges from inputs show
no edge for such a run.
"""

Held = Literal["whole", "part", "not"]

DEEP = 2
LONG_TEXT = 1000
MANY = 200


class ItemSupport(NamedTuple):
    """How a target represents items of one kind; if several entries match an item, the first one applies.

    names: pattern with `*` that the name of an item must match. held: whether the target keeps the whole item, a part
    or nothing. why: what happens to the item, or an empty text if the target keeps the whole item.
    """

    part: ItemKind | Literal["*"]
    names: str
    held: Held
    why: str = ""


SupportTable = Sequence[ItemSupport]


def full_support(_: Options) -> SupportTable:
    """Return the support table of a target that receives events unchanged; what that system discards is not known."""
    return (ItemSupport("*", "*", "whole"),)


def support_for(support_table: SupportTable, part: str, name: str) -> ItemSupport:
    """Return the first entry that matches an item; every support table has an entry that matches."""
    return next(each for each in support_table if each.part in ("*", part) and fnmatchcase(name, each.names))
