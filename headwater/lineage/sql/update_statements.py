"""Read statements that change existing rows: MERGE, UPDATE, DELETE and ON CONFLICT."""

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from headwater.lineage.sql.errors import STAR_OF_UNKNOWN_TABLE, UnsupportedSql
from headwater.lineage.sql.query_reader import NamedRelations, QueryReader
from headwater.lineage.sql.relations import (
    FILTER,
    IDENTITY_STEP,
    JOIN,
    Origins,
    OutputColumns,
    Relation,
    add_origins,
    columns_by_position,
    copy_cost,
)
from headwater.lineage.sql.scope import Scope
from headwater.lineage.sql.statements import target_table


class UpdateReader:
    """Finds the origins of each column of a target table after a statement has changed its rows.

    Columns that a statement does not change come from themselves (rule 13.6).
    """

    def __init__(self, reader: QueryReader, script_tables: NamedRelations):
        """script_tables: maps casefolded names to the tables that the script creates for itself."""
        self._reader = reader
        self._script_tables = script_tables

    def read_merge(self, node: exp.Merge, target: Relation) -> OutputColumns:
        """Return the columns of the target after a MERGE; raises UnsupportedSql if the MERGE is not supported.

        The result is complete even if no event lists the columns of the target. The branches name each column that gets
        a value of the source, and the other columns come from themselves. So a list of columns changes no answer about
        the source.
        """
        scope, named_relations = Scope(), self._reader.with_ctes(node, self._script_tables)
        scope.add(node.this.alias_or_name, target)
        self._reader.add_source(node.args["using"], named_relations, scope)
        source = list(scope.sources.values())[-1]
        found = OutputColumns({}, {})
        self._reader.budget.spend_copies(len(source.row_origins))
        add_origins(found.row_origins, source.row_origins, IDENTITY_STEP)
        add_origins(
            found.row_origins,
            self._reader.expression_origins(node.args["on"], named_relations, scope, JOIN),
            IDENTITY_STEP,
        )
        updated: set[str] = set()
        for when in node.args["whens"].expressions:
            branch = when.args.get("then")
            if when.args.get("condition") is not None:
                add_origins(
                    found.row_origins,
                    self._reader.expression_origins(when.args["condition"], named_relations, scope, FILTER),
                    IDENTITY_STEP,
                )
            for name, value in self._branch_assignments(branch, named_relations, scope, source, target):
                found.add_column_origins(name, value)
                if isinstance(branch, exp.Update):
                    updated.add(name.casefold())
        self._add_unchanged_columns(found, target, updated)
        return found

    def read_update(self, node: exp.Update, table: exp.Expr, target: Relation | None) -> OutputColumns:
        """Return the columns of a table after an UPDATE; raises UnsupportedSql if the UPDATE is not supported.

        table: the updated table in the tree of the statement.
        target: the dataset to which the table refers, None for a table that the script creates.
        """
        scope, named_relations = Scope(), self._reader.with_ctes(node, self._script_tables)
        if node.args.get("from_"):
            self._reader.add_source(node.args["from_"].this, named_relations, scope)
        if target is not None and table.alias_or_name.casefold() not in scope.sources:
            scope.add(table.alias_or_name, target)
        found = OutputColumns({}, {})
        for join in table.args.get("joins") or ():
            self._reader.read_join(join, named_relations, scope)
        for name, value in self._assignments(node.expressions, named_relations, scope):
            found.add_column_origins(name, value)
        if node.args.get("where") is not None:
            add_origins(
                found.row_origins,
                self._reader.expression_origins(node.args["where"], named_relations, scope, FILTER),
                IDENTITY_STEP,
            )
        if target is not None:
            self._add_unchanged_columns(found, target, {name.casefold() for name in found.columns})
            found = found._replace(is_incomplete=target.has_unlisted_columns)
        for row_origins in (*scope.join_conditions, *(relation.row_origins for relation in scope.sources.values())):
            self._reader.budget.spend_copies(len(row_origins))
            add_origins(found.row_origins, row_origins, IDENTITY_STEP)
        return found

    def read_delete(self, node: exp.Delete, table: exp.Expr, target: Relation) -> OutputColumns:
        """Return the columns of a table after a DELETE: each column comes from itself, filtered by the condition.

        table: the table in the tree of the statement. target: the dataset to which the table refers.
        """
        scope, named_relations = Scope(), self._reader.with_ctes(node, self._script_tables)
        scope.add(table.alias_or_name, target)
        for each in node.args.get("using") or ():
            self._reader.add_source(each, named_relations, scope)
        for join in table.args.get("joins") or ():
            self._reader.read_join(join, named_relations, scope)
        found = OutputColumns({}, {}, is_incomplete=target.has_unlisted_columns)
        if node.args.get("where") is not None:
            add_origins(
                found.row_origins,
                self._reader.expression_origins(node.args["where"], named_relations, scope, FILTER),
                IDENTITY_STEP,
            )
        self._add_unchanged_columns(found, target, set())
        for row_origins in (*scope.join_conditions, *(relation.row_origins for relation in scope.sources.values())):
            self._reader.budget.spend_copies(len(row_origins))
            add_origins(found.row_origins, row_origins, IDENTITY_STEP)
        return found

    def add_conflict_assignments(
        self, node: exp.Insert, named_relations: NamedRelations, found: OutputColumns, target: Relation
    ) -> None:
        """Add the assignments of ON CONFLICT DO UPDATE to the columns that an INSERT writes.

        In these assignments, `excluded` refers to the row that could not be inserted.
        found: the columns of the INSERT, which this method changes. target: the dataset before the INSERT.
        """
        scope = Scope()
        scope.add(target_table(node.this).alias_or_name, target)
        scope.add("excluded", Relation(found.columns.items()))
        conflict = node.args["conflict"]
        self._reader.references.record_all(conflict.args.get("conflict_keys"))
        for name, value in list(self._assignments(conflict.expressions, named_relations, scope)):
            found.add_column_origins(name, value)

    def _branch_assignments(
        self, branch: exp.Expr | None, named_relations: NamedRelations, scope: Scope, source: Relation, target: Relation
    ) -> Iterator[tuple[str, Origins]]:
        """Yield (name, origins) of the columns that one branch of a MERGE writes.

        `INSERT *` and `UPDATE SET *` match the columns of source and target by name. If no event lists the columns of
        the source, the columns of the target are used, because the source must have all of them.
        """
        if isinstance(branch, exp.Update) and branch.expressions and not isinstance(branch.expressions[0], exp.Star):
            yield from self._assignments(branch.expressions, named_relations, scope)
        elif isinstance(branch, exp.Insert) and isinstance(branch.expression, exp.Tuple):
            listed = [each.name for each in branch.this.expressions] if branch.this else ordered_columns(target)
            self._reader.references.record_all(branch.this)
            values = [
                self._reader.expression_origins(each, named_relations, scope, IDENTITY_STEP)
                for each in branch.expression.expressions
            ]
            yield from columns_by_position(Relation([("", value) for value in values]), listed).items()
        elif isinstance(branch, (exp.Update, exp.Insert)):
            names = source.column_names or target.column_names
            self._reader.references.record_all(branch)
            self._reader.possible_row_filters |= source.incomplete_datasets
            if not names:
                raise UnsupportedSql(STAR_OF_UNKNOWN_TABLE)
            self._reader.budget.spend_copies(len(names) + copy_cost(origins for _, origins in source.columns))
            yield from ((name, source.column_origins(name) or {}) for name in names)

    def _assignments(
        self, assignments: Sequence[exp.Expr], named_relations: NamedRelations, scope: Scope
    ) -> Iterator[tuple[str, Origins]]:
        for each in assignments:
            if not isinstance(each, exp.EQ) or not isinstance(each.this, exp.Column):
                raise UnsupportedSql("the SQL assigns several columns at once, which Headwater does not support")
            self._reader.references.record(each.this)
            yield (
                each.this.name,
                self._reader.expression_origins(each.expression, named_relations, scope, IDENTITY_STEP),
            )

    def _add_unchanged_columns(self, found: OutputColumns, target: Relation, updated: set[str]) -> None:
        """Add each column of the target that the statement does not update, with the column itself as its origin.

        Spark's listener reports such columns in the same way.
        updated: the casefolded names of the updated columns.
        """
        self._reader.budget.spend_copies(len(target.columns))
        for name, origins in target.columns:
            if name.casefold() not in updated:
                found.add_column_origins(name, origins)


def ordered_columns(target: Relation) -> Sequence[str]:
    """Return the names of an output's columns in order; raises UnsupportedSql if names or order are unknown."""
    if not target.columns:
        raise UnsupportedSql("the SQL has no column list, and no event of the run reports the columns of the output")
    if target.incomplete_datasets:
        raise UnsupportedSql("the SQL has no column list, and no event of the run reports all columns of the output")
    if target.is_joined:
        raise UnsupportedSql("the SQL has no column list, and no single event reports all columns of the output")
    return target.column_names


def updated_table(node: exp.Update) -> exp.Expr:
    """Return the table that an UPDATE changes.

    In T-SQL, the name after UPDATE may be an alias of a table in the FROM clause.
    """
    target: exp.Expr = node.this
    from_ = node.args.get("from_")
    tables: Iterable[exp.Table] = from_.find_all(exp.Table) if from_ else ()
    for table in tables:
        if table.alias and table.alias.casefold() == target.name.casefold() and not target.args.get("db"):
            return table
    return target
