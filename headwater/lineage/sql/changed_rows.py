"""Read statements that change existing rows: MERGE, UPDATE, DELETE and ON CONFLICT."""

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from headwater.lineage.sql.column_steps import COPIED, FILTER, JOIN, Made, Relation, add
from headwater.lineage.sql.made_output import MadeOutput, placed, size_of
from headwater.lineage.sql.query_reader import Named, QueryReader
from headwater.lineage.sql.query_scope import Scope
from headwater.lineage.sql.unread_sql import STAR_OF_UNKNOWN, UnreadSql
from headwater.lineage.sql.written_parts import table_of


class ChangedRows:
    """Finds the origins of each column of a target table after a statement has changed its rows.

    Columns that a statement does not change come from themselves (rule 13.6).
    """

    def __init__(self, reader: QueryReader, own: Named):
        """own: the tables that the script creates for itself, by casefolded name."""
        self._reader = reader
        self._own = own

    def merged(self, node: exp.Merge, target: Relation) -> MadeOutput:
        """Return the columns of the target after a MERGE; raises UnreadSql."""
        scope, known = Scope(), self._reader.with_ctes(node, self._own)
        scope.add(node.this.alias_or_name, target)
        self._reader.add_source(node.args["using"], known, scope)
        source = list(scope.sources.values())[-1]
        found = MadeOutput({}, {})
        self._reader.budget.copy(len(source.whole))
        add(found.whole, source.whole, COPIED)
        add(found.whole, self._reader.steps(node.args["on"], known, scope, JOIN), COPIED)
        updated: set[str] = set()
        for when in node.args["whens"].expressions:
            then = when.args.get("then")
            if when.args.get("condition") is not None:
                add(found.whole, self._reader.steps(when.args["condition"], known, scope, FILTER), COPIED)
            for name, value in self._done(then, known, scope, source, target):
                found.set(name, value)
                if isinstance(then, exp.Update):
                    updated.add(name.casefold())
        self._keep(found, target, updated)
        return found

    def updated(self, node: exp.Update, table: exp.Expr, target: Relation | None) -> MadeOutput:
        """Return the columns of a table after an UPDATE; raises UnreadSql.

        table: the updated table as the statement writes it; target: its dataset, None for a table that the script
        creates.
        """
        scope, known = Scope(), self._reader.with_ctes(node, self._own)
        if node.args.get("from_"):
            self._reader.add_source(node.args["from_"].this, known, scope)
        if target is not None and table.alias_or_name.casefold() not in scope.sources:
            scope.add(table.alias_or_name, target)
        found = MadeOutput({}, {})
        for join in table.args.get("joins") or ():
            self._reader.join(join, known, scope)
        for name, value in self._assigned(node.expressions, known, scope):
            found.set(name, value)
        if node.args.get("where") is not None:
            add(found.whole, self._reader.steps(node.args["where"], known, scope, FILTER), COPIED)
        if target is not None:
            self._keep(found, target, {name.casefold() for name in found.columns})
            found = found._replace(is_part=target.is_open)
        for concerning in (*scope.met, *(relation.whole for relation in scope.sources.values())):
            self._reader.budget.copy(len(concerning))
            add(found.whole, concerning, COPIED)
        return found

    def deleted(self, node: exp.Delete, table: exp.Expr, target: Relation) -> MadeOutput:
        """Return the columns of a table after a DELETE: all come from themselves, filtered by the condition."""
        scope, known = Scope(), self._reader.with_ctes(node, self._own)
        scope.add(table.alias_or_name, target)
        for each in node.args.get("using") or ():
            self._reader.add_source(each, known, scope)
        for join in table.args.get("joins") or ():
            self._reader.join(join, known, scope)
        found = MadeOutput({}, {}, is_part=target.is_open)
        if node.args.get("where") is not None:
            add(found.whole, self._reader.steps(node.args["where"], known, scope, FILTER), COPIED)
        self._keep(found, target, set())
        for concerning in (*scope.met, *(relation.whole for relation in scope.sources.values())):
            self._reader.budget.copy(len(concerning))
            add(found.whole, concerning, COPIED)
        return found

    def on_conflict(self, node: exp.Insert, known: Named, found: MadeOutput, target: Relation) -> None:
        """Add the assignments of ON CONFLICT DO UPDATE to the columns that an INSERT writes.

        found: the columns of the INSERT, which this method extends. `excluded` stands for the row that could not be
        inserted.
        """
        scope = Scope()
        scope.add(table_of(node.this).alias_or_name, target)
        scope.add("excluded", Relation(found.columns.items()))
        conflict = node.args["conflict"]
        self._reader.references.read_all(conflict.args.get("conflict_keys"))
        for name, value in list(self._assigned(conflict.expressions, known, scope)):
            found.set(name, value)

    def _done(
        self, then: exp.Expr | None, known: Named, scope: Scope, source: Relation, target: Relation
    ) -> Iterator[tuple[str, Made]]:
        """Yield the columns that one branch of a MERGE writes, with their origins.

        `INSERT *` and `UPDATE SET *` match the columns of source and target by name. If no event lists the columns of
        the source, they are those of the target, because the source must have all of them.
        """
        if isinstance(then, exp.Update) and then.expressions and not isinstance(then.expressions[0], exp.Star):
            yield from self._assigned(then.expressions, known, scope)
        elif isinstance(then, exp.Insert) and isinstance(then.expression, exp.Tuple):
            listed = [each.name for each in then.this.expressions] if then.this else columns_of(target)
            self._reader.references.read_all(then.this)
            values = [self._reader.steps(each, known, scope, COPIED) for each in then.expression.expressions]
            yield from placed(Relation([("", value) for value in values]), listed).items()
        elif isinstance(then, (exp.Update, exp.Insert)):
            names = source.names or target.names
            self._reader.references.read_all(then)
            self._reader.left_open |= source.more_of
            if not names:
                raise UnreadSql(STAR_OF_UNKNOWN)
            self._reader.budget.copy(len(names) + size_of(made for _, made in source.columns))
            yield from ((name, source.column(name) or {}) for name in names)

    def _assigned(self, assignments: Sequence[exp.Expr], known: Named, scope: Scope) -> Iterator[tuple[str, Made]]:
        for each in assignments:
            if not isinstance(each, exp.EQ) or not isinstance(each.this, exp.Column):
                raise UnreadSql("the SQL assigns several columns at once, which Headwater does not support")
            self._reader.references.read(each.this)
            yield each.this.name, self._reader.steps(each.expression, known, scope, COPIED)

    def _keep(self, found: MadeOutput, target: Relation, updated: set[str]) -> None:
        """Let each column that the statement does not update come from itself, as Spark's listener reports it."""
        self._reader.budget.copy(len(target.columns))
        for name, made in target.columns:
            if name.casefold() not in updated:
                found.set(name, made)


def columns_of(target: Relation) -> Sequence[str]:
    """Return the names of the columns of an output, in order; raises UnreadSql if they or their order are not known."""
    if not target.columns:
        raise UnreadSql("the SQL has no column list, and no event of the run reports the columns of the output")
    if target.more_of:
        raise UnreadSql("the SQL has no column list, and no event of the run reports all columns of the output")
    if target.is_joined:
        raise UnreadSql("the SQL has no column list, and no single event reports all columns of the output")
    return target.names


def meant_by_update(node: exp.Update) -> exp.Expr:
    """Return the table that an UPDATE changes. In T-SQL, the statement may name it by an alias from its FROM clause."""
    target: exp.Expr = node.this
    from_ = node.args.get("from_")
    tables: Iterable[exp.Table] = from_.find_all(exp.Table) if from_ else ()
    for table in tables:
        if table.alias and table.alias.casefold() == target.name.casefold() and not target.args.get("db"):
            return table
    return target
