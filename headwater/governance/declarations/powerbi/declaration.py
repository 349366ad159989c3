"""Declare semantic models from Power BI files: tables, measures and reports as datasets of `powerbi://`. No I/O."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from headwater.common.errors import WrongSetting
from headwater.governance.declarations.file import (
    DeclarationFile,
    DeclaredDataset,
    DeclaredField,
    DeclaredJob,
    DeclaredOutput,
    DeclaredOwner,
    DeclaredPlace,
    DeclaredSource,
    DeclaredStep,
    How,
)
from headwater.governance.declarations.powerbi.dax import ModelNames, UsedColumn, only_counted_columns
from headwater.governance.declarations.powerbi.m_expressions import TableSource, entity_source, table_source
from headwater.governance.declarations.powerbi.model import (
    CalcDependency,
    ModelColumn,
    ModelTable,
    SemanticModel,
    add_csv_list,
    models_of_scan,
)

MEASURES = "measures"
_HOST = "powerbi://api.powerbi.com/v1.0/myorg"


def read_powerbi(
    files: Iterable[tuple[str, bytes]], workspace: str | None, model: str | None, say: Callable[[str], None]
) -> list[DeclarationFile]:
    """Return a declaration for each model; raises WrongSetting if the format of a file is unknown.

    files: pairs of name and content, either scan results or CSV lists.
    workspace, model: names for the CSV lists, which do not contain these names.
    say: receives a message for each table with an unknown source.
    """
    found: list[SemanticModel] = []
    listed: SemanticModel | None = None
    for file, content in files:
        if file.casefold().endswith(".csv"):
            if not workspace or not model:
                raise WrongSetting(f"{file} does not name its model. Add --workspace NAME --model NAME.")
            listed = listed or SemanticModel(workspace, model)
            add_csv_list(listed, _utf8_text(file, content), file)
        else:
            found += _models_of_scan_file(file, content)
    return [model_declaration(each, say) for each in (*found, *([listed] if listed else []))]


def _models_of_scan_file(file: str, content: bytes) -> list[SemanticModel]:
    try:
        scan: Any = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except msgspec.DecodeError as error:
        raise WrongSetting(
            f"{file} is not valid JSON: {error}. Use the response of scanResult, or lists as .csv files."
        ) from error
    if not isinstance(scan, dict) or not isinstance(scan.get("workspaces"), list):
        raise WrongSetting(
            f"{file} has no `workspaces`, so it is not a scan result. Call the admin API getInfo?datasetSchema=true"
            "&datasetExpressions=true&lineage=true, and save the response of scanResult."
        )
    return [*models_of_scan(scan)]


def _utf8_text(file: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise WrongSetting(f"{file} is not valid UTF-8 ({error.reason}). Write it with DataFrame.to_csv.") from error


Say = Callable[[str], None]


def model_declaration(model: SemanticModel, say: Say) -> DeclarationFile:
    """Return the declaration of a model. say: receives a message for each table with an unknown source."""
    space = f"{_HOST}/{model.workspace}"
    uses = _UsedSources(model, space)
    jobs = [_refresh_job(model, table, space, say) for table in model.tables.values() if table.columns]
    jobs += [_calculated_table_job(model, table, space, uses) for table in model.tables.values()]
    jobs.append(_measures_job(model, space, uses))
    jobs += [_report_job(model, report, space) for report in dict.fromkeys(model.reports)]
    return DeclarationFile(
        name=f"powerbi {model.workspace}/{model.name}"[:200],
        namespace=space,
        owners=[DeclaredOwner(name=model.owner)] if model.owner else [],
        jobs=[job for job in jobs if job is not None],
        datasets=[*_described_datasets(model)],
    )


def _described_datasets(model: SemanticModel) -> Iterable[DeclaredDataset]:
    for table in model.tables.values():
        if table.columns:
            fields = [DeclaredField(name=each.name, type=each.type or None) for each in table.columns]
            yield DeclaredDataset(dataset=f"{model.name}/{table.name}", columns=fields)
    measures = [each for table in model.tables.values() for each in table.measures]
    if measures:
        fields = [DeclaredField(name=each.name, description=each.description or None) for each in measures]
        yield DeclaredDataset(dataset=f"{model.name}/{MEASURES}", columns=fields)


def _declared_job(
    space: str, name: str, description: str, outputs: list[DeclaredOutput], inputs: list[DeclaredPlace]
) -> DeclaredJob:
    return DeclaredJob(namespace=space, name=name, description=description, outputs=outputs, inputs=inputs)


def _refresh_job(model: SemanticModel, table: ModelTable, space: str, say: Say) -> DeclaredJob | None:
    """Return the job that fills a table from the sources of its partitions; None if no source is known."""
    found = [_parse_source(text, model.expressions) for text in table.sources]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        if table.calculated is None:
            say(f"{model.workspace}/{model.name}: skipped table {table.name!r}, because its source is unknown.")
        if not known:
            return None
    columns = {}
    for column in table.columns:
        if column.expression is None and all(each.by_name for each in known):
            columns[column.name] = [_declared_step(_sources_of_column(column, known), "IDENTITY")]
    output = DeclaredOutput(dataset=f"{model.name}/{table.name}", columns=columns)
    description = f"Refreshes table {table.name} of the semantic model {model.name}."
    return _declared_job(
        space, f"{model.name}/{table.name} refresh", description, [output], [each.place for each in known]
    )


def _parse_source(text: str, shared: Mapping[str, str]) -> TableSource | None:
    if text.startswith("entity:"):
        schema, _, entity = text.removeprefix("entity:").rpartition("/")
        return entity_source(entity, schema or None, shared)
    return table_source(text, shared)


def _sources_of_column(column: ModelColumn, known: Iterable[TableSource]) -> list[DeclaredSource]:
    sources = []
    for each in known:
        name = column.source or column.name
        source_name = each.renamed.get(name.casefold(), name)
        sources.append(DeclaredSource(namespace=each.place.namespace, dataset=each.place.dataset, column=source_name))
    return sources


def _declared_step(sources: list[DeclaredSource], how: How, *, masked: bool = False) -> DeclaredStep:
    return DeclaredStep.model_validate({"from": sources, "how": how, "masked": masked})


class _UsedSources:
    """Finds the columns and measures that expressions use, in the model's list of dependencies or in the DAX."""

    def __init__(self, model: SemanticModel, space: str):
        self._model, self._space = model, space
        self._names = ModelNames(model.tables)
        self._listed: dict[tuple[str, str], list[CalcDependency]] = {}
        for each in model.dependencies or ():
            self._listed.setdefault((each.table.casefold(), each.name.casefold()), []).append(each)

    def declared_steps(self, table: str, name: str, expression: str, how: How) -> list[DeclaredStep]:
        """Return the steps into a measure, a calculated column, or all columns of a calculated table."""
        columns, measures = self._from_dependency_list(table, name) or self._names.used_columns_and_measures(
            expression, table
        )
        named = [each for each in columns if each.name is not None]
        counted = only_counted_columns(expression, named)
        masked = [self._declared_source(each.table, each.name or "") for each in named if each in counted]
        direct = [self._declared_source(each.table, each.name or "") for each in named if each not in counted]
        direct += [DeclaredSource(dataset=f"{self._model.name}/{MEASURES}", column=each) for each in measures]
        whole = [
            self._declared_source(each.table, column.name)
            for each in columns
            if each.name is None
            for column in self._model.tables[each.table].columns
        ]
        return [
            *([_declared_step(direct, how)] if direct else []),
            *([_declared_step(masked, how, masked=True)] if masked else []),
            *([_declared_step(whole, "FILTER")] if whole else []),
        ]

    def _from_dependency_list(self, table: str, name: str) -> tuple[list[UsedColumn], list[str]] | None:
        listed = self._listed.get((table.casefold(), name.casefold()))
        if listed is None:
            return None
        columns = [UsedColumn(d.needs_table, d.needs_name) for d in listed if "COLUMN" in d.needs_type]
        return columns, [d.needs_name for d in listed if d.needs_type == "MEASURE"]

    def _declared_source(self, table: str, column: str) -> DeclaredSource:
        return DeclaredSource(dataset=f"{self._model.name}/{table}", column=column)


