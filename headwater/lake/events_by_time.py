"""Reads the events of bronze in order of event time, page by page."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.events.position import Source
from headwater.lake.bronze_tables import Bronze
from headwater.lake.queries import QueryRows, quote_sql

PAGE = 200_000
"""Maximum number of events of a page, which is read by one query and stays in memory.

Events with the same time are always on one page, which may exceed this number.
"""
_BUCKETS = 4_096

EVENT_US = "cast(coalesce(event_time, received_at) AS bigint)"
_RECEIVED_US = "cast(received_at AS bigint)"
ORDER = f"{EVENT_US}, {_RECEIVED_US}, incarnation, partition, sequence"
"""The SQL sort order. An event without event time uses its time of receipt."""


class Selection(NamedTuple):
    """A selection of events with times in [since, until) (us, UTC; None: unbounded).

    heads: the newest selected sequence of each partition. by_receipt: `since_us` and `until_us` are times of receipt
    instead of event times.
    """

    heads: Mapping[Source, int]
    by_receipt: bool
    since_us: int | None
    until_us: int | None


class OrderedPlace(NamedTuple):
    """The position of an event, and its time (us, UTC)."""

    event_us: int
    source: Source
    sequence: int


class _Page(NamedTuple):
    """A page of events with times in [since, until) (us). before, size: the number of rows before and on the page."""

    before: int
    size: int
    since_us: int
    until_us: int


class EventList:
    """The selected events as a list with row numbers from 1.

    Keeps two pages in memory. Rows that retention or erasure removes meanwhile leave a gap at the end of their page,
    and do not shift later pages.
    """

    def __init__(self, bronze: Bronze, selection: Selection, page: int = PAGE) -> None:
        """Count the events by time and divide them into pages. page: the maximum number of events of a page."""
        self._bronze = bronze
        self._most = page
        self._where = _selection_condition(selection)
        self._pages = [*_split_into_pages(self._counts_by_time(), page)] if selection.heads else []
        self._read: dict[int, QueryRows] = {}
        self.total = self._pages[-1].before + self._pages[-1].size if self._pages else 0

    def places_after(self, row: int, limit: int) -> tuple[int, Sequence[OrderedPlace]]:
        """Return (the row number before the first place, at most `limit` places after row `row`).

        At the end of the list, returns (row, ()). Row numbers start at 1.
        """
        at = max(0, bisect_right(self._pages, row, key=lambda page: page.before) - 1)
        for number in range(at, len(self._pages)):
            start = max(0, row - self._pages[number].before)
            if places := self._places_of_page(number, start, limit):
                return self._pages[number].before + start, places
        return row, ()

    def _places_of_page(self, number: int, start: int, most: int) -> list[OrderedPlace]:
        rows = self._rows_of_page(number)
        most = min(most, len(rows.column("sequence")) - start)
        if most <= 0:
            return []
        names = ("event_us", "log", "incarnation", "partition", "sequence")
        columns = [rows.column(name).slice(start, most).to_pylist() for name in names]
        return [
            OrderedPlace(event_us, Source(log, epoch, partition), sequence)
            for event_us, log, epoch, partition, sequence in zip(*columns, strict=True)
        ]

    def _rows_of_page(self, number: int) -> QueryRows:
        if number not in self._read:
            page = self._pages[number]
            found = self._bronze.events.run_query(
                f"SELECT {EVENT_US} AS event_us, log, incarnation, partition, sequence FROM t "
                f"WHERE {self._where} AND {_time_condition(page.since_us, page.until_us)} ORDER BY {ORDER}"
            )
            self._read = {known: rows for known, rows in self._read.items() if known == number - 1} | {number: found}
        return self._read[number]

    def _counts_by_time(self) -> Iterator[tuple[int, int, int]]:
        found = self._bronze.events.run_query(
            f"SELECT min({EVENT_US}) AS first, max({EVENT_US}) AS last FROM t WHERE {self._where}"
        )
        first, last = found.column("first")[0].as_py(), found.column("last")[0].as_py()
        if first is not None:
            yield from self._counts_between(first, last + 1)

    def _counts_between(self, since_us: int, until_us: int) -> Iterator[tuple[int, int, int]]:
        """Yield (since, until, number of events) of ranges of event times (us).

        A range has more events than a page only if all these events have the same time.
        """
        width = -(-(until_us - since_us) // _BUCKETS)
        found = self._bronze.events.run_query(
            f"SELECT ({EVENT_US} - {since_us}) / {width} AS bucket, count(*) AS n FROM t "
            f"WHERE {self._where} AND {_time_condition(since_us, until_us)} GROUP BY bucket ORDER BY bucket"
        )
        for bucket, count in zip(found.column("bucket").to_pylist(), found.column("n").to_pylist(), strict=True):
            begins = since_us + bucket * width
            if count > self._most and width > 1:
                yield from self._counts_between(begins, begins + width)
            else:
                yield begins, begins + width, count


def _split_into_pages(counts: Iterator[tuple[int, int, int]], most: int) -> Iterator[_Page]:
    page: _Page | None = None
    for since_us, until_us, count in counts:
        if page and page.size + count <= most:
            page = page._replace(size=page.size + count, until_us=until_us)
            continue
        if page:
            yield page
        page = _Page(page.before + page.size if page else 0, count, since_us, until_us)
    if page:
        yield page


def _time_condition(since_us: int, until_us: int) -> str:
    """Return the SQL condition of a range of event times (us).

    The condition also compares the column without a cast, so that files are skipped by their statistics.
    """
    micros = [f"arrow_cast({each}, 'Timestamp(Microsecond, Some(\"UTC\"))')" for each in (since_us, until_us)]
    return (
        f"{EVENT_US} >= {since_us} AND {EVENT_US} < {until_us} "
        f"AND (event_time IS NULL OR (event_time >= {micros[0]} AND event_time < {micros[1]}))"
    )


def _selection_condition(selection: Selection) -> str:
    heads = " OR ".join(
        f"(log = {quote_sql(each.log)} AND incarnation = {quote_sql(each.epoch)} "
        f"AND partition = {quote_sql(each.partition)} "
        f"AND sequence <= {head})"
        for each, head in selection.heads.items()
    )
    time_us = _RECEIVED_US if selection.by_receipt else EVENT_US
    bounds = [f"({heads})"]
    for sign, bound_us in ((">=", selection.since_us), ("<", selection.until_us)):
        if bound_us is not None:
            bounds.append(f"{time_us} {sign} {bound_us}")
    return " AND ".join(bounds)
