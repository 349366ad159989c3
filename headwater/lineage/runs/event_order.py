"""Rule 1.3: the order of events. All code that needs a newest value uses this order."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.events.times import AHEAD_US

TYPE_RANKS = {"START": 0, "RUNNING": 1, "COMPLETE": 2, "FAIL": 2, "ABORT": 2}
_OTHER_RANK = 3
_FIRST_US = 1 << 62  # makes every time positive, so that texts sort like times


class Order(NamedTuple):
    """The sort key of an event; the greatest is the newest. See rule 1.3.

    credible: the event is at most 24 hours ahead of its receipt.
    """

    credible: bool
    time_us: int
    rank: int
    event_id: str


ORDER_COLUMNS = (*Order._fields, "place")
"""The columns of tables that store the order.

place: orders two mentions of a dataset in one event: inputs first, then outputs.
"""


def event_order(event_id: str, kind: str, time_us: int, received_us: int) -> Order:
    """Return the order of an event; kind: its type, `OTHER` if it has none; times in microseconds since 1970 UTC."""
    return Order(time_us <= received_us + AHEAD_US, time_us, TYPE_RANKS.get(kind, _OTHER_RANK), event_id)


def order_text(order: Order) -> str:
    """Return the order as a text that sorts in the same way."""
    return f"{order.credible:d} {order.time_us + _FIRST_US:020d} {order.rank} {order.event_id}"


def order_bytes(order: Order) -> bytes:
    """Return the order as 42 bytes that sort in the same way."""
    credible, time_us, rank, event_id = order
    return b"%c%s%c%s" % (credible, (time_us + _FIRST_US).to_bytes(8, "big"), rank, bytes.fromhex(event_id))


def order_text_at_index(order: str, index: int) -> str:
    """Return the text of an order with an index, which orders several values in one event."""
    return f"{order} {index:06d}"


def order_text_after(time_us: int) -> str:
    """Return the smallest text after the orders of all events up to a time, and of those with a time too far ahead."""
    return f"1 {time_us + _FIRST_US:020d} ~"


def time_us_of_order_text(text: str) -> int:
    """Return the time (us) in the text of an order."""
    return int(text[2:22]) - _FIRST_US


def newest_first_sql(columns: Iterable[str] = ORDER_COLUMNS) -> str:
    """Return an ORDER BY list for SQL that sorts the newest rows first by these columns."""
    return ", ".join(f"{column} DESC" for column in columns)


def newest_events_first_sql() -> str:
    """Return an ORDER BY list for SQL that sorts the newest events of bronze's `events` first."""
    time, received = "coalesce(event_time, received_at)", "received_at"
    micros = f"cast({time} AS bigint) <= cast({received} AS bigint) + {AHEAD_US}"
    ranks = " ".join(f"WHEN '{kind}' THEN {rank}" for kind, rank in TYPE_RANKS.items())
    return newest_first_sql((micros, time, f"CASE event_type {ranks} ELSE {_OTHER_RANK} END", "event_id"))