def _calculated_table_job(
    model: SemanticModel, table: ModelTable, space: str, uses: _UsedSources
) -> DeclaredJob | None:
    """Return the job that computes a table's calculated columns or a calculated table; None if there are none."""
    columns = {
        each.name: uses.declared_steps(table.name, each.name, each.expression, "TRANSFORMATION")
        for each in table.columns
        if each.expression
    }
    every = uses.declared_steps(table.name, table.name, table.calculated, "TRANSFORMATION") if table.calculated else []
    output = DeclaredOutput(dataset=f"{model.name}/{table.name}", columns=columns, every=every)
    if not columns and not every:
        return None
    description = f"Calculated columns of table {table.name} in the semantic model {model.name}."
    return _declared_job(space, f"{model.name}/{table.name} calculated", description, [output], [])


def _measures_job(model: SemanticModel, space: str, uses: _UsedSources) -> DeclaredJob | None:
    columns = {
        each.name: uses.declared_steps(table.name, each.name, each.expression, "AGGREGATION")
        for table in model.tables.values()
        for each in table.measures
    }
    output = DeclaredOutput(dataset=f"{model.name}/{MEASURES}", columns=columns)
    description = f"Measures of the semantic model {model.name}."
    return _declared_job(space, f"{model.name}/{MEASURES}", description, [output], []) if columns else None


def _report_job(model: SemanticModel, report: str, space: str) -> DeclaredJob:
    """Return a job that reads the whole model for a report, because the files do not contain the report's columns."""
    tables = [f"{model.name}/{each.name}" for each in model.tables.values() if each.columns]
    tables += [f"{model.name}/{MEASURES}"] if any(each.measures for each in model.tables.values()) else []
    inputs = [DeclaredPlace(dataset=each) for each in tables]
    description = f"Report {report}, which uses the semantic model {model.name}."
    return _declared_job(space, f"reports/{report}", description, [DeclaredOutput(dataset=f"reports/{report}")], inputs)
