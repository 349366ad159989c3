"""Compare tables before and after a change; their differences are the planned changes.

The tables before the change come from answers to questions, which also resolve table names. No I/O.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from headwater.common.errors import HeadwaterError, NotKnown, ServerRefusal, WrongQuestion
from headwater.common.nearest_names import nearest_names

MAX_ITEMS = "10000"
ChangeKind = Literal["drop_column", "rename_column", "retype_column", "drop_table", "rename_table", "not_understood"]


class PresentTable(NamedTuple):
    """A table that exists now. columns: maps each column to its type, or None if no event reported the type.

    display_name: the display name of the dataset, or None if it equals the canonical name.
    """

    namespace: str
    dataset: str
    columns: dict[str, str | None]
    display_name: str | None = None


class PlannedChange(NamedTuple):
    """A change of a table or a column.

    table_name: name of the table in the change. table: the current table, or None if it is unknown.
    before, after: the types of a column, or in `after` the new name. why: the reason if the effect is unknown.
    """

    kind: ChangeKind
    table_name: str
    table: PresentTable | None
    column: str | None = None
    before: str | None = None
    after: str | None = None
    why: str | None = None


class PlannedColumn(NamedTuple):
    """A column after the change.

    current: the current name of the column, or None if it is new. type: None if the change does not contain the type.
    """

    name: str
    type: str | None
    current: str | None


@dataclass
class PlannedTable:
    """A table after the change. current: the table as it is now, or None if the table is new.

    columns: the columns after the change, or None if they are unknown. why: the reason if they are unknown.
    """

    table_name: str
    current: PresentTable | None
    columns: list[PlannedColumn] | None
    why: str | None = None

    def column_position(self, name: str) -> int | None:
        """Return the index of a column, or None if there is no such column; ignores case."""
        wanted = name.casefold()
        return next((at for at, each in enumerate(self.columns or ()) if each.name.casefold() == wanted), None)


Lookup = Callable[[str], PresentTable | None]
"""Returns the current table for a name in a change, or None if the table is unknown."""


@dataclass
class PlannedSchema:
    """All tables of a change; each statement updates them. Ignores the case of names. lookup: finds current tables."""

    lookup: Lookup
    _tables: dict[str, PlannedTable | None] = field(default_factory=dict)
    _present: dict[str, PresentTable | None] = field(default_factory=dict)
    _table_names: dict[str, str] = field(default_factory=dict)
    _unresolved: list[PlannedChange] = field(default_factory=list)
    _made: set[str] = field(default_factory=set)

    def current_table(self, table_name: str) -> PresentTable | None:
        """Return the table as it is before the change, or None if it is unknown."""
        key = table_name.casefold()
        if key not in self._present:
            self._present[key] = self.lookup(table_name)
        return self._present[key]

    def planned_table(self, table_name: str) -> PlannedTable | None:
        """Return the table after the statements so far; None if it does not exist or is unknown."""
        key = table_name.casefold()
        if key not in self._tables:
            now = self.current_table(table_name)
            columns = None if now is None else [PlannedColumn(name, kind, name) for name, kind in now.columns.items()]
            planned = None if now is None else PlannedTable(table_name, now, columns or None)
            if planned is None:
                return None
            self._tables[key], self._table_names[key] = planned, table_name
        return self._tables[key]

    def drop_table(self, table_name: str) -> None:
        """Drop a table."""
        self._load_table(table_name)
        self._tables[table_name.casefold()] = None

    def rename_table(self, table_name: str, new: str) -> None:
        """Rename a table."""
        table = self.planned_table(table_name)
        self._load_table(table_name)
        self._tables[table_name.casefold()] = None
        if table is not None:
            self._load_table(new)
            self._tables[new.casefold()] = table

    def rename_in_schema(self, table_name: str, new: str) -> None:
        """Rename a table within its schema, or to a name with a schema; if the table is unknown, record the change."""
        before = table_name.rpartition(".")[0]
        if self.planned_table(table_name) is None:
            self._unresolved.append(PlannedChange("rename_table", table_name, None, after=new))
        else:
            self.rename_table(table_name, new if "." in new or not before else f"{before}.{new}")

    def drop_column(self, table_name: str, column: str) -> None:
        """Drop a column; if the column is unknown, record the change."""
        table = self.planned_table(table_name)
        at = table.column_position(column) if table else None
        if table is None or table.columns is None or at is None:
            self._unresolved.append(
                PlannedChange(
                    "drop_column",
                    table_name,
                    self._current_table(table, column),
                    column,
                    why=_missing_column_note(table, column),
                )
            )
        else:
            del table.columns[at]

    def change_column(
        self, table_name: str, column: str, *, rename: str | None = None, kind: str | None = None
    ) -> None:
        """Rename a column, change its type (`kind`), or both; if the column is unknown, record the change."""
        table = self.planned_table(table_name)
        at = table.column_position(column) if table else None
        if table is None or table.columns is None or at is None:
            change: ChangeKind = "rename_column" if rename else "retype_column"
            why = _missing_column_note(table, column)
            self._unresolved.append(
                PlannedChange(change, table_name, self._current_table(table, column), column, None, rename or kind, why)
            )
        else:
            old = table.columns[at]
            table.columns[at] = PlannedColumn(rename or old.name, kind or old.type, old.current)

    @staticmethod
    def _current_table(table: PlannedTable | None, column: str) -> PresentTable | None:
        """Return the current table if the column may exist in it; None if the change has already removed the column."""
        if table is None or table.current is None:
            return None
        is_gone = any(each.casefold() == column.casefold() for each in table.current.columns)
        return None if is_gone else table.current

    def create_table(self, table_name: str, columns: list[PlannedColumn] | None, reason: str | None = None) -> None:
        """Create or replace a table. columns: None if they are unknown. reason: why the columns are unknown."""
        self._load_table(table_name)
        self._made.add(table_name.casefold())
        self._tables[table_name.casefold()] = PlannedTable(table_name, None, columns, reason)

    def has_table(self, table_name: str) -> bool:
        """Return whether the table exists after the statements so far."""
        return self.planned_table(table_name) is not None

    def record_unreadable(self, table_name: str, reason: str) -> None:
        """Record a statement that may change a table in an unknown way. table_name: empty if the table is unknown."""
        self._unresolved.append(
            PlannedChange(
                "not_understood", table_name, self.current_table(table_name) if table_name else None, why=reason
            )
        )

    def changes(self) -> list[PlannedChange]:
        """Return the changes by table, in the order in which statements mention the tables, then unresolved changes."""
        return [*(change for key in [*self._tables] for change in self._changes_of_table(key)), *self._unresolved]

    def _load_table(self, table_name: str) -> None:
        self._table_names.setdefault(table_name.casefold(), table_name)
        self.current_table(table_name)

    def _changes_of_table(self, key: str) -> Iterator[PlannedChange]:
        now, then, table_name = self._present.get(key), self._tables[key], self._table_names[key]
        if now is None:
            if then is None and key not in self._made:
                yield PlannedChange("drop_table", table_name, None)
            return
        if then is None:
            moved = next((k for k, each in self._tables.items() if each is not None and each.current == now), None)
            if moved is None:
                yield PlannedChange("drop_table", table_name, now)
            else:
                yield PlannedChange("rename_table", table_name, now, after=self._table_names[moved])
        elif then.columns is None:
            if then.current is None and then.why:
                yield PlannedChange("not_understood", table_name, now, why=then.why)
        else:
            yield from _column_changes(table_name, now, then)


def sibling_path(path: str, name: str) -> str:
    """Return the path of `name` in the same struct as `path`: `address.town` for `address.city` and `town`."""
    around = path.rpartition(".")[0]
    return f"{around}.{name}" if around and "." not in name else name


def _column_changes(table_name: str, now: PresentTable, then: PlannedTable) -> Iterator[PlannedChange]:
    remaining = {each.name.casefold(): each for each in then.columns or ()}
    renamed = {each.current.casefold(): each for each in then.columns or () if each.current is not None}
    for name, kind in now.columns.items():
        around = name.rpartition(".")[0]
        if around in now.columns and (then.current != now or around.casefold() not in remaining):
            continue  # the change of the parent column covers it
        same = remaining.get(name.casefold())
        other = renamed.get(name.casefold()) if then.current == now else None
        if other is not None and (same is None or other is not same) and other.name.casefold() != name.casefold():
            yield PlannedChange("rename_column", table_name, now, name, kind, other.name)
            if same is None:
                same = other
            if not _has_other_type(kind, other.type):
                continue
        if same is None:
            yield PlannedChange("drop_column", table_name, now, name, kind)
        elif _has_other_type(kind, same.type):
            yield PlannedChange("retype_column", table_name, now, name, kind, same.type)


def _has_other_type(before: str | None, after: str | None) -> bool:
    """Return whether the new type differs from the current type; any new type differs from an unknown type."""
    return after is not None and (before is None or _unquoted_type(before) != _unquoted_type(after))


def _unquoted_type(kind: str) -> str:
    return "".join(kind.casefold().split())


def _missing_column_note(table: PlannedTable | None, column: str) -> str | None:
    """Return a note that a table has no such column, with similar names; None if its columns are unknown."""
    if table is None or table.columns is None:
        return None
    names = [each.name for each in table.columns]
    near = nearest_names(column, names, 3)
    likely = f"The most similar names are {', '.join(near)}" if near else f"Its columns are {', '.join(names[:10])}"
    return f"The table has no column of this name at this point. {likely}."


Ask = Callable[[str, Mapping[str, str]], Any]
"""Asks a question by its path; returns the answer as JSON."""


def is_unknown_name_error(error: HeadwaterError) -> bool:
    """Return whether a question failed because Headwater does not know a name."""
    return isinstance(error, NotKnown) or (isinstance(error, ServerRefusal) and "nearest" in error.body)


class PresentTables:
    """The current tables and their readers; the facts of each table are requested only once."""

    def __init__(self, ask: Ask, namespace: str | None):
        """namespace: default for names without a namespace, or None."""
        self._ask, self._namespace = ask, namespace
        self._answers: dict[tuple[str | None, str], Any] = {}

    def find_table(self, table_name: str) -> PresentTable | None:
        """Return the current table for a name in a change, or None if it is unknown.

        The name is tried as written, in lower and upper case, without its catalog, and as an address.
        """
        names = (table_name, table_name.casefold(), table_name.upper(), _without_catalog(table_name))
        asked = [(self._namespace, name) for name in names]
        if "/" in table_name:
            asked.append((None, table_name))
        for namespace, name in dict.fromkeys(asked):
            verdicts = self.verdicts(namespace, name)
            if verdicts is not None:
                return self._to_present_table(namespace, name, verdicts)
        return None

    def verdicts(self, namespace: str | None, dataset: str) -> list[Any] | None:
        """Return the items of the question `unused`, one per column of a dataset; None if the dataset is unknown."""
        answer = self._ask_unused(namespace, dataset)
        return None if answer is None else answer["items"]

    def readers(self, namespace: str | None, dataset: str) -> list[Any]:
        """Return the jobs that read a dataset; an empty list if the dataset is unknown."""
        answer = self._ask_unused(namespace, dataset)
        return [] if answer is None else [job for each in answer["readers"] for job in each["jobs"]]

    def readers_presumed_retired(self, namespace: str | None, dataset: str) -> list[Any]:
        """Return the jobs that read a dataset and are presumed retired."""
        answer = self._ask_unused(namespace, dataset)
        found = [] if answer is None else answer["readers"]
        return [job for each in found for job in each.get("presumed_retired", ())]

    def _ask_unused(self, namespace: str | None, dataset: str) -> Any:
        key = namespace, dataset
        if key not in self._answers:
            asked = {"dataset": dataset, "limit": MAX_ITEMS} | ({"namespace": namespace} if namespace else {})
            try:
                self._answers[key] = self._ask("unused", asked)
            except (NotKnown, ServerRefusal) as error:
                if not is_unknown_name_error(error):
                    raise
                self._answers[key] = None
            except WrongQuestion as error:
                raise WrongQuestion(f"{error} --namespace NAMESPACE applies to all names of the change.") from error
        return self._answers[key]

    def _to_present_table(self, namespace: str | None, table_name: str, verdicts: list[Any]) -> PresentTable:
        """Return a table with its columns and their types; the columns come from verdicts and from lineage and SQL."""
        asked = {"dataset": table_name} | ({"namespace": namespace} if namespace else {})
        found = self._ask("contract", asked)
        types = {each["name"]: each["type"] for each in found["columns"]}
        columns = {each["column"]: types.get(each["column"]) for each in verdicts}
        known = {each.casefold() for each in columns}
        columns |= dict.fromkeys(
            each for each in self._columns_in_lineage(found["dataset"]) if each.casefold() not in known
        )
        named = found["dataset"]
        return PresentTable(named["namespace"], named["dataset"], columns, named.get("display_name"))

    def _columns_in_lineage(self, table: Any) -> list[str]:
        """Return the columns of a table that lineage or SQL of the newest executions names.

        The verdicts may lack some of these columns.
        """
        asked = {"namespace": table["namespace"], "dataset": table["dataset"]}
        asked |= {"depth": "1", "mode": "any", "view": "newest", "limit": MAX_ITEMS}
        steps = [each["via"] for question in ("impact", "upstream") for each in self._ask(question, asked)["columns"]]
        own = (table["namespace"], table["dataset"])
        named = {each["column"] for each in steps if (each["namespace"], each["dataset"]) == own}
        return sorted(named - {None})


def _without_catalog(table_name: str) -> str:
    """Return the last two parts of a name as a path: `catalog.silver.orders` may be the folder `silver/orders`."""
    return table_name if "/" in table_name else "/".join(table_name.split(".")[-2:])
