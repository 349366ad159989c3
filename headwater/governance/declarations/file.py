"""Read the YAML file of a declaration; error messages contain file, line, cause and fix."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from headwater.common.errors import WrongSetting
from headwater.governance.yaml_text import YamlText, read_yaml_lines

Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Column = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
DeclarationName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
How = Literal[
    "IDENTITY", "TRANSFORMATION", "AGGREGATION", "JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"
]
"""Subtypes of OpenLineage's transformations: the first three are DIRECT, the others INDIRECT."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _parse_dataset(value: Any) -> Any:
    return {"dataset": value} if isinstance(value, str) else value


def _parse_source(value: Any) -> Any:
    """Parse `DATASET#COLUMN`; a dataset alone means the whole dataset."""
    if not isinstance(value, str):
        return value
    dataset, mark, column = value.rpartition("#")
    return {"dataset": dataset, "column": column} if mark else {"dataset": value}


def _parse_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _wrap_in_list(value: Any) -> Any:
    if value == "":  # no value after the colon
        return []
    return value if isinstance(value, list) else [value]


def _parse_steps(value: Any) -> Any:
    """Parse the short form of steps: all texts in the list together are the sources of one step."""
    listed = _wrap_in_list(value)
    short = [each for each in listed if isinstance(each, str)]
    return [*([{"from": short}] if short else []), *(each for each in listed if not isinstance(each, str))]


class DeclaredPlace(_Part):
    """A dataset.

    namespace: default is the first part of `dataset` if this is an address such as `s3://lake/a`, otherwise the
    namespace of the file.
    """

    dataset: Text
    namespace: Text | None = None


class DeclaredSource(DeclaredPlace):
    """A column of a dataset, or the whole dataset if `column` is None."""

    column: Column | None = None


Places = Annotated[list[Annotated[DeclaredPlace, BeforeValidator(_parse_dataset)]], BeforeValidator(_wrap_in_list)]
Sources = Annotated[list[Annotated[DeclaredSource, BeforeValidator(_parse_source)]], BeforeValidator(_wrap_in_list)]


class DeclaredStep(_Part):
    """A transformation from one or more sources.

    how: default is TRANSFORMATION if the step masks or has a description, otherwise IDENTITY.
    """

    from_: Annotated[Sources, Field(alias="from", min_length=1)]
    how: How | None = None
    masked: bool = False
    description: Text | None = None


class DeclaredOwner(_Part):
    """An owner. type: for example MAINTAINER."""

    name: Text
    type: Text | None = None


Owners = Annotated[list[Annotated[DeclaredOwner, BeforeValidator(_parse_name)]], BeforeValidator(_wrap_in_list)]
Steps = Annotated[list[DeclaredStep], BeforeValidator(_parse_steps)]


class DeclaredOutput(DeclaredPlace):
    """An output of a job.

    columns: maps each column to the steps into it; the list is empty for a column without sources.
    every: the steps into all columns.
    """

    columns: dict[Column, Steps] = {}
    every: Steps = []


Outputs = Annotated[list[Annotated[DeclaredOutput, BeforeValidator(_parse_dataset)]], BeforeValidator(_wrap_in_list)]


class DeclaredJob(_Part):
    """A job that sends no events itself.

    inputs: datasets that the job reads, if the columns are unknown. reads: columns that a job without outputs reads.
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
    """A dataset that no event describes."""

    description: Text | None = None
    owners: Owners = []
    tags: list[Text] = []
    columns: list[Annotated[DeclaredField, BeforeValidator(_parse_name)]] = []


class DeclarationFile(_Part):
    """A file; its jobs and datasets are declared and withdrawn together.

    namespace: default for datasets. owners: default for jobs and datasets.
    """

    version: Literal["1"] = "1"
    name: DeclarationName | None = None
    namespace: Text | None = None
    owners: Owners = []
    jobs: list[DeclaredJob] = []
    datasets: list[DeclaredDataset] = []


def read_declaration_file(text: bytes, file: str) -> DeclarationFile:
    """Parse a file; raises WrongSetting with line, cause and fix if it is invalid."""
    read = read_yaml_lines(text, file)
    if not isinstance(read.value, dict) or "version" not in read.value:
        raise WrongSetting(
            f"{file}, line 1: this is not a declaration. Start with `version: 1`; "
            "docs/how-to/data-engineer/declared-lineage.md has an example."
        )
    try:
        return DeclarationFile.model_validate(read.value)
    except ValidationError as error:
        raise WrongSetting(
            " ".join(_format_error(file, read, each) for each in error.errors()[:_MAX_ERRORS])
        ) from error


_MAX_ERRORS = 5
"""Maximum number of reported errors; later errors are usually consequences of the first ones."""

_FIXES = {
    "missing": "Add it.",
    "extra_forbidden": "Remove it, or correct its name. Known names are {known}.",
    "literal_error": "Write one of {expected}.",
    "string_pattern_mismatch": "Write at most 200 characters on one line.",
    "too_short": "Add at least one item.",
    "list_type": "Start each item with `- `.",
    "dict_type": "Write `name: value`.",
    "model_type": "Write `name: value`.",
    "bool_parsing": "Write true or false.",
    "string_too_short": "Add a value after the colon, or remove the line.",
}


def _format_error(file: str, read: YamlText, error: Any) -> str:
    path = error["loc"]
    expected = error.get("ctx", {}).get("expected", "")
    fix = _FIXES.get(error["type"], "Correct it.").format(expected=expected, known=_valid_keys_text(path[:-1]))
    return f"{file}, line {read.line(path)}: {'.'.join(map(str, path))[:200]}: {error['msg'][:200]}. {fix}"


def _valid_keys_text(path: Iterable[Any]) -> str:
    """Return the valid keys at a path in the file, separated by commas."""
    model: type[BaseModel] = DeclarationFile
    for step in path:
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
