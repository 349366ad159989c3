"""Names in column lineage that a run does not list (docs/reference/lineage.md: 4.10)."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.reference.generations import Dataset
from tests.reference.names import Name
from tests.reference.sql_reading import Statement

Doubt = tuple[Dataset, frozenset[Dataset], bool]
"""The source dataset of edges, the inputs to which its name may refer, and whether current lineage may know it."""


@dataclass
class Listed:
    """The datasets that a run lists.

    inputs: all names of each input in the run's events. defined: names that the run's SQL defines.
    """

    inputs: dict[Dataset, set[Name]] = field(default_factory=dict)
    outputs: set[Dataset] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)

    def is_listed(self, dataset: Dataset) -> bool:
        return any(dataset[:2] == each[:2] for each in [*self.inputs, *self.outputs])

    def is_own_of_sql(self, name: Name) -> bool:
        return parts(name[1])[-1:] in [[each] for each in self.defined]

    def ending_in(self, name: Name) -> list[Dataset]:
        """Return the inputs whose names end with a name."""
        end = parts(name[1])
        return [
            dataset
            for dataset, names in self.inputs.items()
            if any(each[0] == name[0] and parts(each[1])[-len(end) :] == end for each in names)
        ]

    def may_mean(self, name: Name) -> frozenset[Dataset]:
        """Return the inputs to which a name may refer, or none if all inputs are also outputs."""
        if {each[:2] for each in self.inputs} <= {each[:2] for each in self.outputs}:
            return frozenset()
        return frozenset(self.ending_in(name) or self.inputs)


@dataclass
class Reading:
    """How to read the lineage of one output."""

    listed: Listed
    statement: Statement | None
    has_steps: bool

    def of_sql(self, name: Name) -> bool:
        """Return whether the SQL explains a name."""
        is_whole = self.statement is not None and not self.statement.behind_view
        return self.listed.is_own_of_sql(name) or (is_whole and not self.has_steps)


def parts(name: str) -> list[str]:
    """Return the parts of a name between dots and slashes, in lower case."""
    path = re.sub(r"\.db(?=/|$)", "", name.casefold()).rpartition("://")[2]
    return [each for each in re.split(r"[./]", path) if each]


def defined_by(query: str) -> set[str]:
    """Return the aliases in a generated INSERT, and the CTE of a model."""
    found = [*re.findall(r" AS (\w+)", query), *re.findall(r"with (\w+) as", query)]
    return {each.casefold() for each in found}


def known_datasets(
    writings: Iterable[tuple[Dataset, Iterable[Dataset], Iterable[Doubt]]], mentions: Iterable[Dataset]
) -> Callable[[Dataset], bool]:
    """Return a function for datasets.

    It returns whether current lineage knows the dataset from more than names in lineage.
    """
    known = {dataset[:2] for dataset in mentions}
    for output, read, doubts in writings:
        known.add(output[:2])
        known |= {dataset[:2] for dataset in read} - {dataset[:2] for dataset, _, asks in doubts if asks}
    return lambda dataset: dataset[:2] in known
