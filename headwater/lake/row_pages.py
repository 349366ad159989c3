"""Pages through the rows of a Delta table. Rows are sorted by a column and can be filtered by a text."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headwater.common.paging import Cell, ListOrder, ListPage, PageOrder, ResultPage, wrong_cursor_error
from headwater.lake.delta_table import LakeTable
from headwater.lake.queries import quote_sql

_FIRST = -(1 << 63)


class SortedBy(NamedTuple):
    """A sort key: an SQL expression that is never null, and whether its values are numbers instead of texts."""

    sql: str
    is_number: bool = False


def by_time(column: str) -> SortedBy:
    """Return the key that sorts by a time column, to the microsecond. Null comes before all times."""
    return SortedBy(f"coalesce(cast({column} AS bigint), {_FIRST})", is_number=True)


def by_number(column: str) -> SortedBy:
    """Return the key that sorts by a number column. Null comes before all numbers."""
    return SortedBy(f"coalesce(cast({column} AS bigint), {_FIRST})", is_number=True)


def by_text(*columns: str) -> SortedBy:
    """Return the key that sorts by the first of these text columns that is not null."""
    return SortedBy(f"coalesce({', '.join(columns)}, '')")


class RowListDefinition(NamedTuple):
    """The definition of a list.

    shown: the SQL of the shown columns. order: the columns by which a page can be sorted. ties: further sort keys for
    rows with equal sort keys. texts: the columns that the text filter searches. origin: the SQL after FROM, which
    selects the source rows from the table `t`.
    """

    shown: str
    order: ListOrder[SortedBy]
    ties: tuple[SortedBy, ...]
    texts: tuple[str, ...]
    origin: str


def define_row_list(
    name: str, columns_shown: str, columns: Mapping[str, SortedBy], default_sort: str,
    *, tie_breakers: tuple[SortedBy, ...], texts: str,
    origin: str = "t",
) -> RowListDefinition:  # fmt: skip
    """Define a list.

    columns_shown: the SQL of the shown columns. columns: the sort keys by name. default_sort: a name, with `-` before
    it for descending order. tie_breakers: further sort keys for rows with equal sort keys. texts: the columns that the
    text filter searches, separated by spaces. origin: the SQL after FROM; by default, all rows of the table.
    """
    return RowListDefinition(
        columns_shown,
        ListOrder(name, columns, default_sort, len(tie_breakers)),
        tie_breakers,
        tuple(texts.split()),
        origin,
    )


def rows_page(
    table: LakeTable, definition: RowListDefinition, page: ListPage, conditions: Sequence[str]
) -> ResultPage[dict[str, Any]]:
    """Return a page of the rows that match all SQL conditions. Raises WrongQuestion for an invalid sort or cursor."""
    order = definition.order.page_order(page)
    if not table.exists():
        return ResultPage([], 0, None)
    where = " AND ".join([*conditions, *_text_condition(definition.texts, page.folded_text)]) or "true"
    total = table.run_query(f"SELECT count(*) AS n FROM {definition.origin} WHERE {where}").column("n")[0].as_py()
    places = (order.key, *definition.ties)
    behind = where if order.after is None else f"{where} AND {_after_cursor_condition(order, places, order.after)}"
    direction = "DESC" if order.descending else "ASC"
    keys = [f"place_{number}" for number in range(len(places))]
    sort_cells = (f"{each.sql} AS {key}" for key, each in zip(keys, places, strict=True))
    query = (
        f"SELECT {definition.shown}, {', '.join(sort_cells)} "
        f"FROM {definition.origin} WHERE {behind} "
        f"ORDER BY {', '.join(f'{key} {direction}' for key in keys)} LIMIT {page.limit + 1}"
    )
    found = table.run_query(query).to_pylist()
    at = [[row.pop(key) for key in keys] for row in found]
    rows = found[: page.limit]
    return ResultPage(
        rows, total, definition.order.cursor(order, at[len(rows) - 1]) if len(found) > len(rows) else None
    )


def _after_cursor_condition(order: PageOrder[SortedBy], places: Sequence[SortedBy], after: Sequence[Cell]) -> str:
    """Return the SQL condition for rows that come after a cursor. places: the sort keys. after: the cursor's values."""
    (first, *others), (cell, *cells) = places, after
    if isinstance(cell, str) is first.is_number or not isinstance(cell, str | int):
        raise wrong_cursor_error("this list")
    value = quote_sql(cell) if isinstance(cell, str) else str(cell)
    beyond = f"{first.sql} {'<' if order.descending else '>'} {value}"
    return (
        f"({beyond} OR ({first.sql} = {value} AND {_after_cursor_condition(order, others, cells)}))"
        if others
        else beyond
    )


def _text_condition(columns: Sequence[str], text: str) -> list[str]:
    found = " OR ".join(f"strpos(lower(coalesce({column}, '')), {quote_sql(text)}) > 0" for column in columns)
    return [f"({found})"] if text else []
