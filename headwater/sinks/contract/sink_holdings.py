"""What a target holds of what events say: a declaration beside each target, held against its payloads by a test."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from headwater.sinks.contract.sink_options import Options

ThingPart = Literal[
    "event", "state", "read dataset", "written dataset", "run facet", "job facet", "dataset facet", "input facet",
    "output facet", "nested value", "long text", "many values", "nested column", "value edge", "other edge",
    "dataset-wide edge", "dataset edge", "job edge", "masked column", "subtype", "description",
    "missing input",
]  # fmt: skip
"""Parts of what events say.

event, state: which event, which state of a run; … facet: by its name, but for lineage, which is the edges.
nested value, long text, many values: what facets of a run or a job have in lists or deeper than DEEP members, beyond
LONG_TEXT characters, beyond MANY values; called `run.FACET` and `job.FACET`.
value edge, other edge: from column to column, direct or not; dataset-wide edge: from a column to a dataset;
dataset edge: from a dataset to a column or a dataset; job edge: to or from a job; subtype, description: of an edge.
missing input: of an ended run that writes datasets and of which no input is known, so that a target that draws edges
from inputs draws none.
"""

Held = Literal["whole", "part", "not"]

DEEP = 2
LONG_TEXT = 1000
MANY = 200


class Holding(NamedTuple):
    """What a target does with some things; of several that fit the first counts.

    names: a pattern with `*` of what things are called; why: what becomes of them there, None where all is well.
    """

    part: ThingPart | Literal["*"]
    names: str
    held: Held
    why: str = ""


Holdings = Sequence[Holding]


def as_sent(_: Options) -> Holdings:
    """Return what a target holds that takes events as they are; what it makes of them is its own affair."""
    return (Holding("*", "*", "whole"),)


def holding_of(holdings: Holdings, part: str, name: str) -> Holding:
    """Return what becomes of one thing; a declaration says something of everything."""
    return next(each for each in holdings if each.part in ("*", part) and fnmatchcase(name, each.names))
