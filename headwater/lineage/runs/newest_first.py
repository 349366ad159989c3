"""Rule 1, order: which of several events is the newest. Every place that keeps or asks for a newest value asks here."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.events.times import AHEAD_US

RANK = {"START": 0, "RUNNING": 1, "COMPLETE": 2, "FAIL": 2, "ABORT": 2}
_OTHER = 3
_FIRST_US = 1 << 62  # makes every time a positive number, so that texts sort as times


class Order(NamedTuple):
    """What orders events, the last one is the newest; a clock more than 24 h ahead of receipt ranks below all."""

    credible: bool
    time_us: int
    rank: int
    event_id: str


NEWNESS = (*Order._fields, "place")
"""Columns of tables that keep the order; place: among inputs, then outputs, where one event names a dataset twice."""


def order_of(event_id: str, kind: str, time_us: int, received_us: int) -> Order:
    """Return the order of an event of a type, `OTHER` where it has none; times in us, UTC."""
    return Order(time_us <= received_us + AHEAD_US, time_us, RANK.get(kind, _OTHER), event_id)


def order_text(order: Order) -> str:
    """Return the order as text that sorts like it."""
    return f"{order.credible:d} {order.time_us + _FIRST_US:020d} {order.rank} {order.event_id}"


def order_bytes(order: Order) -> bytes:
    """Return the order as 42 bytes that sort like it."""
    credible, time_us, rank, event_id = order
    return b"%c%s%c%s" % (credible, (time_us + _FIRST_US).to_bytes(8, "big"), rank, bytes.fromhex(event_id))


def placed(text: str, place: int) -> str:
    """Return the text of an order that tells apart what one event says twice; the last place is the newest."""
    return f"{text} {place:06d}"


def until_text(time_us: int) -> str:
    """Return the least text behind the orders of all events up to a time, and of those with clocks far ahead."""
    return f"1 {time_us + _FIRST_US:020d} ~"


def time_of(text: str) -> int:
    """Return the time (us) in the text of an order."""
    return int(text[2:22]) - _FIRST_US


def newest_first(columns: Iterable[str] = NEWNESS) -> str:
    """Return what SQL sorts by where these columns, from the first to the last, tell what is newer."""
    return ", ".join(f"{column} DESC" for column in columns)


def newest_events_first() -> str:
    """Return what SQL sorts bronze's `events` by."""
    time, received = "coalesce(event_time, received_at)", "received_at"
    micros = f"cast({time} AS bigint) <= cast({received} AS bigint) + {AHEAD_US}"
    ranks = " ".join(f"WHEN '{kind}' THEN {rank}" for kind, rank in RANK.items())
    return newest_first((micros, time, f"CASE event_type {ranks} ELSE {_OTHER} END", "event_id"))
