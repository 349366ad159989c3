"""Rule 13: infer lines of column lineage from the SQL of a run. Runs with equal SQL and tables share one result."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from headwater.lineage.edges.accounting import lists_some_columns
from headwater.lineage.edges.facet_contents import Contents, SentEdge, SentSql, Transformation
from headwater.lineage.edges.joined_lists import is_joined
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import Script, ScriptDataset
from headwater.lineage.sql.known_tables import KnownTable, parts_of
from headwater.lineage.sql.name_ends import Parts
from headwater.lineage.sql.sql_dialects import dialect_of
from headwater.lineage.sql.unread_sql import UnreadSql

if TYPE_CHECKING:
    from headwater.lineage.sql.column_steps import ColumnStep, Made
    from headwater.lineage.sql.made_output import MadeOutput


class Inferred(NamedTuple):
    """The column lineage of one output that is inferred from SQL.

    lines: the edges, whose sources are datasets of the run; unread: the reason why edges are or may be missing.
    behind_views: sources with columns that the run may read although no line shows it, for example through a hidden
    view.
    columns: the edges to single columns, also if the only result is that a column has no source.
    complete: the edges cover every column that the SQL writes.
    """

    lines: Sequence[SentEdge] = ()
    unread: str | None = None
    behind_views: frozenset[Name] = frozenset()
    columns: Sequence[SentEdge] = ()
    complete: bool = False


def inferred_lines(
    script: Script, contents: Contents, schema_of: Callable[[Name], str | None]
) -> Mapping[Name, Inferred]:
    """Return the inferred lineage of each output that the SQL writes.

    schema_of: returns the hash of the schema of a dataset for which the run itself reports no columns.
    """
    sql = contents.sql(script.sql)
    is_part = lists_some_columns(script.producer)
    tables = tuple(
        _known(each, contents, each.schema or schema_of(each.dataset), is_part=is_part) for each in script.datasets
    )
    found = _read(sql.query, _dialect(script, sql), tables)
    if isinstance(found, str):
        return {each.dataset: Inferred(unread=found) for each in script.datasets if each.is_output}
    return {script.datasets[place].dataset: _said(said, place, script.datasets) for place, said in found.items()}


def defined_names(script: Script, contents: Contents) -> frozenset[Parts]:
    """Return the names that the SQL defines itself (CTEs, aliases and temporary tables), split into parts."""
    sql = contents.sql(script.sql)
    return _defined_names(sql.query, _dialect(script, sql))


def _dialect(script: Script, sql: SentSql) -> str:
    written_first = sorted(script.datasets, key=lambda each: not each.is_output)
    return dialect_of(sql.dialect, (each.dataset.namespace for each in written_first), script.producer)


def _said(said: "MadeOutput | str", own: int, datasets: Sequence[ScriptDataset]) -> Inferred:
    if isinstance(said, str):
        return Inferred(unread=said)
    behind = frozenset(datasets[place].dataset for place in said.behind_views)
    columns = [line for output, made in said.columns.items() for line in _of_column(output, made, datasets)]
    lines = [*columns, *_of_column(None, said.whole, datasets)] if _says_something(said, own) else []
    return Inferred(lines, said.unread, behind, columns, complete=not said.is_part)


@lru_cache(maxsize=256)
def _read(query: str, dialect: str, tables: tuple[KnownTable, ...]) -> "dict[int, MadeOutput | str] | str":
    """Read a script, or return the reason why it is not read. The parser is imported only when a run needs it."""
    from headwater.lineage.sql.sql_script import read_script  # noqa: PLC0415 - costs 0.4 s, for few runs

    try:
        return read_script(query, dialect, tables)
    except UnreadSql as refusal:
        return str(refusal)
    except MemoryError:
        raise
    except Exception as error:  # an unexpected form of a statement must not block all other events
        return f"Headwater failed to read the SQL ({type(error).__name__}). This is a bug: please report it"


@lru_cache(maxsize=256)
def _defined_names(query: str, dialect: str) -> frozenset[Parts]:
    from headwater.lineage.sql.sql_script import own_names  # noqa: PLC0415 - costs 0.4 s, for few runs

    return frozenset(parts_of(name) for name in own_names(query, dialect))


def _known(each: ScriptDataset, contents: Contents, schema: str | None, *, is_part: bool) -> KnownTable:
    columns = contents.schema(schema) if schema else ()
    names = tuple(".".join(path) for path in columns)
    return KnownTable(each.names, names, each.is_input, each.is_output, is_part, is_joined(schema or ""))


def _says_something(said: "MadeOutput", own: int) -> bool:
    """Return whether an output has a source besides its own columns of the same names.

    Otherwise the SQL reads no data or keeps existing values, so other runs may write these columns.
    """
    every = [*said.columns.items(), (None, said.whole)]
    return any(
        place != own or (output and column.casefold() != output.casefold())
        for output, made in every
        for place, column in made
    )


def _of_column(output: str | None, made: "Made", datasets: Sequence[ScriptDataset]) -> Iterator[SentEdge]:
    if not made and output is not None:
        yield SentEdge(None, output, None, None, _transformation(None))
    for (place, column), steps in sorted(made.items()):
        for step in _told(steps):
            yield SentEdge(None, output, datasets[place].dataset, column, _transformation(step))


def _told(steps: Iterable["ColumnStep"]) -> list["ColumnStep"]:
    return sorted(set(steps))


def _transformation(step: "ColumnStep | None") -> Transformation:
    return (
        Transformation(step.direct, step.masked, step.subtype, None)
        if step
        else Transformation(True, False, None, None)
    )
