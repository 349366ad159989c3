"""Lists, page by page: what a list is sorted by, where its next page begins, and what is on it.

A cursor is the place of a row in the order, not its number: rows that come or go before it move nothing behind it.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, Generic, NamedTuple, TypedDict, TypeVar

import msgspec

from headwater.errors import WrongQuestion

_Whole = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Cell = str | int | float | None
"""What rows are sorted by; nothing comes before numbers, and these before texts, which go by their code points."""

_Rank = tuple[int, str | float]

K = TypeVar("K")
R = TypeVar("R")
Placed = tuple[_Rank, tuple[_Rank, ...], R]
"""A row with its place in a list: by what it is sorted, and what tells it from rows that are equal in that."""


class ListPage(NamedTuple):
    """Which page of a list is asked for.

    text: only rows that have it in a name, in any case; sort: a member, led by `-` from the greatest down, None as the
    list is; cursor: `next` of the page before; limit: rows of a page.
    """

    text: str | None = None
    sort: str | None = None
    cursor: str | None = None
    limit: int = 1_000

    @property
    def folded(self) -> str:
        """The text that rows must have, empty where every row will do."""
        return (self.text or "").encode("utf-8", "replace").decode().casefold()


class Way(NamedTuple, Generic[K]):
    """How a page is sorted. key: of the list's columns; after: place of the last row of the page before."""

    sort: str
    key: K
    descending: bool
    after: tuple[Cell, ...] | None


class _Cursor(msgspec.Struct, array_like=True):
    of: str
    sort: str
    place: tuple[str | _Whole | float | None, ...]


class ListOrder(Generic[K]):
    """What a list can be sorted by: members, each with what reads it."""

    def __init__(self, name: str, columns: Mapping[str, K], usual: str, ties: int):
        """name: a cursor of another list is refused; usual: `sort` where none is asked for.

        ties: how many cells behind the one sorted by make a row's place its own.
        """
        self._name, self.columns, self._usual, self._ties = name, columns, usual, ties

    def way(self, page: ListPage) -> Way[K]:
        """Return how a page is sorted; raises WrongQuestion for a member or a cursor that the list has not."""
        sort = page.sort or self._usual
        column = sort.removeprefix("-")
        if column not in self.columns:
            raise WrongQuestion(
                f"sort={sort[:40]!r} is no order of {self._name}. Write one of {', '.join(self.columns)}, "
                "led by - from the greatest down."
            )
        return Way(sort, self.columns[column], sort.startswith("-"), self._after(page.cursor, sort))

    def cursor(self, way: Way[K], place: Sequence[Cell]) -> str:
        """Return what the next page is asked for by: the place of the last row of this one."""
        return urlsafe_b64encode(msgspec.json.encode(_Cursor(self._name, way.sort, tuple(place)))).decode().rstrip("=")

    def _after(self, cursor: str | None, sort: str) -> tuple[Cell, ...] | None:
        if not cursor:
            return None
        try:
            found = msgspec.json.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=_Cursor)
        except (ValueError, msgspec.MsgspecError):
            raise wrong_cursor(self._name) from None
        if (found.of, found.sort, len(found.place)) != (self._name, sort, self._ties + 1):
            raise wrong_cursor(self._name)
        return found.place


def wrong_cursor(name: str) -> WrongQuestion:
    """Return what is said of a cursor that is not of this list in this order."""
    return WrongQuestion(
        f"cursor= is no place in {name} as they are sorted here. Begin without it, "
        "and go on with `next` of each answer and the same `sort`."
    )


class ToldOfPage(TypedDict):
    """What answers say of a page beside its items."""

    totalCount: int
    truncated: bool
    next: str | None


class Cut(NamedTuple, Generic[R]):
    """A page: its rows, how many there are on all pages, where the next one begins, None on the last.

    partly: not everything was looked at, so that there may be more rows.
    """

    rows: list[R]
    total: int
    next: str | None
    partly: bool = False

    @property
    def told(self) -> ToldOfPage:
        """What an answer says of it."""
        return {"totalCount": self.total, "truncated": self.partly or self.next is not None, "next": self.next}


class RowOrder(ListOrder[Callable[[R], Cell]]):
    """A list that is worked out whole for a page of it, and may be kept in its order for the next ones."""

    def __init__(
        self, name: str, columns: Mapping[str, Callable[[R], Cell]], usual: str, tie: Callable[[R], tuple[Cell, ...]],
        *, ties: int, texts: Callable[[R], Iterable[str | None]] | None = None,
    ):  # fmt: skip
        """tie: what tells rows apart, least first whichever way the list goes.

        texts: what of a row is searched, without it the texts among its tie.
        """
        super().__init__(name, columns, usual, ties)
        self._tie, self._texts = tie, texts

    def cut(self, rows: Iterable[R], page: ListPage) -> Cut[R]:
        """Return a page of rows; raises WrongQuestion as `way` does."""
        return self.page_of(self.placed(rows, page), page)

    def placed(self, rows: Iterable[R], page: ListPage) -> list[Placed[R]]:
        """Return the rows that a page is cut from, in its order: those of the whole list with its text."""
        way, text = self.way(page), page.folded
        placed = [
            (_ranked(way.key(row)), tuple(map(_ranked, self._tie(row))), row)
            for row in rows
            if not text or self._has(row, text)
        ]
        placed.sort(key=itemgetter(1))
        placed.sort(key=itemgetter(0), reverse=way.descending)
        return placed

    def page_of(self, placed: Sequence[Placed[R]], page: ListPage) -> Cut[R]:
        """Return a page of rows in their order, as `placed` gives them; costs what the page does."""
        way, start = self.way(page), 0
        if way.after is not None:
            cell, *tie = map(_ranked, way.after)
            start = bisect_left(placed, True, key=lambda each: _is_behind(each, cell, tuple(tie), way))
        shown = [row for _, _, row in placed[start : start + page.limit]]
        more = len(placed) > start + page.limit and bool(shown)
        place = (way.key(shown[-1]), *self._tie(shown[-1])) if more else ()
        return Cut(shown, len(placed), self.cursor(way, place) if more else None)

    def _has(self, row: R, text: str) -> bool:
        texts = self._texts(row) if self._texts else self._tie(row)
        return any(isinstance(each, str) and text in each.casefold() for each in texts)


def _is_behind(row: Placed[Any], cell: _Rank, tie: tuple[_Rank, ...], way: Way[Any]) -> bool:
    if row[0] == cell:
        return row[1] > tie
    return row[0] < cell if way.descending else row[0] > cell


def _ranked(cell: Cell) -> _Rank:
    return (0, 0) if cell is None else (2, cell) if isinstance(cell, str) else (1, cell)
