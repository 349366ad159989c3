"""Read all statements of a script, and find the origins of the columns of each dataset that they write."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from sqlglot import exp

from headwater.lineage.sql.errors import UnsupportedSql, shorten_name
from headwater.lineage.sql.limits import MAX_COLUMNS, TOO_DEEP, Budget, max_steps
from headwater.lineage.sql.parser import parse_script, parse_statements
from headwater.lineage.sql.possible_columns import PossibleColumn
from headwater.lineage.sql.query_reader import QueryReader
from headwater.lineage.sql.relations import (
    FILTER,
    IDENTITY_STEP,
    OutputColumns,
    Relation,
    add_origins,
    columns_by_position,
    copy_cost,
    output_columns,
)
from headwater.lineage.sql.statements import (
    has_query_as_text,
    is_skippable,
    listed_columns,
    partition_columns,
    reads_columns,
    source_query,
    split_inserts,
    statement_kind,
    table_name,
    target_table,
)
from headwater.lineage.sql.tables import RunTable, TableResolver
from headwater.lineage.sql.update_statements import UpdateReader, ordered_columns, updated_table

_POSSIBLE_ROW_FILTER = "columns that no event of the run reports may determine which rows the SQL writes"

ReadOutput = Callable[[int | None], OutputColumns]
"""A function that returns the columns that a statement writes into a table.

