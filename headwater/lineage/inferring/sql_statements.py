"""The statements of a script to what each dataset that they write is made of."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

from headwater.lineage.inferring.column_steps import COPIED, Made, Relation, add, table_relation
from headwater.lineage.inferring.known_tables import KnownTable, KnownTables
from headwater.lineage.inferring.query_reader import FILTER, JOIN, QueryReader
from headwater.lineage.inferring.query_scope import Scope
from headwater.lineage.inferring.sql_bounds import (
    DEEPEST,
    MOST_COLUMNS,
    MOST_TRIED,
    Budget,
    bounded_tokens,
    count_steps,
)
from headwater.lineage.inferring.unread_sql import UnreadSql, shown

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it quotes what it does not know: reasons say that here

PARSER = "sqlglot 30.30.0"
"""What is pinned in pyproject.toml: as text here, so that another version changes the version of the rules."""

_HARMLESS = (
    exp.Use, exp.Set, exp.Drop, exp.Delete, exp.TruncateTable, exp.Alter, exp.Comment, exp.Transaction, exp.Commit,
    exp.Rollback, exp.Pragma, exp.Analyze, exp.Describe, exp.Cache, exp.Uncache, exp.Refresh, exp.Grant, exp.Semicolon,
    exp.Declare, exp.Show,
)  # fmt: skip
"""What writes no column from another."""

_HARMLESS_COMMANDS = frozenset({
    "VACUUM", "OPTIMIZE", "ANALYZE", "SET", "RESET", "SHOW", "EXPLAIN", "LOCK", "MSCK", "REFRESH", "INVALIDATE",
    "COMPUTE", "GRANT", "REVOKE", "USE", "ALTER",
})  # fmt: skip


class MadeOutput(NamedTuple):
    """What a script makes of one dataset: columns by name, and what concerns all its rows."""

    columns: dict[str, Made]
    whole: Made


Makes = Callable[[int | None], MadeOutput]
"""What a statement makes of the dataset at a place, None: of a table of the script's own."""


def read_script(sql: str, dialect: str, tables: Sequence[KnownTable]) -> dict[int, MadeOutput | str]:
    """Return by the place of each output that the script writes what that is made of, or why that cannot be told.

    Raises UnreadSql where nothing can be told of any.
    """
    if sum(len(table.columns) for table in tables) > MOST_COLUMNS:
        raise UnreadSql(f"the datasets of the run have more than {MOST_COLUMNS:,} columns")
    parser = Dialect.get_or_raise(dialect)
    tokens = bounded_tokens(sql, parser)
    try:
        parsing = count_steps(parser.parser(), Budget(MOST_TRIED, "parsing it"))
        statements = [each for each in parsing.parse(list(tokens), sql) if each is not None]
    except ParseError as error:
        at = error.errors[0] if error.errors else {}
        where = f" at line {at['line']}" if at.get("line") else ""
        raise UnreadSql(f"its SQL is none that {PARSER} reads as {dialect or 'standard SQL'}{where}") from error
    except (SqlglotError, RecursionError, ValueError) as error:
        raise UnreadSql(f"its SQL is none that {PARSER} reads as {dialect or 'standard SQL'}") from error
    try:
        return _written(statements, tables)
    except RecursionError as error:
        raise UnreadSql(f"it is nested more than {DEEPEST} deep") from error


def _written(statements: Sequence[exp.Expr], tables: Sequence[KnownTable]) -> dict[int, MadeOutput | str]:
    script = _Script(KnownTables(tables))
    for statement in statements:
        script.take(statement)
    if not script.written and len(statements) == 1:
        script.take_model(statements[0])
    return script.written


