"""A file of declarations: what a YAML file may say, and errors that name file, line, what is wrong and what fits."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from headwater.declarations.yaml_lines import YamlText, read_yaml
from headwater.errors import WrongSetting

Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Column = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
DeclarationName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
How = Literal[
    "IDENTITY", "TRANSFORMATION", "AGGREGATION", "JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"
]
"""Subtypes of OpenLineage's transformations; the first three are DIRECT, the others INDIRECT."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _of_dataset(value: Any) -> Any:
    return {"dataset": value} if isinstance(value, str) else value


def _of_source(value: Any) -> Any:
    """Read `DATASET#COLUMN`; a dataset alone stands for the whole of it."""
    if not isinstance(value, str):
        return value
    dataset, mark, column = value.rpartition("#")
    return {"dataset": dataset, "column": column} if mark else {"dataset": value}


def _of_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _listed(value: Any) -> Any:
    if value == "":  # nothing behind the colon
        return []
    return value if isinstance(value, list) else [value]


def _of_steps(value: Any) -> Any:
    """Read the short ways to write steps: texts are sources of one step."""
    listed = _listed(value)
    short = [each for each in listed if isinstance(each, str)]
    return [*([{"from": short}] if short else []), *(each for each in listed if not isinstance(each, str))]


class DeclaredPlace(_Part):
    """A dataset; namespace: that of the file without one, or the first part of an address such as `s3://lake/a`."""

    dataset: Text
    namespace: Text | None = None


class DeclaredSource(DeclaredPlace):
    """A column of a dataset, or without one the whole of it."""

    column: Column | None = None


Places = Annotated[list[Annotated[DeclaredPlace, BeforeValidator(_of_dataset)]], BeforeValidator(_listed)]
Sources = Annotated[list[Annotated[DeclaredSource, BeforeValidator(_of_source)]], BeforeValidator(_listed)]


class DeclaredStep(_Part):
    """What happens to columns on their way; without `how` TRANSFORMATION where it masks or says more, else IDENTITY."""

    from_: Annotated[Sources, Field(alias="from", min_length=1)]
    how: How | None = None
    masked: bool = False
    description: Text | None = None


class DeclaredOwner(_Part):
    """Who answers for something; type: such as MAINTAINER."""

    name: Text
    type: Text | None = None


Owners = Annotated[list[Annotated[DeclaredOwner, BeforeValidator(_of_name)]], BeforeValidator(_listed)]
Steps = Annotated[list[DeclaredStep], BeforeValidator(_of_steps)]


class DeclaredOutput(DeclaredPlace):
    """What a job writes.

    columns: what each is made of, nothing for what was filled by hand; every: steps that shape all columns.
    """

    columns: dict[Column, Steps] = {}
    every: Steps = []


Outputs = Annotated[list[Annotated[DeclaredOutput, BeforeValidator(_of_dataset)]], BeforeValidator(_listed)]


class DeclaredJob(_Part):
    """A job that nobody reports.

    inputs: what it reads without saying which columns; reads: what leaves the lake by it, for a reader without outputs.
    """

    name: Text
    namespace: Text = "declared"
    description: Text | None = None
    owners: Owners = []
    tags: list[Text] = []
    inputs: Places = []
    outputs: Outputs = []
    reads: Sources = []


class DeclaredField(_Part):
    """A column of a dataset."""

    name: Column
    type: Text | None = None
    description: Text | None = None
    tags: list[Text] = []


class DeclaredDataset(DeclaredPlace):
    """What is known of a dataset that no event describes."""

    description: Text | None = None
    owners: Owners = []
    tags: list[Text] = []
    columns: list[Annotated[DeclaredField, BeforeValidator(_of_name)]] = []


class DeclarationFile(_Part):
    """A file: what it declares together, and is withdrawn together; owners: of all that names none of its own."""

    version: Literal["1"] = "1"
    name: DeclarationName | None = None
    namespace: Text | None = None
    owners: Owners = []
    jobs: list[DeclaredJob] = []
    datasets: list[DeclaredDataset] = []


def read_declaration_file(text: bytes, file: str) -> DeclarationFile:
    """Read a file; raises WrongSetting naming its line, what is wrong there, why, and what to write."""
    read = read_yaml(text, file)
    if not isinstance(read.value, dict) or "version" not in read.value:
        raise WrongSetting(f"{file}, line 1: no declarations. Begin with `version: 1`; docs/declare.md has an example.")
    try:
        return DeclarationFile.model_validate(read.value)
    except ValidationError as error:
        raise WrongSetting(" ".join(_told(file, read, each) for each in error.errors()[:_SHOWN])) from error


_SHOWN = 5
"""Of the errors of one file; the others mostly follow from them."""

_FIXES = {
    "missing": "Add it.",
    "extra_forbidden": "Remove it, or correct its name: {known}.",
    "literal_error": "Write one of {expected}.",
    "string_pattern_mismatch": "Write 200 characters at most, on one line.",
    "too_short": "Name at least one.",
    "list_type": "Begin each with `- `.",
    "dict_type": "Write `name: value`.",
    "model_type": "Write `name: value`.",
    "bool_parsing": "Write true or false.",
    "string_too_short": "Write something behind the colon, or leave it out.",
}


def _told(file: str, read: YamlText, error: Any) -> str:
    way = error["loc"]
    expected = error.get("ctx", {}).get("expected", "")
    fix = _FIXES.get(error["type"], "Correct it.").format(expected=expected, known=_known(way[:-1]))
    return f"{file}, line {read.line(way)}: {'.'.join(map(str, way))[:200]}: {error['msg'][:200]}. {fix}"


def _known(way: Iterable[Any]) -> str:
    """Name the keys that are known where an unknown one stands."""
    model: type[BaseModel] = DeclarationFile
    for step in way:
        model = _PARTS.get((model, step), model)
    return ", ".join(field.alias or name for name, field in model.model_fields.items())


_PARTS: dict[tuple[type[BaseModel], Any], type[BaseModel]] = {
    (DeclarationFile, "jobs"): DeclaredJob, (DeclarationFile, "datasets"): DeclaredDataset,
    (DeclaredJob, "outputs"): DeclaredOutput, (DeclaredJob, "inputs"): DeclaredPlace,
    (DeclaredJob, "reads"): DeclaredSource, (DeclaredOutput, "columns"): DeclaredStep,
    (DeclaredOutput, "every"): DeclaredStep, (DeclaredStep, "from"): DeclaredSource,
    (DeclaredDataset, "columns"): DeclaredField, (DeclarationFile, "owners"): DeclaredOwner,
    (DeclaredJob, "owners"): DeclaredOwner, (DeclaredDataset, "owners"): DeclaredOwner,
}  # fmt: skip