The argument is the index of the output, or None for a table that the script creates for itself.
"""


def read_script(sql: str, dialect: str, tables: Sequence[RunTable]) -> dict[int, OutputColumns | str]:
    """Map the index of each output to the columns that a script writes into the output.

    If the columns of an output cannot be determined, the value is the reason. Raises UnsupportedSql if the script as a
    whole cannot be read.
    tables: the datasets of the run.
    """
    columns = sum(len(table.columns) for table in tables)
    if columns > MAX_COLUMNS:
        raise UnsupportedSql(f"the datasets of the run have more than {MAX_COLUMNS:,} columns")
    try:
        return _read_statements(*parse_script(sql, dialect), tables, dialect, Budget(max_steps(sql, columns)))
    except RecursionError as error:
        raise UnsupportedSql(TOO_DEEP) from error


def script_defined_names(sql: str, dialect: str) -> frozenset[str]:
    """Return the casefolded names that a script defines itself: CTEs, aliases and temporary tables.

    The result is empty if the script cannot be parsed.
    """
    try:
        found = {name.casefold() for statement in parse_statements(sql, dialect) for name in _defined_names(statement)}
    except (UnsupportedSql, RecursionError):
        return frozenset()
    return frozenset(found - {""})


def _defined_names(statement: exp.Expr) -> Iterator[str]:
    for node in statement.find_all(exp.CTE, exp.Subquery, exp.Table):
        if node.alias and not (isinstance(node, exp.Table) and node.alias.casefold() == node.name.casefold()):
            yield node.alias
    into = statement.args.get("into") if isinstance(statement, exp.Select) else None
    made = statement.this if isinstance(statement, (exp.Create, exp.Cache)) else into and into.this
    table = target_table(made) if isinstance(made, exp.Expr) else None
    if isinstance(table, exp.Table):
        properties = statement.args.get("properties")
        temporary = isinstance(statement, exp.Cache) or bool(into and into.args.get("temporary"))
        temporary = temporary or bool(properties and properties.find(exp.TemporaryProperty))
        if temporary or table.this.args.get("temporary") or table_name(table).startswith("#"):
            yield table_name(table)


def _read_statements(
    statements: Sequence[exp.Expr],
    words: Sequence[PossibleColumn],
    tables: Sequence[RunTable],
    dialect: str,
    budget: Budget,
) -> dict[int, OutputColumns | str]:
    mentioned = {table_name(table) for statement in statements for table in statement.find_all(exp.Table)}
    script = _ScriptReader(TableResolver(tables, mentioned), dialect, budget)
    script.record_possible_columns(words)
    if len(statements) == 1 and script.read_single_query(statements[0]):
        return script.finish()
    for statement in statements:
        script.read_statement(statement)
        script.mark_unfollowed(statement)
    return script.finish()


def _unsupported_use(what: str) -> str:
    return f"the SQL uses {what} in a way that Headwater does not support"


class _ScriptReader:
    """Reads a script statement by statement, and stores the results.

    results: maps the index of each output to its columns, or to the reason why its columns cannot be determined.
    """

    def __init__(self, tables: TableResolver, dialect: str, budget: Budget):
        self.results: dict[int, OutputColumns | str] = {}
        self._tables = tables
        self._budget = budget
        self._reader = QueryReader(tables, self._budget, dialect)
        self._script_tables: dict[str, Relation] = {}
        self._possible_sources: set[int] = set()
        self._reason: str | None = None
        self._update_reader = UpdateReader(self._reader, self._script_tables)
        outputs = [index for index, table in enumerate(tables.tables) if table.is_output]
        self._only_output = outputs[0] if len(outputs) == 1 else None

    def read_statement(self, statement: exp.Expr) -> None:
        """Read one statement and record the columns that it writes.

        Raises UnsupportedSql if the statement is not supported.
        """
        into = statement.args.get("into") if isinstance(statement, exp.Select) else None
        if isinstance(statement, exp.Insert):
            self._write_target(statement.this, lambda index: self._read_insert(statement, index))
        elif isinstance(statement, exp.MultitableInserts):
            for insert in split_inserts(statement, self._budget):
                self.read_statement(insert)
        elif isinstance(statement, exp.Create):
            self._read_create(statement)
        elif into is not None:
            temporary = bool(into.args.get("temporary"))
            self._write_target(
                into.this, lambda index: self._output_columns(self._read_query(statement), index), temporary=temporary
            )
        elif isinstance(statement, exp.Merge):
            self._write_target(
                statement.this, lambda index: self._update_reader.read_merge(statement, self._target_relation(index))
            )
        elif isinstance(statement, exp.Update):
            self._read_update(statement)
        elif isinstance(statement, exp.Delete):
            self._read_delete(statement)
        elif isinstance(statement, exp.Cache) and statement.expression is not None:
            self._add_script_table(
                table_name(statement.this).casefold(),
                self._output_columns(self._read_query(statement.expression), None),
            )
        elif isinstance(statement, exp.Drop):
            for table in statement.find_all(exp.Table):
                self._script_tables.pop(table_name(table).casefold(), None)  # now, the name refers to a dataset
        elif not is_skippable(statement):
            raise UnsupportedSql(
                "the SQL contains a statement that Headwater does not support: "
                f"{shorten_name(statement_kind(statement))}"
            )

    def mark_unfollowed(self, statement: exp.Expr) -> None:
        """If a statement has a reference that was not followed, mark the statement's datasets as possible sources.

        The reference may use any column of these datasets. Therefore, every output of the script may contain any of
        their columns (rule 13.8).
        """
        if has_query_as_text(statement):
            self._mark_all_inputs("the SQL contains a function whose body Headwater does not read")
        if not reads_columns(statement):
            names = {column.name.casefold() for column in statement.find_all(exp.Column)}
            indexes = (self._tables.find_dataset(table_name(table)) for table in statement.find_all(exp.Table) if names)
            self._record_named_columns(names, {index for index in indexes if index is not None})
            return
        if not self._reader.references.has_unfollowed(statement):
            return
        ctes = {each.alias.casefold() for each in statement.find_all(exp.CTE)}
        for table in statement.find_all(exp.Table):
            name = table_name(table)
            script_table, index = self._script_tables.get(name.casefold()), self._tables.find_dataset(name)
            if script_table is None and index is None and name.casefold() not in ctes:  # a view, or a table function
                is_function = not isinstance(table.this, (exp.Identifier, exp.Dot, exp.Var))
                inputs = {each for each, known in enumerate(self._tables.tables) if known.is_input}
                hidden = inputs if is_function else set(self._tables.unnamed_inputs())
                if hidden:
                    self._reason = self._reason or _unsupported_use(f"columns of {shorten_name(name)}")
                self._possible_sources |= hidden
            if script_table is not None:
                possible_sources = OutputColumns(dict(script_table.columns), script_table.row_origins).source_indexes
            else:
                possible_sources = set() if index is None else {index}
            if any(self._tables.tables[each].is_input for each in possible_sources):
                self._reason = self._reason or _unsupported_use(f"columns of {shorten_name(name)}")
            self._possible_sources |= possible_sources

    def record_possible_columns(self, words: Sequence[PossibleColumn]) -> None:
        """Count columns as used if a word of the script names them, even if no reference names them (rule 13.8)."""
        names = {word.name.casefold() for word in words}
        likely_column = next((word.name for word in words if word.is_likely), None)
        hidden = set(self._tables.unnamed_inputs()) if likely_column is not None else set()
        for index, table in enumerate(self._tables.tables if names else ()):
            self._record_named_columns(names, [index])
            is_open = table.is_input and index not in hidden and (table.is_incomplete or not table.columns)
            if likely_column is not None and is_open:
                self._reason = self._reason or _unsupported_use(shorten_name(likely_column))
                self._possible_sources.add(index)

    def _record_named_columns(self, column_names: Container[str], dataset_indexes: Iterable[int]) -> None:
        """Count the columns with these casefolded names in the datasets at these indexes as used."""
        for index in dataset_indexes:
            columns = self._tables.tables[index].columns
            self._budget.spend_copies(len(columns))
            self._reader.references.named_origins.update(
                (index, each) for each in columns if each.casefold() in column_names
            )

    def _mark_all_inputs(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._possible_sources.update(index for index, table in enumerate(self._tables.tables) if table.is_input)

    def finish(self) -> dict[int, OutputColumns | str]:
        """Return the results, after adding the datasets and columns that the script uses without a visible origin.

        If the script names a column without using its value, the column becomes an origin with the step FILTER. The
        script would fail without this column.
        """
        inputs = {index for index, table in enumerate(self._tables.tables) if table.is_input}
        read = [made for made in self.results.values() if not isinstance(made, str)]
        shown_origins = {
            origin for made in read for each in (*made.columns.values(), made.row_origins) for origin in each
        }
        unshown_origins = {
            origin: {FILTER} for origin in self._reader.references.named_origins - shown_origins if origin[0] in inputs
        }
        for made in read:
            self._budget.spend_copies(len(unshown_origins))
            add_origins(made.row_origins, unshown_origins, IDENTITY_STEP)
        return {
            index: made if isinstance(made, str) else self._with_possible_sources(made, self._possible_sources & inputs)
            for index, made in self.results.items()
        }

    def _with_possible_sources(self, made: OutputColumns, possible_sources: set[int]) -> OutputColumns:
        """Return the columns of an output with the datasets that the script may also read, and the reason.

        possible_sources: the indexes of datasets that statements may read without a visible origin.
        """
        view_sources = self._reader.view_sources & made.source_indexes
        if possible_sources:
            reason = self._reason
        elif view_sources:
            reason = f"the SQL reads {shorten_name(self._reader.view_name)}, a view whose definition is unknown"
        else:
            reason = made.reason or (_POSSIBLE_ROW_FILTER if self._reader.possible_row_filters else None)
        return made._replace(
            possible_sources=made.possible_sources.union(
                view_sources, possible_sources, self._reader.possible_row_filters
            ),
            reason=reason,
        )

    def read_single_query(self, statement: exp.Expr) -> bool:
        """Read a script that is a single query, as dbt sends it, as the query that fills the only output.

        Returns False without reading if the script has another form or the run has no or several outputs.
        """
        is_model = isinstance(statement, exp.Query) and not statement.args.get("into") and self._only_output is not None
        if is_model:
            self._record_output(
                self._only_output or 0, lambda index: self._output_columns(self._read_query(statement), index)
            )
            self.mark_unfollowed(statement)
        return is_model

    # Outputs

    def _write_target(self, target: exp.Expr, read_output: ReadOutput, *, temporary: bool = False) -> None:
        """Record the columns that a statement writes into an output of the run, or into a table of the script.

        read_output: returns these columns. temporary: whether the statement declares the target as temporary.
        """
        table = target_table(target)
        if isinstance(table, exp.Directory):
            return
        if not isinstance(table, exp.Table):
            raise UnsupportedSql("the SQL writes to a target that is not a table")
        name = table_name(table)
        temporary = temporary or bool(table.this.args.get("temporary")) or name.startswith("#")
        index = None if temporary or name.casefold() in self._script_tables else self._output_index(name)
        if index is not None:
            self._record_output(index, read_output)
        else:
            self._add_script_table(name.casefold(), read_output(None))

    def _output_index(self, name: str) -> int | None:
        """Return the index of the output to which a name refers, None if it does not refer to an output.

        A name that matches no dataset refers to the only output of the run, unless the script has already written it.
        """
        index = self._tables.find_output(name)
        if index is None and self._only_output is not None and self._only_output not in self.results:
            index = self._only_output if self._tables.find_dataset(name) is None else None
        if index is not None:
            self._tables.add_name(name, index)
        return index

    def _add_script_table(self, name: str, found: OutputColumns) -> None:
        """Record columns of a table that the script creates, in addition to columns from earlier statements."""
        if found.is_incomplete:
            raise UnsupportedSql(f"the SQL leaves columns of {shorten_name(name)} without names")
        before = self._script_tables.get(name)
        both = OutputColumns({}, {})
        if before is not None:
            copied = OutputColumns(dict(before.columns), before.row_origins)
            self._budget.spend_copies(copied.copy_cost)
            both.merge(copied)
        self._budget.spend_copies(found.copy_cost)
        both.merge(found)
        self._script_tables[name] = relation = Relation(both.columns.items())
        relation.row_origins = both.row_origins

    def _record_output(self, index: int, read_output: ReadOutput) -> None:
        before = self.results.get(index)
        if isinstance(before, str):
            return
        try:
            found = read_output(index)
            if before is not None:
                self._budget.spend_copies(found.copy_cost)
        except UnsupportedSql as refusal:
            self.results[index] = str(refusal)
            return
        if before is None:
            self.results[index] = found
        else:
            before.merge(found)
            self.results[index] = before._replace(
                is_incomplete=before.is_incomplete or found.is_incomplete,
                possible_sources=before.possible_sources | found.possible_sources,
                reason=before.reason or found.reason,
                is_insert=before.is_insert and found.is_insert,
            )

    def _read_query(self, node: exp.Expr) -> Relation:
        return self._reader.read_query(node, self._script_tables)

    # Statements

    def _read_insert(self, node: exp.Insert, index: int | None) -> OutputColumns:
        self._reader.references.record_all([node.this, node.args.get("partition")])
        known = self._reader.with_ctes(node, self._script_tables)
        query = source_query(node.expression or node.args.get("source"))
        if query is None:
            return OutputColumns({}, {}, is_insert=True)
        relation = self._reader.read_query(query, known)
        names: Sequence[str] = list(listed_columns(node.this))
        if node.args.get("by_name") and not names:
            names = [name for name, _ in relation.columns]
        if not names and index is not None:
            assigned = set(partition_columns(node))
            names = ordered_columns(self._target_relation(index))
            if assigned:
                self._budget.spend_copies(len(names))
                names = [name for name in names if name.casefold() not in assigned]
        self._budget.spend_copies(copy_cost(made for _, made in relation.columns))
        found = OutputColumns(columns_by_position(relation, names), relation.row_origins, is_insert=True)
        if node.args.get("conflict"):
            self._update_reader.add_conflict_assignments(node, known, found, self._target_relation(index))
        return found

    def _read_create(self, node: exp.Create) -> None:
        clone = node.args.get("clone")
        self._reader.references.record_all([node.this, node.args.get("properties")])
        query = source_query(clone.this if clone is not None else node.expression)
        if node.kind not in ("TABLE", "VIEW") or query is None:
            return
        properties = node.args.get("properties")
        temporary = bool(properties and properties.find(exp.TemporaryProperty))

        def read_output(index: int | None) -> OutputColumns:
            relation = self._reader.read_query(query, self._reader.with_ctes(node, self._script_tables))
            names = list(listed_columns(node.this))
            if not names:
                return self._output_columns(relation, index)
            self._budget.spend_copies(copy_cost(made for _, made in relation.columns))
            return OutputColumns(columns_by_position(relation, names), relation.row_origins)

        self._write_target(node.this, read_output, temporary=temporary)

    def _read_update(self, node: exp.Update) -> None:
        table = updated_table(node)

        def read_output(index: int | None) -> OutputColumns:
            target = self._target_relation(index) if index is not None else None
            return self._update_reader.read_update(node, node.this, target)

        self._write_target(table, read_output)

    def _read_delete(self, node: exp.Delete) -> None:
        table = node.this
        index = self._tables.find_output(table_name(table)) if isinstance(table, exp.Table) else None
        if index is not None:
            self._record_output(
                index, lambda index: self._update_reader.read_delete(node, table, self._target_relation(index))
            )

    # Columns

    def _target_relation(self, index: int | None) -> Relation:
        if index is None:
            raise UnsupportedSql("the SQL changes a table that is not a dataset of the run")
        return self._reader.dataset_relation(index)

    def _output_columns(self, relation: Relation, index: int | None) -> OutputColumns:
        self._budget.spend_copies(copy_cost(made for _, made in relation.columns))
        return output_columns(relation, self._target_relation(index) if index is not None else None)
