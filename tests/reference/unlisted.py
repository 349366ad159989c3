"""Names in column lineage that a run does not list (docs/reference/lineage.md: 4.10)."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.reference.generations import Dataset
from tests.reference.names import Name
from tests.reference.sql_reading import Statement

Doubt = tuple[Dataset, frozenset[Dataset], bool]
"""What edges come from by a name, the inputs that the name may mean, and whether lineage in force may know better."""


@dataclass
class Listed:
    """What a run lists: by input all names by which its events know it; defined: names of its SQL's own."""

    inputs: dict[Dataset, set[Name]] = field(default_factory=dict)
    outputs: set[Dataset] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)

    def is_listed(self, dataset: Dataset) -> bool:
        return any(dataset[:2] == each[:2] for each in [*self.inputs, *self.outputs])

    def is_own_of_sql(self, name: Name) -> bool:
        return parts(name[1])[-1:] in [[each] for each in self.defined]

    def ending_in(self, name: Name) -> list[Dataset]:
        """Return the inputs that a name is the end of."""
        end = parts(name[1])
        return [
            dataset
            for dataset, names in self.inputs.items()
            if any(each[0] == name[0] and parts(each[1])[-len(end) :] == end for each in names)
        ]

    def may_mean(self, name: Name) -> frozenset[Dataset]:
        """Return the inputs that a name may mean, none where all inputs are outputs, too."""
        if {each[:2] for each in self.inputs} <= {each[:2] for each in self.outputs}:
            return frozenset()
        return frozenset(self.ending_in(name) or self.inputs)


@dataclass
class Reading:
    """How the lineage of one output is read."""

    listed: Listed
    statement: Statement | None
    has_steps: bool

    def of_sql(self, name: Name) -> bool:
        """Tell whether the SQL explains a name."""
        is_whole = self.statement is not None and not self.statement.behind_view
        return self.listed.is_own_of_sql(name) or (is_whole and not self.has_steps)


def parts(name: str) -> list[str]:
    """Return the parts of a name between dots and slashes, without case."""
    path = re.sub(r"\.db(?=/|$)", "", name.casefold()).rpartition("://")[2]
    return [each for each in re.split(r"[./]", path) if each]


def defined_by(query: str) -> set[str]:
    """Return the aliases in an INSERT of the worlds, and the CTE of a model."""
    found = [*re.findall(r" AS (\w+)", query), *re.findall(r"with (\w+) as", query)]
    return {each.casefold() for each in found}


def known_datasets(
    writings: Iterable[tuple[Dataset, Iterable[Dataset], Iterable[Doubt]]], mentions: Iterable[Dataset]
) -> Callable[[Dataset], bool]:
    """Return what tells whether lineage in force knows a dataset beside those who only name it in lineage."""
    known = {dataset[:2] for dataset in mentions}
    for output, read, doubts in writings:
        known.add(output[:2])
        known |= {dataset[:2] for dataset in read} - {dataset[:2] for dataset, _, asks in doubts if asks}
    return lambda dataset: dataset[:2] in known