class _Script:
    """What the statements so far have written."""

    def __init__(self, tables: KnownTables):
        self.written: dict[int, MadeOutput | str] = {}
        self._tables = tables
        self._reader = QueryReader(tables, Budget())
        self._own: dict[str, Relation] = {}
        outputs = [place for place, table in enumerate(tables.tables) if table.is_output]
        self._only = outputs[0] if len(outputs) == 1 else None

    def take(self, statement: exp.Expr) -> None:
        """Read one statement, and what it writes."""
        into = statement.args.get("into") if isinstance(statement, exp.Select) else None
        if isinstance(statement, exp.Insert):
            self._write(statement.this, lambda place: self._inserted(statement, place))
        elif isinstance(statement, exp.MultitableInserts):
            for insert in _inserts(statement):
                self.take(insert)
        elif isinstance(statement, exp.Create):
            self._create(statement)
        elif into is not None:
            temporary = bool(into.args.get("temporary"))
            self._write(into.this, lambda place: self._named(self._query(statement), place), temporary=temporary)
        elif isinstance(statement, exp.Merge):
            self._write(statement.this, lambda place: self._merged(statement, place))
        elif isinstance(statement, exp.Update):
            self._update(statement)
        elif not self._is_harmless(statement):
            raise UnreadSql(f"it has a statement of a kind that is not read: {shown(_kind(statement))}")

    def take_model(self, statement: exp.Expr) -> None:
        """Read a query alone, as dbt sends what it makes its only output of."""
        if isinstance(statement, exp.Query) and self._only is not None:
            self._note(self._only, lambda place: self._named(self._query(statement), place))

    # What is written

    def _write(self, target: exp.Expr, made: Makes, *, temporary: bool = False) -> None:
        """Note what a statement makes of an output of the run, or of a table that is the script's own."""
        table = target.this if isinstance(target, exp.Schema) else target
        if not isinstance(table, exp.Table):
            raise UnreadSql("it writes what is no table")
        name = ".".join(part.name for part in table.parts)
        temporary = temporary or bool(table.this.args.get("temporary")) or name.startswith("#")
        place = None if temporary or name.casefold() in self._own else self._tables.written(name)
        if place is None and self._only is not None and not temporary and self._only not in self.written:
            place = self._only if name.casefold() not in self._own and self._tables.read(name) is None else None
        if place is not None:
            self._note(place, made)
            return
        found = made(None)
        before = self._own.get(name.casefold())
        columns = {key: _copied(value) for key, value in (before.columns if before else ())}
        for key, value in found.columns.items():
            add(columns.setdefault(key, {}), value, COPIED)
        self._own[name.casefold()] = relation = Relation(columns.items())
        relation.whole = found.whole

    def _note(self, place: int, made: Makes) -> None:
        before = self.written.get(place)
        if isinstance(before, str):
            return
        try:
            found = made(place)
        except UnreadSql as refusal:
            self.written[place] = str(refusal)
            return
        if before is None:
            self.written[place] = found
            return
        for name, value in found.columns.items():
            add(before.columns.setdefault(name, {}), value, COPIED)
        add(before.whole, found.whole, COPIED)

    def _query(self, node: exp.Expr) -> Relation:
        return self._reader.query(node, self._own)

    # Statements

    def _inserted(self, node: exp.Insert, place: int | None) -> MadeOutput:
        named = self._reader.with_ctes(node, self._own)
        if node.expression is None:
            return MadeOutput({}, {})
        relation = self._reader.query(node.expression, named)
        listed = [each.name for each in node.this.expressions] if isinstance(node.this, exp.Schema) else []
        if node.args.get("by_name") and not listed:
            listed = [name for name, _ in relation.columns]
        partition = node.args.get("partition") or _table_of(node.this).args.get("partition")
        fixed = (
            {each.this.name.casefold() for each in partition.expressions if isinstance(each, exp.EQ)}
            if partition
            else set()
        )
        found = MadeOutput(_placed(relation, listed or self._columns(place, fixed)), relation.whole)
        if node.args.get("conflict"):
            self._on_conflict(node, found, place)
        return found

    def _on_conflict(self, node: exp.Insert, found: MadeOutput, place: int | None) -> None:
        """Take ON CONFLICT DO UPDATE: `excluded` is the row that was to be inserted."""
        scope = Scope()
        scope.add(_table_of(node.this).alias_or_name, self._target(place))
        scope.add("excluded", Relation(found.columns.items()))
        for name, value in list(self._assigned(node.args["conflict"].expressions, scope)):
            add(found.columns.setdefault(name, {}), value, COPIED)

    def _create(self, node: exp.Create) -> None:
        if node.kind not in ("TABLE", "VIEW") or not isinstance(node.expression, (exp.Query, exp.Table)):
            return
        properties = node.args.get("properties")
        temporary = bool(properties and properties.find(exp.TemporaryProperty))

        def made(place: int | None) -> MadeOutput:
            relation = self._reader.query(node.expression, self._reader.with_ctes(node, self._own))
            listed = [each.name for each in node.this.expressions] if isinstance(node.this, exp.Schema) else []
            return MadeOutput(_placed(relation, listed), relation.whole) if listed else self._named(relation, place)

        self._write(node.this, made, temporary=temporary)

    def _merged(self, node: exp.Merge, place: int | None) -> MadeOutput:
        scope, named = Scope(), self._reader.with_ctes(node, self._own)
        target = self._target(place)
        scope.add(node.this.alias_or_name, target)
        self._reader.add_source(node.args["using"], named, scope)
        source = list(scope.sources.values())[-1]
        found = MadeOutput({}, {})
        add(found.whole, source.whole, COPIED)
        add(found.whole, self._reader.steps(node.args["on"], named, scope, JOIN), COPIED)
        updated: set[str] = set()
        for when in node.args["whens"].expressions:
            if when.args.get("condition") is not None:
                add(found.whole, self._reader.steps(when.args["condition"], named, scope, FILTER), COPIED)
            for name, value in self._done(when.args.get("then"), scope, source, place):
                add(found.columns.setdefault(name, {}), value, COPIED)
                if isinstance(when.args.get("then"), exp.Update):
                    updated.add(name.casefold())
        _keep(found, target, updated)
        return found

    def _done(
        self, then: exp.Expr | None, scope: Scope, source: Relation, place: int | None
    ) -> Iterator[tuple[str, Made]]:
        """Yield what one branch of a MERGE writes; INSERT * and UPDATE SET * take the source's columns by name."""
        if isinstance(then, exp.Update) and then.expressions and not isinstance(then.expressions[0], exp.Star):
            yield from self._assigned(then.expressions, scope)
        elif isinstance(then, exp.Insert) and isinstance(then.expression, exp.Tuple):
            listed = [each.name for each in then.this.expressions] if then.this else self._columns(place, set())
            values = [self._reader.steps(each, self._own, scope, COPIED) for each in then.expression.expressions]
            yield from _placed(Relation([("", value) for value in values]), listed).items()
        elif isinstance(then, (exp.Update, exp.Insert)):
            if not source.columns:
                raise UnreadSql("no event of the run says which columns a table has of which it takes `*`")
            yield from source.columns

    def _update(self, node: exp.Update) -> None:
        scope, named = Scope(), self._reader.with_ctes(node, self._own)
        target = node.this

        def made(place: int | None) -> MadeOutput:
            if node.args.get("from_"):
                self._reader.add_source(node.args["from_"].this, named, scope)
            if place is not None and target.alias_or_name.casefold() not in scope.sources:
                scope.add(target.alias_or_name, self._target(place))
            found = MadeOutput({}, {})
            for join in target.args.get("joins") or ():
                self._reader.join(join, named, scope)
            for name, value in self._assigned(node.expressions, scope):
                add(found.columns.setdefault(name, {}), value, COPIED)
            if node.args.get("where") is not None:
                add(found.whole, self._reader.steps(node.args["where"], named, scope, FILTER), COPIED)
            if place is not None:
                _keep(found, self._target(place), {name.casefold() for name in found.columns})
            for concerning in (*scope.met, *(relation.whole for relation in scope.sources.values())):
                add(found.whole, concerning, COPIED)
            return found

        self._write(_meant(target, node), made)

    def _assigned(self, assignments: Sequence[exp.Expr], scope: Scope) -> Iterator[tuple[str, Made]]:
        for each in assignments:
            if not isinstance(each, exp.EQ) or not isinstance(each.this, exp.Column):
                raise UnreadSql("it assigns several columns at once, which is not read")
            yield each.this.name, self._reader.steps(each.expression, self._own, scope, COPIED)

    # Columns

    def _target(self, place: int | None) -> Relation:
        if place is None:
            raise UnreadSql("it changes a table that is no dataset of the run")
        return table_relation(place, self._tables.tables[place].columns)

    def _columns(self, place: int | None, fixed: set[str]) -> list[str]:
        """Return the columns of an output in their order, without those that a PARTITION gives a value."""
        if place is None:
            return []
        every = [name for name, _ in self._target(place).columns]
        if not every:
            raise UnreadSql("it lists no columns, and no event of the run says which the output has")
        return [name for name in every if name.casefold() not in fixed]

    def _named(self, relation: Relation, place: int | None) -> MadeOutput:
        """Take the columns by the query's names; where it leaves one out, by the places they have in the output."""
        if all(name for name, _ in relation.columns):
            return MadeOutput(_united(relation.columns), relation.whole)
        columns = [name for name, _ in self._target(place).columns] if place is not None else []
        if len(columns) != len(relation.columns):
            return MadeOutput(_united([each for each in relation.columns if each[0]]), relation.whole)
        return MadeOutput(_placed(relation, columns), relation.whole)

    def _is_harmless(self, statement: exp.Expr) -> bool:
        if isinstance(statement, exp.Command):
            return str(statement.this).upper() in _HARMLESS_COMMANDS
        return isinstance(statement, (*_HARMLESS, exp.Query))


