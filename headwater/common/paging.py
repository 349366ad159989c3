"""Sort lists and split them into pages.

A cursor contains the sort keys of a row, not its number. So rows that are added or removed on earlier pages do not
shift the following pages.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, Generic, NamedTuple, TypedDict, TypeVar

import msgspec

from headwater.common.errors import WrongQuestion

_Whole = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Cell = str | int | float | None
"""A sort key. None sorts before numbers, and numbers before texts; texts are compared by code points."""

_Rank = tuple[int, str | float]

K = TypeVar("K")
R = TypeVar("R")
SortedRow = tuple[_Rank, tuple[_Rank, ...], R]
"""The rank of the sorted column, the ranks of the tie breakers, and the row."""


class ListPage(NamedTuple):
    """A request for a page of a list.

    text: return only rows that contain this text in a name, ignoring case; None returns all rows. sort: the column to
    sort by, with a leading `-` for descending order; None means the default order. cursor: `next` of the previous page,
    or None for the first page. limit: maximum number of rows per page.
    """

    text: str | None = None
    sort: str | None = None
    cursor: str | None = None
    limit: int = 1_000

    @property
    def folded_text(self) -> str:
        """The text to search for, case-folded; empty to match every row."""
        return (self.text or "").encode("utf-8", "replace").decode().casefold()


class PageOrder(NamedTuple, Generic[K]):
    """The order of a page.

    sort: the column name as requested, with a leading `-` for descending order. key: the column to sort by. after: the
    sort keys of the last row of the previous page, or None for the first page.
    """

    sort: str
    key: K
    descending: bool
    after: tuple[Cell, ...] | None


class _Cursor(msgspec.Struct, array_like=True):
    of: str
    sort: str
    place: tuple[str | _Whole | float | None, ...]


class ListOrder(Generic[K]):
    """The columns that a list can be sorted by."""

    def __init__(self, name: str, columns: Mapping[str, K], default_sort: str, ties: int):
        """name: name of the list; cursors of other lists are rejected.

        columns: maps each column name to what the list sorts by. default_sort: the order that applies if a request has
        no `sort`. ties: number of tie breakers, which make the sort keys of a row unique.
        """
        self._name, self.columns, self._default_sort, self._ties = name, columns, default_sort, ties

    def page_order(self, page: ListPage) -> PageOrder[K]:
        """Return the order of a page.

        Raises WrongQuestion for an unknown column or a cursor of another list or order.
        """
        sort = page.sort or self._default_sort
        column = sort.removeprefix("-")
        if column not in self.columns:
            raise WrongQuestion(
                f"{self._name} cannot be sorted by {sort[:40]!r}. Use sort= with one of {', '.join(self.columns)}; a "
                "leading - sorts in descending order."
            )
        return PageOrder(sort, self.columns[column], sort.startswith("-"), self._decode_cursor(page.cursor, sort))

    def cursor(self, order: PageOrder[K], place: Sequence[Cell]) -> str:
        """Return the cursor of the next page. place: the sort keys of the last row of this page."""
        encoded = msgspec.json.encode(_Cursor(self._name, order.sort, tuple(place)))
        return urlsafe_b64encode(encoded).decode().rstrip("=")

    def _decode_cursor(self, cursor: str | None, sort: str) -> tuple[Cell, ...] | None:
        if not cursor:
            return None
        try:
            found = msgspec.json.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=_Cursor)
        except (ValueError, msgspec.MsgspecError):
            raise wrong_cursor_error(self._name) from None
        if (found.of, found.sort, len(found.place)) != (self._name, sort, self._ties + 1):
            raise wrong_cursor_error(self._name)
        return found.place


def wrong_cursor_error(name: str) -> WrongQuestion:
    """Return the error for a cursor of another list or another order."""
    return WrongQuestion(
        f"cursor= does not belong to {name} in this order. Start without a cursor, then pass `next` of each answer "
        "with the same `sort`."
    )


class PageInfo(TypedDict):
    """Members of a list answer next to its items."""

    totalCount: int
    truncated: bool
    next: str | None


class ResultPage(NamedTuple, Generic[R]):
    """A page of a list.

    total: number of rows on all pages. next: cursor of the next page, or None on the last page. is_partial: whether the
    search stopped at a limit, so that there may be more rows.
    """

    rows: list[R]
    total: int
    next: str | None
    is_partial: bool = False

    @property
    def info(self) -> PageInfo:
        """The members of the answer that describe the page."""
        return {"totalCount": self.total, "truncated": self.is_partial or self.next is not None, "next": self.next}


class RowOrder(ListOrder[Callable[[R], Cell]]):
    """The order of a list that is sorted in memory. The sorted rows may be cached for the next pages."""

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Callable[[R], Cell]],
        default_sort: str,
        tie: Callable[[R], tuple[Cell, ...]],
        *,
        ties: int,
        texts: Callable[[R], Iterable[str | None]] | None = None,
    ):
        """tie: returns the tie breakers of a row, which always sort in ascending order.

        texts: returns the texts of a row to search; by default, the tie breakers that are texts are searched.
        """
        super().__init__(name, columns, default_sort, ties)
        self._tie, self._texts = tie, texts

    def page(self, rows: Iterable[R], page: ListPage) -> ResultPage[R]:
        """Return a page of rows; raises WrongQuestion as `page_order` does."""
        return self.page_from_sorted(self.sorted_rows(rows, page), page)

    def sorted_rows(self, rows: Iterable[R], page: ListPage) -> list[SortedRow[R]]:
        """Return all rows that contain the requested text, in the requested order, with their sort keys."""
        order, text = self.page_order(page), page.folded_text
        sorted_rows = [
            (_rank_of_cell(order.key(row)), tuple(map(_rank_of_cell, self._tie(row))), row)
            for row in rows
            if not text or self._contains_text(row, text)
        ]
        sorted_rows.sort(key=itemgetter(1))
        sorted_rows.sort(key=itemgetter(0), reverse=order.descending)
        return sorted_rows

    def page_from_sorted(self, sorted_rows: Sequence[SortedRow[R]], page: ListPage) -> ResultPage[R]:
        """Return a page of the result of `sorted_rows`. The cost is proportional to the page, not to the list."""
        order, start = self.page_order(page), 0
        if order.after is not None:
            cell, *tie = map(_rank_of_cell, order.after)
            start = bisect_left(sorted_rows, True, key=lambda each: _is_after_cursor(each, cell, tuple(tie), order))
        shown = [row for _, _, row in sorted_rows[start : start + page.limit]]
        more = len(sorted_rows) > start + page.limit and bool(shown)
        place = (order.key(shown[-1]), *self._tie(shown[-1])) if more else ()
        return ResultPage(shown, len(sorted_rows), self.cursor(order, place) if more else None)

    def _contains_text(self, row: R, text: str) -> bool:
        texts = self._texts(row) if self._texts else self._tie(row)
        return any(isinstance(each, str) and text in each.casefold() for each in texts)


def _is_after_cursor(row: SortedRow[Any], cell: _Rank, tie: tuple[_Rank, ...], order: PageOrder[Any]) -> bool:
    if row[0] == cell:
        return row[1] > tie
    return row[0] < cell if order.descending else row[0] > cell


def _rank_of_cell(cell: Cell) -> _Rank:
    return (0, 0) if cell is None else (2, cell) if isinstance(cell, str) else (1, cell)
