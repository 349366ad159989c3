"""Rule 1.3: the order of events. All code that looks for the newest value uses this order."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.events.times import AHEAD_US

TYPE_RANKS = {"START": 0, "RUNNING": 1, "COMPLETE": 2, "FAIL": 2, "ABORT": 2}
_OTHER_RANK = 3
_FIRST_US = 1 << 62  # added to every time, so that no time is negative and texts sort like times


class Order(NamedTuple):
    """The sort key of an event (rule 1.3). The event with the greatest key is the newest.

    credible: whether the time of the event is at most 24 hours after its receipt.
    time_us: the time of the event in microseconds. rank: the rank of the event type at the same time (`TYPE_RANKS`).
    """

    credible: bool
    time_us: int
    rank: int
    event_id: str


ORDER_COLUMNS = (*Order._fields, "place")
"""The columns of tables that store the order of mentions.

place: the index of a dataset in the event's list of inputs followed by outputs. It orders mentions in one event.
"""


def event_order(event_id: str, kind: str, time_us: int, received_us: int) -> Order:
    """Return the order of an event.

    kind: the type of the event, such as START; `OTHER` for an event without a type.
    time_us, received_us: the time and the receipt of the event in microseconds since 1970-01-01 UTC.
    """
    return Order(time_us <= received_us + AHEAD_US, time_us, TYPE_RANKS.get(kind, _OTHER_RANK), event_id)


def order_text(order: Order) -> str:
    """Return an order as a text. The texts of several orders sort like the orders."""
    return f"{order.credible:d} {order.time_us + _FIRST_US:020d} {order.rank} {order.event_id}"


def order_bytes(order: Order) -> bytes:
    """Return an order as 42 bytes. The bytes of several orders sort like the orders."""
    credible, time_us, rank, event_id = order
    return b"%c%s%c%s" % (credible, (time_us + _FIRST_US).to_bytes(8, "big"), rank, bytes.fromhex(event_id))


def order_text_at_index(order: str, index: int) -> str:
    """Return the text of an order followed by an index, which orders several values in one event.

    order: a result of `order_text`.
    """
    return f"{order} {index:06d}"


def order_text_after(time_us: int) -> str:
    """Return a text that sorts after the order texts of all events up to a time.

    It also sorts after all events that are not credible, and before all credible events with a later time.
    """
    return f"1 {time_us + _FIRST_US:020d} ~"


def time_us_of_order_text(text: str) -> int:
    """Return the time (us) in a result of `order_text`."""
    return int(text[2:22]) - _FIRST_US


def newest_first_sql(columns: Iterable[str] = ORDER_COLUMNS) -> str:
    """Return the ORDER BY list of a SQL query that sorts rows by these columns, the newest row first."""
    return ", ".join(f"{column} DESC" for column in columns)


def newest_events_first_sql() -> str:
    """Return the ORDER BY list of a SQL query that sorts the rows of bronze table `events`, the newest event first."""
    time, received = "coalesce(event_time, received_at)", "received_at"
    micros = f"cast({time} AS bigint) <= cast({received} AS bigint) + {AHEAD_US}"
    ranks = " ".join(f"WHEN '{kind}' THEN {rank}" for kind, rank in TYPE_RANKS.items())
    return newest_first_sql((micros, time, f"CASE event_type {ranks} ELSE {_OTHER_RANK} END", "event_id"))