def _keep(found: MadeOutput, target: Relation, updated: set[str]) -> None:
    """Say of the columns that MERGE and UPDATE leave as they are that they stay, as Spark's listener does."""
    for name, made in target.columns:
        if name.casefold() not in updated:
            add(found.columns.setdefault(name, {}), made, COPIED)


def _placed(relation: Relation, columns: Sequence[str]) -> dict[str, Made]:
    """Return columns under the names that they get by their places."""
    if not columns:
        return _united(relation.columns)
    if len(relation.columns) > len(columns):
        raise UnreadSql("it writes more columns than are listed, or than the output's schema has")
    return _united([(name, made) for name, (_, made) in zip(columns, relation.columns, strict=False)])


def _united(columns: Sequence[tuple[str, Made]]) -> dict[str, Made]:
    found: dict[str, Made] = {}
    for name, made in columns:
        add(found.setdefault(name, {}), made, COPIED)
    return found


def _copied(made: Made) -> Made:
    return {origin: set(steps) for origin, steps in made.items()}


def _table_of(target: exp.Expr) -> exp.Expr:
    found: exp.Expr = target.this if isinstance(target, exp.Schema) else target
    return found


def _inserts(node: exp.MultitableInserts) -> Iterator[exp.Insert]:
    """Yield the INSERTs of Hive's `FROM s INSERT … INSERT …`, each as if it had the FROM and the CTEs itself."""
    for insert in node.expressions:
        if not isinstance(insert, exp.Insert) or not isinstance(insert.expression, exp.Select):
            raise UnreadSql("it has a conditional INSERT, which is not read")
        insert.expression.set("from_", exp.From(this=node.args["source"].copy()))
        if node.args.get("with_"):
            insert.set("with_", node.args["with_"].copy())
        yield insert


def _meant(target: exp.Expr, node: exp.Update) -> exp.Expr:
    """Return the table that an UPDATE changes: T-SQL names it by the alias that its FROM gives it."""
    from_ = node.args.get("from_")
    tables: Iterable[exp.Table] = from_.find_all(exp.Table) if from_ else ()
    for table in tables:
        if table.alias and table.alias.casefold() == target.name.casefold() and not target.args.get("db"):
            return table
    return target


def _kind(statement: exp.Expr) -> str:
    return str(statement.this).upper() if isinstance(statement, exp.Command) else statement.key.upper()
