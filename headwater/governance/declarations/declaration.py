"""Resolve the names and steps of a declaration, without I/O."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

from headwater.common.errors import WrongSetting
from headwater.governance.declarations.file import (
    DeclarationFile,
    DeclaredDataset,
    DeclaredJob,
    DeclaredOutput,
    DeclaredOwner,
    DeclaredPlace,
    DeclaredStep,
    How,
)
from headwater.lineage.names.dataset_name import Name, split_location

_DIRECT: Sequence[How] = get_args(How)[:3]
READERS = "declared"
"""Namespace of the datasets that represent jobs without outputs, which only read."""


class ResolvedStep(NamedTuple):
    """A transformation from a column, or from a whole dataset if `column` is None."""

    source: Name
    column: str | None
    how: How
    masked: bool
    description: str

    @property
    def transformation_type(self) -> str:
        """The type of the transformation: DIRECT or INDIRECT."""
        return "DIRECT" if self.how in _DIRECT else "INDIRECT"


class ResolvedOutput(NamedTuple):
    """An output. columns: maps each column to the steps into it. steps_into_all_columns: the steps into all columns."""

    dataset: Name
    columns: dict[str, list[ResolvedStep]]
    steps_into_all_columns: list[ResolvedStep]


class ResolvedJob(NamedTuple):
    """A declared job. inputs: all datasets that the job reads."""

    name: Name
    inputs: list[Name]
    outputs: list[ResolvedOutput]
    owners: Sequence[DeclaredOwner]
    description: str | None
    tags: Sequence[str]


class ResolvedDataset(NamedTuple):
    """A declared dataset with its name, the entry in the file, and its owners."""

    name: Name
    declared: DeclaredDataset
    owners: Sequence[DeclaredOwner]


class Declaration(NamedTuple):
    """All jobs and datasets of one declaration."""

    name: str
    jobs: list[ResolvedJob]
    datasets: list[ResolvedDataset]


def resolve_declaration(declared: DeclarationFile, name: str) -> Declaration:
    """Return the declaration of a file; raises WrongSetting if a name is ambiguous, repeated or incomplete.

    name: name of the declaration if the file does not contain one.
    """
    name = declared.name or name
    namespaces = _Namespaces(declared.namespace, name)
    jobs = [_resolve_job(each, declared.owners, namespaces) for each in declared.jobs]
    datasets = [
        ResolvedDataset(namespaces.dataset_at(each), each, each.owners or declared.owners) for each in declared.datasets
    ]
    for what, names in (("job", [each.name for each in jobs]), ("dataset", [each.name for each in datasets])):
        for each, count in Counter(names).items():
            if count > 1:
                raise WrongSetting(
                    f"Declaration {name!r} contains the {what} {'/'.join(each.parts)!r} twice. Keep one of them."
                )
    return Declaration(name, jobs, datasets)


class _Namespaces(NamedTuple):
    default: str | None
    declaration: str

    def dataset_at(self, place: DeclaredPlace) -> Name:
        """Return the name of a dataset: with its own namespace, split from its address, or with the file's namespace.

        Raises WrongSetting if there is no namespace.
        """
        if place.namespace is not None:
            return Name(place.namespace, place.dataset)
        location = split_location(place.dataset)
        if location:
            return location
        if self.default is None:
            raise WrongSetting(
                f"Declaration {self.declaration!r}: {place.dataset!r} has no namespace. Add `namespace:` next to it or "
                "at the top of the file, or write its full address, such as s3://lake/orders."
            )
        return Name(self.default, place.dataset)


def _resolve_job(declared: DeclaredJob, owners: Sequence[DeclaredOwner], namespaces: _Namespaces) -> ResolvedJob:
    outputs = [_resolve_output(each, namespaces) for each in declared.outputs]
    if declared.reads:
        outputs.append(
            _reader_output(declared, [(namespaces.dataset_at(each), each.column) for each in declared.reads])
        )
    if not outputs:
        raise WrongSetting(
            f"Declaration {namespaces.declaration!r}: job {declared.name!r} has no outputs, so it declares no lineage. "
            "Add its `outputs`, or list the columns under `reads` if the job only reads."
        )
    steps = [
        step
        for output in outputs
        for listed in (*output.columns.values(), output.steps_into_all_columns)
        for step in listed
    ]
    inputs = dict.fromkeys(
        [
            *map(namespaces.dataset_at, declared.inputs),
            *(step.source for step in steps),
            *map(namespaces.dataset_at, declared.reads),
        ]
    )
    return ResolvedJob(
        Name(declared.namespace, declared.name),
        [*inputs],
        outputs,
        declared.owners or owners,
        declared.description,
        declared.tags,
    )


def _resolve_output(declared: DeclaredOutput, namespaces: _Namespaces) -> ResolvedOutput:
    columns = {column: [*_resolve_steps(steps, namespaces)] for column, steps in declared.columns.items()}
    return ResolvedOutput(namespaces.dataset_at(declared), columns, [*_resolve_steps(declared.every, namespaces)])


def _resolve_steps(declared: Iterable[DeclaredStep], namespaces: _Namespaces) -> Iterable[ResolvedStep]:
    for step in declared:
        how: How = step.how or ("TRANSFORMATION" if step.masked or step.description else "IDENTITY")
        for source in step.from_:
            yield ResolvedStep(namespaces.dataset_at(source), source.column, how, step.masked, step.description or "")


def _reader_output(declared: DeclaredJob, read: Sequence[tuple[Name, str | None]]) -> ResolvedOutput:
    """Return the dataset that represents a job without outputs, with a column for each column that the job reads."""
    columns: dict[str, list[ResolvedStep]] = {}
    for dataset, column in read:
        if column is not None:
            is_taken = column in columns
            called = f"{dataset.name.rpartition('/')[2]}.{column}" if is_taken else column
            columns.setdefault(called, []).append(ResolvedStep(dataset, column, "IDENTITY", False, ""))
    return ResolvedOutput(Name(READERS, f"{declared.namespace}/{declared.name}"), columns, [])
