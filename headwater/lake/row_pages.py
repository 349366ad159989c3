"""Pages of a Delta table's rows: sorted by a column, behind a row, with a text."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headwater.lake.delta_table import LakeTable
from headwater.lake.sql_words import quoted
from headwater.paging import Cell, Cut, ListOrder, ListPage, Way, wrong_cursor

_FIRST = -(1 << 63)


class SortedBy(NamedTuple):
    """SQL that is never null, and whether it is a number."""

    sql: str
    is_number: bool = False


def by_time(column: str) -> SortedBy:
    """Sort by a time, to the microsecond."""
    return SortedBy(f"coalesce(cast({column} AS bigint), {_FIRST})", is_number=True)


def by_number(column: str) -> SortedBy:
    """Sort by a number."""
    return SortedBy(f"coalesce(cast({column} AS bigint), {_FIRST})", is_number=True)


def by_text(*columns: str) -> SortedBy:
    """Sort by the first of these texts that is there."""
    return SortedBy(f"coalesce({', '.join(columns)}, '')")


class RowList(NamedTuple):
    """What is listed of a table, by what it can be sorted, what tells rows apart, where a text is looked for."""

    shown: str
    order: ListOrder[SortedBy]
    ties: tuple[SortedBy, ...]
    texts: tuple[str, ...]


def row_list(
    name: str, shown: str, columns: Mapping[str, SortedBy], usual: str, *, ties: tuple[SortedBy, ...], texts: str
) -> RowList:
    """Describe a list; texts: columns, separated by blanks."""
    return RowList(shown, ListOrder(name, columns, usual, len(ties)), ties, tuple(texts.split()))


def rows_page(table: LakeTable, listed: RowList, page: ListPage, conditions: Sequence[str]) -> Cut[dict[str, Any]]:
    """Return a page of the rows that fulfil conditions; raises WrongQuestion for a sort or a cursor of none."""
    way = listed.order.way(page)
    if not table.exists():
        return Cut([], 0, None)
    where = " AND ".join([*conditions, *_having(listed.texts, page.folded)]) or "true"
    total = table.query(f"SELECT count(*) AS n FROM t WHERE {where}").column("n")[0].as_py()
    places = (way.key, *listed.ties)
    behind = where if way.after is None else f"{where} AND {_behind(way, places, way.after)}"
    direction = "DESC" if way.descending else "ASC"
    keys = [f"place_{number}" for number in range(len(places))]
    query = (
        f"SELECT {listed.shown}, {', '.join(f'{each.sql} AS {key}' for key, each in zip(keys, places, strict=True))} "
        f"FROM t WHERE {behind} ORDER BY {', '.join(f'{key} {direction}' for key in keys)} LIMIT {page.limit + 1}"
    )
    found = table.query(query).to_pylist()
    at = [[row.pop(key) for key in keys] for row in found]
    rows = found[: page.limit]
    return Cut(rows, total, listed.order.cursor(way, at[len(rows) - 1]) if len(found) > len(rows) else None)


def _behind(way: Way[SortedBy], places: Sequence[SortedBy], after: Sequence[Cell]) -> str:
    """Return the condition of rows behind a place: by the first cell that differs."""
    (first, *others), (cell, *cells) = places, after
    if isinstance(cell, str) is first.is_number or not isinstance(cell, str | int):
        raise wrong_cursor("this list")
    value = quoted(cell) if isinstance(cell, str) else str(cell)
    beyond = f"{first.sql} {'<' if way.descending else '>'} {value}"
    return f"({beyond} OR ({first.sql} = {value} AND {_behind(way, others, cells)}))" if others else beyond


def _having(columns: Sequence[str], text: str) -> list[str]:
    found = " OR ".join(f"strpos(lower(coalesce({column}, '')), {quoted(text)}) > 0" for column in columns)
    return [f"({found})"] if text else []
