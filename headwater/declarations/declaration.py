"""What a file declares, with every name whole and every step said: pure values."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

from headwater.declarations.declaration_file import (
    DeclarationFile,
    DeclaredDataset,
    DeclaredJob,
    DeclaredOutput,
    DeclaredOwner,
    DeclaredPlace,
    DeclaredStep,
    How,
)
from headwater.errors import WrongSetting
from headwater.lineage.names.dataset_name import Name, split_location

_DIRECT: Sequence[How] = get_args(How)[:3]
READERS = "declared"
"""Namespace of what stands for readers that write nothing that anybody could name."""


class ResolvedStep(NamedTuple):
    """One column, or a whole dataset, on its way."""

    source: Name
    column: str | None
    how: How
    masked: bool
    description: str

    @property
    def kind(self) -> str:
        """DIRECT or INDIRECT."""
        return "DIRECT" if self.how in _DIRECT else "INDIRECT"


class ResolvedOutput(NamedTuple):
    """What a job writes: each column with its steps, and the steps that shape every column."""

    dataset: Name
    columns: dict[str, list[ResolvedStep]]
    every: list[ResolvedStep]


class ResolvedJob(NamedTuple):
    """A declared job; inputs: all that it reads."""

    name: Name
    inputs: list[Name]
    outputs: list[ResolvedOutput]
    owners: Sequence[DeclaredOwner]
    description: str | None
    tags: Sequence[str]


class ResolvedDataset(NamedTuple):
    """What is declared of a dataset itself."""

    name: Name
    said: DeclaredDataset
    owners: Sequence[DeclaredOwner]


class Declaration(NamedTuple):
    """What is declared together, under one name."""

    name: str
    jobs: list[ResolvedJob]
    datasets: list[ResolvedDataset]


def resolved(said: DeclarationFile, name: str) -> Declaration:
    """Return a file's declaration; name: what it goes by if the file does not say. Raises WrongSetting."""
    name = said.name or name
    spaces = _Spaces(said.namespace, name)
    jobs = [_job(each, said.owners, spaces) for each in said.jobs]
    datasets = [ResolvedDataset(spaces.whole(each), each, each.owners or said.owners) for each in said.datasets]
    for what, names in (("job", [each.name for each in jobs]), ("dataset", [each.name for each in datasets])):
        for each, count in Counter(names).items():
            if count > 1:
                raise WrongSetting(f"Declaration {name!r} has the {what} {'/'.join(each.parts)!r} twice. Keep one.")
    return Declaration(name, jobs, datasets)


class _Spaces(NamedTuple):
    default: str | None
    declaration: str

    def whole(self, place: DeclaredPlace) -> Name:
        """Return the dataset that is meant, by its own namespace, its address, or the file's namespace."""
        if place.namespace is not None:
            return Name(place.namespace, place.dataset)
        location = split_location(place.dataset)
        if location:
            return location
        if self.default is None:
            raise WrongSetting(
                f"Declaration {self.declaration!r}: {place.dataset!r} has no namespace. Write `namespace:` beside it "
                "or at the head of the file, or its whole address, such as s3://lake/orders."
            )
        return Name(self.default, place.dataset)


def _job(said: DeclaredJob, owners: Sequence[DeclaredOwner], spaces: _Spaces) -> ResolvedJob:
    outputs = [_output(each, spaces) for each in said.outputs]
    if said.reads:
        outputs.append(_reader(said, [(spaces.whole(each), each.column) for each in said.reads]))
    if not outputs:
        raise WrongSetting(
            f"Declaration {spaces.declaration!r}: job {said.name!r} writes nothing, so nothing follows of it. Name "
            "its `outputs`, or, of what only reads, the columns under `reads`."
        )
    steps = [step for output in outputs for listed in (*output.columns.values(), output.every) for step in listed]
    inputs = dict.fromkeys(
        [*map(spaces.whole, said.inputs), *(step.source for step in steps), *map(spaces.whole, said.reads)]
    )
    return ResolvedJob(
        Name(said.namespace, said.name), [*inputs], outputs, said.owners or owners, said.description, said.tags
    )


def _output(said: DeclaredOutput, spaces: _Spaces) -> ResolvedOutput:
    columns = {column: [*_steps(steps, spaces)] for column, steps in said.columns.items()}
    return ResolvedOutput(spaces.whole(said), columns, [*_steps(said.every, spaces)])


def _steps(said: Iterable[DeclaredStep], spaces: _Spaces) -> Iterable[ResolvedStep]:
    for step in said:
        how: How = step.how or ("TRANSFORMATION" if step.masked or step.description else "IDENTITY")
        for source in step.from_:
            yield ResolvedStep(spaces.whole(source), source.column, how, step.masked, step.description or "")


def _reader(said: DeclaredJob, read: Sequence[tuple[Name, str | None]]) -> ResolvedOutput:
    """Return what stands for a reader: a dataset with a column for each that it reads."""
    columns: dict[str, list[ResolvedStep]] = {}
    for dataset, column in read:
        if column is not None:
            is_taken = column in columns
            called = f"{dataset.name.rpartition('/')[2]}.{column}" if is_taken else column
            columns.setdefault(called, []).append(ResolvedStep(dataset, column, "IDENTITY", False, ""))
    return ResolvedOutput(Name(READERS, f"{said.namespace}/{said.name}"), columns, [])
