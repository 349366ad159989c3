"""Pages through the rows of a Delta table: sorted by a column, after a cursor, with a text filter."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headwater.common.paging import Cell, ListOrder, ListPage, PageOrder, ResultPage, wrong_cursor
from headwater.lake.delta_table import LakeTable
from headwater.lake.queries import quoted

_FIRST = -(1 << 63)


class SortedBy(NamedTuple):
    """A sort key: SQL that is never null, and whether it is a number."""

    sql: str
    is_number: bool = False


def by_time(column: str) -> SortedBy:
    """Sort by a time, to the microsecond."""
    return SortedBy(f"coalesce(cast({column} AS bigint), {_FIRST})", is_number=True)


def by_number(column: str) -> SortedBy:
    """Sort by a number."""
    return SortedBy(f"coalesce(cast({column} AS bigint), {_FIRST})", is_number=True)


def by_text(*columns: str) -> SortedBy:
    """Sort by the first of these texts that is not null."""
    return SortedBy(f"coalesce({', '.join(columns)}, '')")


class RowList(NamedTuple):
    """The definition of a list: shown columns, sort orders, tie breakers, and columns of the text filter.

    origin: SQL of the source rows, from the table `t`.
    """

    shown: str
    order: ListOrder[SortedBy]
    ties: tuple[SortedBy, ...]
    texts: tuple[str, ...]
    origin: str


def row_list(
    name: str, shown: str, columns: Mapping[str, SortedBy], usual: str, *, ties: tuple[SortedBy, ...], texts: str,
    origin: str = "t",
) -> RowList:  # fmt: skip
    """Define a list. texts: columns, separated by spaces; origin: SQL of the source rows, default all rows."""
    return RowList(shown, ListOrder(name, columns, usual, len(ties)), ties, tuple(texts.split()), origin)


def rows_page(
    table: LakeTable, listed: RowList, page: ListPage, conditions: Sequence[str]
) -> ResultPage[dict[str, Any]]:
    """Return a page of the rows that match conditions. Raises WrongQuestion for an invalid sort or cursor."""
    order = listed.order.page_order(page)
    if not table.exists():
        return ResultPage([], 0, None)
    where = " AND ".join([*conditions, *_having(listed.texts, page.folded)]) or "true"
    total = table.query(f"SELECT count(*) AS n FROM {listed.origin} WHERE {where}").column("n")[0].as_py()
    places = (order.key, *listed.ties)
    behind = where if order.after is None else f"{where} AND {_behind(order, places, order.after)}"
    direction = "DESC" if order.descending else "ASC"
    keys = [f"place_{number}" for number in range(len(places))]
    query = (
        f"SELECT {listed.shown}, {', '.join(f'{each.sql} AS {key}' for key, each in zip(keys, places, strict=True))} "
        f"FROM {listed.origin} WHERE {behind} "
        f"ORDER BY {', '.join(f'{key} {direction}' for key in keys)} LIMIT {page.limit + 1}"
    )
    found = table.query(query).to_pylist()
    at = [[row.pop(key) for key in keys] for row in found]
    rows = found[: page.limit]
    return ResultPage(rows, total, listed.order.cursor(order, at[len(rows) - 1]) if len(found) > len(rows) else None)


def _behind(order: PageOrder[SortedBy], places: Sequence[SortedBy], after: Sequence[Cell]) -> str:
    """Return the condition of the rows after a cursor, in lexicographic order of its cells."""
    (first, *others), (cell, *cells) = places, after
    if isinstance(cell, str) is first.is_number or not isinstance(cell, str | int):
        raise wrong_cursor("this list")
    value = quoted(cell) if isinstance(cell, str) else str(cell)
    beyond = f"{first.sql} {'<' if order.descending else '>'} {value}"
    return f"({beyond} OR ({first.sql} = {value} AND {_behind(order, others, cells)}))" if others else beyond


def _having(columns: Sequence[str], text: str) -> list[str]:
    found = " OR ".join(f"strpos(lower(coalesce({column}, '')), {quoted(text)}) > 0" for column in columns)
    return [f"({found})"] if text else []
