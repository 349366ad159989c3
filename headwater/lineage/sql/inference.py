"""Rule 13: infer edges of column lineage from the SQL of a run. Runs with equal SQL and tables share one result."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from headwater.lineage.edges.accounted_columns import may_list_partial_columns
from headwater.lineage.edges.facet_contents import FacetContents, SentEdge, SentSql, Transformation
from headwater.lineage.edges.schema_columns import is_joined_hash
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import Script, ScriptDataset
from headwater.lineage.sql.dialects import dialect_of
from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.tables import Parts, RunTable, name_parts

if TYPE_CHECKING:
    from headwater.lineage.sql.relations import ColumnStep, Origins, OutputColumns


class InferredLineage(NamedTuple):
    """The column lineage of one output that is inferred from SQL.

    edges: the edges from datasets of the run to the output; empty if the SQL reads no other data.
    unread: the reason why edges are missing or may be missing, None without a reason.
    possible_sources: datasets that the run may read although no edge shows this, for example through a hidden view.
    column_edges: the edges to single columns. A column without a source has an edge without a source.
    is_complete: whether the edges cover every column that the SQL writes.
    is_insert: whether the SQL writes the output only by INSERT (`OutputColumns.is_insert`).
    """

    edges: Sequence[SentEdge] = ()
    unread: str | None = None
    possible_sources: frozenset[Name] = frozenset()
    column_edges: Sequence[SentEdge] = ()
    is_complete: bool = False
    is_insert: bool = False


def infer_lineage(
    script: Script, contents: FacetContents, schema_of: Callable[[Name], str | None]
) -> Mapping[Name, InferredLineage]:
    """Return the inferred lineage of each output that the SQL writes.

    schema_of: returns the hash of a dataset's schema from other runs, None without a schema. It is called for datasets
    for which the run itself reports no columns.
    """
    sql = contents.sql(script.sql)
    is_incomplete = may_list_partial_columns(script.producer)
    tables = tuple(
        _run_table(each, contents, each.schema or schema_of(each.dataset), is_incomplete=is_incomplete)
        for each in script.datasets
    )
    found = _read_script(sql.query, _dialect(script, sql), tables)
    if isinstance(found, str):
        return {each.dataset: InferredLineage(unread=found) for each in script.datasets if each.is_output}
    return {
        script.datasets[index].dataset: _inferred_lineage(result, index, script.datasets)
        for index, result in found.items()
    }


def defined_names(script: Script, contents: FacetContents) -> frozenset[Parts]:
    """Return the names that the SQL defines itself (CTEs, aliases and temporary tables), split into parts."""
    sql = contents.sql(script.sql)
    return _defined_names(sql.query, _dialect(script, sql))


def _dialect(script: Script, sql: SentSql) -> str:
    written_first = sorted(script.datasets, key=lambda each: not each.is_output)
    return dialect_of(sql.dialect, (each.dataset.namespace for each in written_first), script.producer)


def _inferred_lineage(
    result: "OutputColumns | str", output_index: int, datasets: Sequence[ScriptDataset]
) -> InferredLineage:
    if isinstance(result, str):
        return InferredLineage(unread=result)
    possible_sources = frozenset(datasets[index].dataset for index in result.possible_sources)
    column_edges = [
        line for output, origins in result.columns.items() for line in _column_edges(output, origins, datasets)
    ]
    edges = (
        [*column_edges, *_column_edges(None, result.row_origins, datasets)]
        if _has_other_source(result, output_index)
        else []
    )
    return InferredLineage(
        edges,
        result.reason,
        possible_sources,
        column_edges,
        is_complete=not result.is_incomplete,
        is_insert=result.is_insert,
    )


@lru_cache(maxsize=256)
def _read_script(query: str, dialect: str, tables: tuple[RunTable, ...]) -> "dict[int, OutputColumns | str] | str":
    """Return the columns of each output by its index, or the reason why the script is not read.

    The parser is imported only when the first run needs it.
    """
    from headwater.lineage.sql.script_reader import read_script  # noqa: PLC0415 - costs 0.4 s, for few runs

    try:
        return read_script(query, dialect, tables)
    except UnsupportedSql as refusal:
        return str(refusal)
    except MemoryError:
        raise
    except Exception as error:  # an unexpected form of a statement must not block all other events
        return f"Headwater failed to read the SQL ({type(error).__name__}). This is a bug: please report it"


@lru_cache(maxsize=256)
def _defined_names(query: str, dialect: str) -> frozenset[Parts]:
    from headwater.lineage.sql.script_reader import script_defined_names  # noqa: PLC0415 - costs 0.4 s, for few runs

    return frozenset(name_parts(name) for name in script_defined_names(query, dialect))


def _run_table(each: ScriptDataset, contents: FacetContents, schema: str | None, *, is_incomplete: bool) -> RunTable:
    columns = contents.schema(schema) if schema else ()
    names = tuple(".".join(path) for path in columns)
    return RunTable(each.names, names, each.is_input, each.is_output, is_incomplete, is_joined_hash(schema or ""))


def _has_other_source(result: "OutputColumns", output_index: int) -> bool:
    """Return whether an output column has a source other than itself.

    Without such a source, the SQL reads no data or keeps existing values, so other runs may write these columns.
    output_index: the index of the output among the datasets of the run.
    """
    every = [*result.columns.items(), (None, result.row_origins)]
    return any(
        index != output_index or (output and column.casefold() != output.casefold())
        for output, origins in every
        for index, column in origins
    )


def _column_edges(output: str | None, origins: "Origins", datasets: Sequence[ScriptDataset]) -> Iterator[SentEdge]:
    if not origins and output is not None:
        yield SentEdge(None, output, None, None, _transformation_of_step(None))
    for (index, column), steps in sorted(origins.items()):
        for step in _sorted_steps(steps):
            yield SentEdge(None, output, datasets[index].dataset, column, _transformation_of_step(step))


def _sorted_steps(steps: Iterable["ColumnStep"]) -> list["ColumnStep"]:
    return sorted(set(steps))


def _transformation_of_step(step: "ColumnStep | None") -> Transformation:
    return (
        Transformation(step.direct, step.masked, step.subtype, None)
        if step
        else Transformation(True, False, None, None)
    )
