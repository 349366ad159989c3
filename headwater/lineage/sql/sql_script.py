"""Read all statements of a script, and find the origins of the columns of each dataset that they write."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from sqlglot import exp

from headwater.lineage.sql.changed_rows import ChangedRows, columns_of, meant_by_update
from headwater.lineage.sql.column_steps import COPIED, FILTER, Relation, add
from headwater.lineage.sql.harmless_sql import has_query_as_text, is_harmless, kind_of, reads_columns
from headwater.lineage.sql.known_tables import KnownTable, KnownTables
from headwater.lineage.sql.made_output import MadeOutput, named, placed, size_of
from headwater.lineage.sql.query_reader import QueryReader
from headwater.lineage.sql.several_inserts import inserts_of
from headwater.lineage.sql.sql_bounds import MOST_COLUMNS, NESTED, Budget, most_steps
from headwater.lineage.sql.sql_text import parsed_script, statements_of
from headwater.lineage.sql.stray_words import StrayWord
from headwater.lineage.sql.unread_sql import UnreadSql, shown
from headwater.lineage.sql.written_parts import fixed, listed, name_of, rows, table_of

_MORE_DECIDES = "columns that no event of the run reports may determine which rows the SQL writes"

Makes = Callable[[int | None], MadeOutput]
"""Returns the columns that a statement writes into the dataset at an index, or into a table of the script (None)."""


def read_script(sql: str, dialect: str, tables: Sequence[KnownTable]) -> dict[int, MadeOutput | str]:
    """Return the columns that a script writes into each output, by the index of the output.

    If an output cannot be resolved, its value is the reason. Raises UnreadSql if the whole script is not read.
    """
    columns = sum(len(table.columns) for table in tables)
    if columns > MOST_COLUMNS:
        raise UnreadSql(f"the datasets of the run have more than {MOST_COLUMNS:,} columns")
    try:
        return _written(*parsed_script(sql, dialect), tables, dialect, Budget(most_steps(sql, columns)))
    except RecursionError as error:
        raise UnreadSql(NESTED) from error


def own_names(sql: str, dialect: str) -> frozenset[str]:
    """Return the names that a script defines itself, casefolded: CTEs, aliases and temporary tables.

    The result is empty for a script that is not read.
    """
    try:
        found = {name.casefold() for statement in statements_of(sql, dialect) for name in _defined(statement)}
    except (UnreadSql, RecursionError):
        return frozenset()
    return frozenset(found - {""})


def _defined(statement: exp.Expr) -> Iterator[str]:
    for node in statement.find_all(exp.CTE, exp.Subquery, exp.Table):
        if node.alias and not (isinstance(node, exp.Table) and node.alias.casefold() == node.name.casefold()):
            yield node.alias
    into = statement.args.get("into") if isinstance(statement, exp.Select) else None
    made = statement.this if isinstance(statement, (exp.Create, exp.Cache)) else into and into.this
    table = table_of(made) if isinstance(made, exp.Expr) else None
    if isinstance(table, exp.Table):
        properties = statement.args.get("properties")
        temporary = isinstance(statement, exp.Cache) or bool(into and into.args.get("temporary"))
        temporary = temporary or bool(properties and properties.find(exp.TemporaryProperty))
        if temporary or table.this.args.get("temporary") or name_of(table).startswith("#"):
            yield name_of(table)


def _written(
    statements: Sequence[exp.Expr],
    words: Sequence[StrayWord],
    tables: Sequence[KnownTable],
    dialect: str,
    budget: Budget,
) -> dict[int, MadeOutput | str]:
    mentioned = {name_of(table) for statement in statements for table in statement.find_all(exp.Table)}
    script = _SqlScript(KnownTables(tables, mentioned), dialect, budget)
    script.account_for_words(words)
    if len(statements) == 1 and script.take_model(statements[0]):
        return script.found()
    for statement in statements:
        script.take(statement)
        script.account_for(statement)
    return script.found()


def _unsupported_use(what: str) -> str:
    return f"the SQL uses {what} in a way that Headwater does not support"


class _SqlScript:
    """The state of reading a script, statement by statement.

    written: by the index of an output, its columns, or the reason why it is not read.
    """

    def __init__(self, tables: KnownTables, dialect: str, budget: Budget):
        self.written: dict[int, MadeOutput | str] = {}
        self._tables = tables
        self._budget = budget
        self._reader = QueryReader(tables, self._budget, dialect)
        self._own: dict[str, Relation] = {}
        self._doubtful: set[int] = set()
        self._unread: str | None = None
        self._changed = ChangedRows(self._reader, self._own)
        outputs = [place for place, table in enumerate(tables.tables) if table.is_output]
        self._only = outputs[0] if len(outputs) == 1 else None

    def take(self, statement: exp.Expr) -> None:
        """Read one statement and record the datasets that it writes; raises UnreadSql."""
        into = statement.args.get("into") if isinstance(statement, exp.Select) else None
        if isinstance(statement, exp.Insert):
            self._write(statement.this, lambda place: self._inserted(statement, place))
        elif isinstance(statement, exp.MultitableInserts):
            for insert in inserts_of(statement, self._budget):
                self.take(insert)
        elif isinstance(statement, exp.Create):
            self._create(statement)
        elif into is not None:
            temporary = bool(into.args.get("temporary"))
            self._write(into.this, lambda place: self._named(self._query(statement), place), temporary=temporary)
        elif isinstance(statement, exp.Merge):
            self._write(statement.this, lambda place: self._changed.merged(statement, self._target(place)))
        elif isinstance(statement, exp.Update):
            self._update(statement)
        elif isinstance(statement, exp.Delete):
            self._delete(statement)
        elif isinstance(statement, exp.Cache) and statement.expression is not None:
            self._keep_own(name_of(statement.this).casefold(), self._named(self._query(statement.expression), None))
        elif isinstance(statement, exp.Drop):
            for table in statement.find_all(exp.Table):
                self._own.pop(name_of(table).casefold(), None)  # the name means a dataset of the run again
        elif not is_harmless(statement):
            raise UnreadSql(
                f"the SQL contains a statement that Headwater does not support: {shown(kind_of(statement))}"
            )

    def account_for(self, statement: exp.Expr) -> None:
        """Rule 13.8: if a statement has a reference that was not followed, mark the datasets that it names as doubtful.

        The reference may use any column of these datasets, so each output of the script stays open to them.
        """
        if has_query_as_text(statement):
            self._doubt_all("the SQL contains a function whose body Headwater does not read")
        if not reads_columns(statement):
            names = {column.name.casefold() for column in statement.find_all(exp.Column)}
            places = (self._tables.read(name_of(table)) for table in statement.find_all(exp.Table) if names)
            self._name_columns(names, {place for place in places if place is not None})
            return
        if not self._reader.references.unread(statement):
            return
        ctes = {each.alias.casefold() for each in statement.find_all(exp.CTE)}
        for table in statement.find_all(exp.Table):
            name = name_of(table)
            own, place = self._own.get(name.casefold()), self._tables.read(name)
            if own is None and place is None and name.casefold() not in ctes:  # a view, or a table function
                is_function = not isinstance(table.this, (exp.Identifier, exp.Dot, exp.Var))
                inputs = {each for each, known in enumerate(self._tables.tables) if known.is_input}
                hidden = inputs if is_function else set(self._tables.hidden())
                if hidden:
                    self._unread = self._unread or _unsupported_use(f"columns of {shown(name)}")
                self._doubtful |= hidden
            if own is not None:
                doubtful = MadeOutput(dict(own.columns), own.whole).places
            else:
                doubtful = set() if place is None else {place}
            if any(self._tables.tables[each].is_input for each in doubtful):
                self._unread = self._unread or _unsupported_use(f"columns of {shown(name)}")
            self._doubtful |= doubtful

    def account_for_words(self, words: Sequence[StrayWord]) -> None:
        """Count columns as used if a word of the script names them, although no reference does (rule 13.8)."""
        names = {word.name.casefold() for word in words}
        likely = next((word.name for word in words if word.is_likely), None)
        hidden = set(self._tables.hidden()) if likely is not None else set()
        for place, table in enumerate(self._tables.tables if names else ()):
            self._name_columns(names, [place])
            is_open = table.is_input and place not in hidden and (table.is_part or not table.columns)
            if likely is not None and is_open:
                self._unread = self._unread or _unsupported_use(shown(likely))
                self._doubtful.add(place)

    def _name_columns(self, names: Container[str], places: Iterable[int]) -> None:
        """Count the columns of datasets as used if they have one of these casefolded names."""
        for place in places:
            columns = self._tables.tables[place].columns
            self._budget.copy(len(columns))
            self._reader.references.origins.update((place, each) for each in columns if each.casefold() in names)

    def _doubt_all(self, reason: str) -> None:
        self._unread = self._unread or reason
        self._doubtful.update(place for place, table in enumerate(self._tables.tables) if table.is_input)

    def found(self) -> dict[int, MadeOutput | str]:
        """Return the outputs of the script, and mark the datasets that it may read beyond what an output shows.

        A column that the script names without using its value gets the step FILTER, because the script fails without
        it.
        """
        inputs = {place for place, table in enumerate(self._tables.tables) if table.is_input}
        read = [made for made in self.written.values() if not isinstance(made, str)]
        told = {origin for made in read for each in (*made.columns.values(), made.whole) for origin in each}
        named = {origin: {FILTER} for origin in self._reader.references.origins - told if origin[0] in inputs}
        for made in read:
            self._budget.copy(len(named))
            add(made.whole, named, COPIED)
        return {
            place: made if isinstance(made, str) else self._left_open(made, self._doubtful & inputs)
            for place, made in self.written.items()
        }

    def _left_open(self, made: MadeOutput, doubtful: set[int]) -> MadeOutput:
        """Add the datasets that the script may read beyond what an output shows, and the reason."""
        behind = self._reader.behind_views & made.places
        if doubtful:
            unread = self._unread
        elif behind:
            unread = f"the SQL reads {shown(self._reader.view)}, a view whose definition is unknown"
        else:
            unread = made.unread or (_MORE_DECIDES if self._reader.left_open else None)
        return made._replace(
            behind_views=made.behind_views.union(behind, doubtful, self._reader.left_open), unread=unread
        )

    def take_model(self, statement: exp.Expr) -> bool:
        """Read a script that is a single query, as dbt sends it for its only output. Return whether it is one."""
        is_model = isinstance(statement, exp.Query) and not statement.args.get("into") and self._only is not None
        if is_model:
            self._note(self._only or 0, lambda place: self._named(self._query(statement), place))
            self.account_for(statement)
        return is_model

    # Outputs

    def _write(self, target: exp.Expr, made: Makes, *, temporary: bool = False) -> None:
        """Record the columns that a statement writes into an output of the run, or into a table of the script."""
        table = table_of(target)
        if isinstance(table, exp.Directory):
            return
        if not isinstance(table, exp.Table):
            raise UnreadSql("the SQL writes to a target that is not a table")
        name = name_of(table)
        temporary = temporary or bool(table.this.args.get("temporary")) or name.startswith("#")
        place = None if temporary or name.casefold() in self._own else self._place(name)
        if place is not None:
            self._note(place, made)
        else:
            self._keep_own(name.casefold(), made(None))

    def _place(self, name: str) -> int | None:
        """Return the index of the output that a name refers to. An unknown name refers to the only output, if any."""
        place = self._tables.written(name)
        if place is None and self._only is not None and self._only not in self.written:
            place = self._only if self._tables.read(name) is None else None
        if place is not None:
            self._tables.learn(name, place)
        return place

    def _keep_own(self, name: str, found: MadeOutput) -> None:
        """Record the columns of a table that the script creates. Several statements may fill it."""
        if found.is_part:
            raise UnreadSql(f"the SQL leaves columns of {shown(name)} without names")
        before = self._own.get(name)
        both = MadeOutput({}, {})
        if before is not None:
            kept = MadeOutput(dict(before.columns), before.whole)
            self._budget.copy(kept.size)
            both.take(kept)
        self._budget.copy(found.size)
        both.take(found)
        self._own[name] = relation = Relation(both.columns.items())
        relation.whole = both.whole

    def _note(self, place: int, made: Makes) -> None:
        before = self.written.get(place)
        if isinstance(before, str):
            return
        try:
            found = made(place)
            if before is not None:
                self._budget.copy(found.size)
        except UnreadSql as refusal:
            self.written[place] = str(refusal)
            return
        if before is None:
            self.written[place] = found
        else:
            before.take(found)
            self.written[place] = before._replace(
                is_part=before.is_part or found.is_part,
                behind_views=before.behind_views | found.behind_views,
                unread=before.unread or found.unread,
            )

    def _query(self, node: exp.Expr) -> Relation:
        return self._reader.query(node, self._own)

    # Statements

    def _inserted(self, node: exp.Insert, place: int | None) -> MadeOutput:
        self._reader.references.read_all([node.this, node.args.get("partition")])
        known = self._reader.with_ctes(node, self._own)
        query = rows(node.expression or node.args.get("source"))
        if query is None:
            return MadeOutput({}, {})
        relation = self._reader.query(query, known)
        names: Sequence[str] = list(listed(node.this))
        if node.args.get("by_name") and not names:
            names = [name for name, _ in relation.columns]
        if not names and place is not None:
            given = set(fixed(node))
            names = columns_of(self._target(place))
            if given:
                self._budget.copy(len(names))
                names = [name for name in names if name.casefold() not in given]
        self._budget.copy(size_of(made for _, made in relation.columns))
        found = MadeOutput(placed(relation, names), relation.whole)
        if node.args.get("conflict"):
            self._changed.on_conflict(node, known, found, self._target(place))
        return found

    def _create(self, node: exp.Create) -> None:
        clone = node.args.get("clone")
        self._reader.references.read_all([node.this, node.args.get("properties")])
        query = rows(clone.this if clone is not None else node.expression)
        if node.kind not in ("TABLE", "VIEW") or query is None:
            return
        properties = node.args.get("properties")
        temporary = bool(properties and properties.find(exp.TemporaryProperty))

        def made(place: int | None) -> MadeOutput:
            relation = self._reader.query(query, self._reader.with_ctes(node, self._own))
            names = list(listed(node.this))
            if not names:
                return self._named(relation, place)
            self._budget.copy(size_of(made for _, made in relation.columns))
            return MadeOutput(placed(relation, names), relation.whole)

        self._write(node.this, made, temporary=temporary)

    def _update(self, node: exp.Update) -> None:
        table = meant_by_update(node)

        def made(place: int | None) -> MadeOutput:
            target = self._target(place) if place is not None else None
            return self._changed.updated(node, node.this, target)

        self._write(table, made)

    def _delete(self, node: exp.Delete) -> None:
        table = node.this
        place = self._tables.written(name_of(table)) if isinstance(table, exp.Table) else None
        if place is not None:
            self._note(place, lambda place: self._changed.deleted(node, table, self._target(place)))

    # Columns

    def _target(self, place: int | None) -> Relation:
        if place is None:
            raise UnreadSql("the SQL changes a table that is not a dataset of the run")
        return self._reader.dataset(place)

    def _named(self, relation: Relation, place: int | None) -> MadeOutput:
        self._budget.copy(size_of(made for _, made in relation.columns))
        return named(relation, self._target(place) if place is not None else None)
