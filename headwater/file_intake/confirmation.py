"""Which acknowledged events are in bronze, as freshness tells: the receiver's own, asked over HTTP or beside it."""

import time
from collections.abc import Callable

import msgspec

from headwater.errors import WrongSetting
from headwater.file_intake.batch_sending import Ask

FRESHNESS = "/api/headwater/v1/freshness"
_CLOCKS_US = 300 * 1_000_000
"""How far the clocks of log and API may be apart; where nothing waits, no clock counts."""


def in_bronze_us(log_age_s: Callable[[], float]) -> int:
    """Return a time (us, our clock): all that was acknowledged before it is in bronze.

    log_age_s: says how old the oldest event is that waits in the log, 0 where none does.
    """
    asked_us = time.time_ns() // 1000
    age_s = log_age_s()
    return asked_us - (int(age_s * 1e6) + _CLOCKS_US if age_s else 0)


def ask_log_age_s(ask: Ask) -> float:
    """Ask a receiver how old the oldest event is that waits in its log. Raises Retry, WrongSetting."""
    answer = ask("GET", FRESHNESS, None, {})
    try:
        return float(msgspec.json.decode(answer.body, type=dict[str, object])["log"])  # type: ignore[arg-type]
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise WrongSetting(
            f"Taken files are deleted only once their events are in bronze, and {FRESHNESS} does not tell (status "
            f"{answer.status}). Use a key with the roles write and read, and an address that answers it, or leave "
            "--keep out."
        ) from error
