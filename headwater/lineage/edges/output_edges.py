"""Rules 4.3, 4.6 and 4.9: derive the edges, sources and unaccounted columns of one output of a run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from headwater.lineage.edges.accounted_columns import (
    ALL_COLUMNS,
    ColumnList,
    LineColumns,
    classify_line_columns,
    is_exact_column_match,
    is_related,
    may_list_partial_columns,
)
from headwater.lineage.edges.facet_contents import OWN_JOB, SentEdge, Transformation
from headwater.lineage.edges.output_lineage import Edge, EdgeRules, OutputLineage, TimedLine
from headwater.lineage.edges.run_sql import (
    RunSql,
)
from headwater.lineage.edges.schema_columns import Path
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import Run
from headwater.lineage.sql.inference import InferredLineage


class OutputContext(NamedTuple):
    """Facts about an output that its lines of lineage do not contain.

    additional_inputs: the inputs that feed the output in addition to the sources in its lines.
    run_inputs: all inputs of the run, sorted. All outputs of a run share the tuple.
    metadata_keys: the keys of the columns of Iceberg metadata tables that the run reads, by input (rule 11.4).
    is_empty_sourceless: whether a line without inputs means that its column is made of no column.
    sql: the SQL of the run, which may account for columns that the lines leave out; None if the SQL must not be used.
    has_all_columns: whether the lines name all columns that the run writes.
    sql_keys: the keys of the columns that the SQL writes. It is empty unless the SQL was read completely and counts.
    is_insert: whether that SQL writes the output only by INSERT.
    filter_edges: dataset-wide edges from columns that select the rows that the run reads (rule 4.11), or that feed the
    job of the run (rule 4.13).
    doubtful_sources: the sources in lines that the SQL explains differently. Lines with these sources prove nothing.
    unproven_line_ids: the `id()` of each line from the SQL that proves nothing.
    has_run_inputs: whether the run reads any dataset for any of its outputs.
    """

    additional_inputs: tuple[Name, ...]
    run_inputs: tuple[Name, ...]
    metadata_keys: Mapping[Name, Set[str]]
    is_empty_sourceless: bool = False
    sql: RunSql | None = None
    has_all_columns: bool = False
    sql_keys: frozenset[str] = frozenset()
    is_insert: bool = False
    filter_edges: tuple[Edge, ...] = ()
    doubtful_sources: frozenset[Name] = frozenset()
    unproven_line_ids: frozenset[int] = frozenset()
    has_run_inputs: bool = False

    def is_proof(self, line: SentEdge, time_us: int | None) -> bool:
        """Tell whether a line may account for its output column.

        time_us: the time of the event with the line; None if the line follows from the SQL of the run.
        """
        return id(line) not in self.unproven_line_ids and (time_us is None or line.source not in self.doubtful_sources)


def derive_lineage_of_output(
    run: Run, output: Name, lines: Sequence[TimedLine], context: OutputContext, rules: EdgeRules
) -> OutputLineage:
    """Return the lineage of one output.

    lines: the lines of lineage that lead to the output. If they leave columns unaccounted, or if they have doubtful
    sources, the function adds lines that follow from the SQL of the run.
    """
    sent_edges = tuple(_derive_edges(run, output, lines, rules, context.doubtful_sources))
    edges = tuple(dict.fromkeys(sent_edges)) if len(sent_edges) > 1 else sent_edges
    named = dict.fromkeys(edge.source for edge in edges)
    source_context, source_of = run.mention_source, rules.naming.resolve_input
    without_column = ((line.source, at) for line, at in lines if line.source and line.source_column is None)
    whole = {source if at is None else source_of(source_context, source, at): None for source, at in without_column}
    if lines or output in run.inputs:
        tables = tuple(sorted(named | {name: None for name in (*whole, *context.additional_inputs) if name != output}))
        fed = set(tables)
        also_read = tuple([name for name in context.run_inputs if name not in fed])
    else:  # thousands of outputs without lineage share one tuple
        tables, also_read = context.additional_inputs, () if context.additional_inputs else context.run_inputs
    sent = dict.fromkeys(line.output_column for line, _ in lines)
    keys = {column: rules.column_key(output, column) for column in sent if column is not None}
    if len(sent_edges) == len(lines) and not context.doubtful_sources:
        # Each line has a source column, as in most facets, so there is no need to classify the lines.
        columns = LineColumns(keys.values(), frozenset(), frozenset())
    else:
        columns = classify_line_columns(
            lines,
            keys,
            is_empty_sourceless=context.is_empty_sourceless,
            is_proof=context.is_proof,
            explained_keys=context.sql_keys if context.doubtful_sources else frozenset(),
        )
    jobs = tuple(
        sorted({run.job if line.source_job == OWN_JOB else line.source_job for line, _ in lines if line.source_job})
    )
    unaccounted: tuple[str, ...] = ()
    if (
        lines
        and (tables or also_read or jobs or context.has_run_inputs)
        and not context.has_all_columns
        and not _has_all_listed_columns(run, output, keys, columns, rules)
    ):
        unaccounted = _unaccounted_columns(
            run, output, columns, rules, sql_keys=context.sql_keys, is_insert=context.is_insert
        )
        if (unaccounted or context.doubtful_sources) and context.sql and output in context.sql.inferred_by_output:
            proving = edges
            if context.doubtful_sources:
                proving = tuple(_derive_edges(run, output, [each for each in lines if context.is_proof(*each)], rules))
            by_sql = _keys_written_by_sql(output, proving, columns, context.sql, rules)
            more = _lines_of_sql(context, output, columns, by_sql)
            if by_sql or more:
                proven = _proven_columns(columns, by_sql) if by_sql and not context.doubtful_sources else by_sql
                unproven = frozenset(id(line) for line, _ in more if line.output_column not in proven)
                context_with_sql = context._replace(
                    sql=None,
                    sql_keys=frozenset(by_sql.values()),
                    is_insert=context.sql.inferred_by_output[output].is_insert,
                    unproven_line_ids=unproven,
                )
                return derive_lineage_of_output(run, output, [*lines, *more], context_with_sql, rules)
    carries = bool(columns.sourceless_keys) or any(edge.target is not None for edge in edges)
    if context.metadata_keys:  # columns of metadata tables are not columns of the tables themselves
        edges = tuple(edge for edge in edges if edge.column not in context.metadata_keys.get(edge.source, ()))
    if context.filter_edges:  # added after `carries`, because filter edges are not column lineage
        edges = tuple(dict.fromkeys((*edges, *context.filter_edges)))
    return OutputLineage(
        output,
        edges,
        _dataset_wide_targets(run, output, edges, keys.values(), rules),
        sourceless_columns=tuple(sorted(columns.sourceless_keys)),
        source_datasets=tables,
        column_sources=tuple(sorted(named)),
        other_inputs=also_read,
        has_column_lineage=carries,
        rows_confirmed=output in run.outputs and run.outputs[output].rows_confirmed,
        unaccounted_columns=unaccounted if carries else (),
        source_jobs=jobs,
    )


def _has_all_listed_columns(
    run: Run, output: Name, keys: Mapping[str, str], columns: LineColumns, rules: EdgeRules
) -> bool:
    """Tell whether the lineage gives inputs for exactly the columns that the run lists for the output.

    If so, the run accounts for all columns. keys: the key of each output column in the lineage, by its name as sent.
    """
    written = run.outputs.get(output)
    if (
        columns.sourceless_keys
        or columns.unclear_keys
        or not written
        or not written.schema
        or may_list_partial_columns(run.producer)
    ):
        return False
    return is_exact_column_match(rules.contents.schema(written.schema), keys)


def _unaccounted_columns(
    run: Run, output: Name, columns: LineColumns, rules: EdgeRules, *, sql_keys: frozenset[str], is_insert: bool
) -> tuple[str, ...]:
    """Rule 4.9: return the keys of the columns that a run may have written and for which it does not account.

    sql_keys: the keys of the columns that the SQL of the run writes. If there are any, lists from
    other events do not count.
    is_insert: whether the SQL is an INSERT. The output fills the columns that an INSERT does not name itself.
    """
    contents, written = rules.contents, run.outputs.get(output)
    own = contents.schema(written.schema) if written and written.schema else ()
    listed = _column_list(output, own, rules)
    if sql_keys:
        missing = listed.union(ColumnList(sql_keys, frozenset())).unaccounted_keys(columns)
        return tuple(key for key in missing if not is_insert or key in sql_keys or key in columns.unclear_keys)
    is_part = may_list_partial_columns(run.producer)
    if is_part and not own:
        return (ALL_COLUMNS,)  # the producer documents no column, and may have written any
    if not own or is_part or listed.is_missing_any(columns.accounted_keys):
        known = rules.schema_at(output, run.started_us if own else run.time_us)
        others = _column_list(output, contents.schema(known) if known else (), rules)
        if is_part and others.keys <= listed.keys:
            return (ALL_COLUMNS,)  # no other event lists the columns that the producer may have left out
        listed = listed.union(others)
    return listed.unaccounted_keys(columns)


def _column_list(output: Name, columns: Sequence[Path], rules: EdgeRules) -> ColumnList:
    keys = {".".join(path): rules.column_key(output, ".".join(path)) for path in columns}
    return ColumnList(frozenset(keys.values()), frozenset(keys[path[0]] for path in columns if len(path) == 1))


def _keys_written_by_sql(
    output: Name, edges: Sequence[Edge], columns: LineColumns, sql: RunSql, rules: EdgeRules
) -> dict[str, str]:
    """Return the key of each column that the SQL of a run writes, by the name of the column in the SQL.

    The result is empty unless the SQL was read completely, writes all columns for which the lineage accounts, and
    contains all DIRECT edges of the lineage. Otherwise the SQL does not describe this write (rule 4.9).
    edges: the edges of the lineage that events report.
    """
    found = sql.inferred_by_output.get(output)
    if found is None or not found.is_complete or found.possible_sources:
        return {}
    written = {
        line.output_column: rules.column_key(output, line.output_column)
        for line in found.column_edges
        if line.output_column is not None
    }
    every = frozenset(written.values())
    if not all(is_related(key, every) for key in columns.accounted_keys):
        return {}
    made = {
        (written[line.output_column], line.source, rules.column_key(line.source, line.source_column))
        for line in found.column_edges
        if line.output_column is not None
        and line.source
        and line.source_column is not None
        and line.transformation.is_direct
    }
    values = {
        (each.target, each.source, each.column) for each in edges if each.target and each.transformation.is_direct
    }
    return written if values <= made else {}


def keys_of_inferred_columns(output: Name, inferred: InferredLineage, rules: EdgeRules) -> frozenset[str]:
    """Return the keys of the columns that the SQL of a run writes; empty if the SQL may write more columns."""
    named = (
        {line.output_column for line in inferred.column_edges if line.output_column is not None}
        if inferred.is_complete
        else ()
    )
    return frozenset(rules.column_key(output, column) for column in named)


def _proven_columns(columns: LineColumns, sql_keys: Mapping[str, str]) -> set[str]:
    """Return the columns, by their names in the SQL, for which the SQL may account.

    The SQL may account for columns for which the lineage does not account. An unclear column of the lineage may have
    any sources. So the SQL accounts for a column that is nested in an unclear column, or that contains one, only if the
    SQL writes the unclear column itself.
    sql_keys: the key of each column that the SQL writes, by the name of the column in the SQL.
    """
    accounted = frozenset(columns.accounted_keys)
    missing = {name: key for name, key in sql_keys.items() if not is_related(key, accounted)}
    unclear = columns.unclear_keys - set(missing.values())
    return {name for name, key in missing.items() if not is_related(key, unclear)}


def _lines_of_sql(
    context: OutputContext, output: Name, columns: LineColumns, sql_keys: Mapping[str, str]
) -> list[TimedLine]:
    """Return the lines from the SQL that count in addition to the lines that events report.

    These are the lines for columns for which the lineage does not account. If the lineage has doubtful sources, these
    are all lines from the SQL.
    """
    assert context.sql is not None  # noqa: S101 - the caller looked
    found, accounted = context.sql.inferred_by_output[output], frozenset(columns.accounted_keys)
    if context.doubtful_sources:
        return [(line, None) for line in (*found.edges, *(found.column_edges if sql_keys else ()))]
    return [
        (line, None)
        for line in (found.column_edges if sql_keys else ())
        if line.output_column is not None and not is_related(sql_keys[line.output_column], accounted)
    ]


def _derive_edges(
    run: Run, output: Name, lines: Sequence[TimedLine], rules: EdgeRules, doubtful_sources: Set[Name] = frozenset()
) -> Iterator[Edge]:
    targets, source_context = ColumnKeyCache(output, rules), run.mention_source
    sources: dict[tuple[int, int | None], ColumnKeyCache] = {}
    for line, time_us in lines:
        name = line.source
        if name and line.source_column is not None:
            keys = sources.get((id(name), time_us))  # by id, because hashing long names dominates the cost
            if keys is None:
                keys = sources[id(name), time_us] = ColumnKeyCache(
                    name if time_us is None else rules.naming.resolve_input(source_context, name, time_us), rules
                )
            yield Edge(
                keys.dataset,
                keys[line.source_column],
                None if line.output_column is None else targets[line.output_column],
                _without_masking(line.transformation)
                if time_us is not None and name in doubtful_sources
                else line.transformation,
            )


def _without_masking(transformation: Transformation) -> Transformation:
    return transformation._replace(is_masked=False)


class ColumnKeyCache(dict[str, str]):
    """Maps the columns of one dataset, as sent, to their keys, and caches the keys.

    The cache saves time because a facet with 400 lines may name only 150 columns.
    """

    def __init__(self, dataset: Name, rules: EdgeRules):
        super().__init__()
        self.dataset = dataset
        self._key = rules.column_key

    def __missing__(self, column: str) -> str:
        return self.setdefault(column, self._key(self.dataset, column))


def _dataset_wide_targets(
    run: Run, output: Name, edges: Sequence[Edge], named_keys: Iterable[str], rules: EdgeRules
) -> tuple[str, ...]:
    """Return the keys of the output columns to which dataset-wide edges lead (rule 4.3).

    The result is empty if the output has no dataset-wide edges.
    named_keys: the keys of the output columns that the lineage names.
    """
    if all(edge.target is not None for edge in edges):
        return ()
    own = run.outputs[output].schema if output in run.outputs else None
    schema = own or rules.schema_at(output, run.time_us)
    known = rules.contents.schema(schema) if schema else ()
    keys = dict.fromkeys(rules.column_key(output, ".".join(path)) for path in known)
    keys.update(dict.fromkeys(named_keys))
    return tuple(keys)
