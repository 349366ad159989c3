"""Which acknowledged events are in bronze, as the receiver's own freshness tells."""

import time

import msgspec

from headwater.errors import WrongSetting
from headwater.file_intake.batch_sending import Ask

FRESHNESS = "/api/headwater/v1/freshness"
_CLOCKS_US = 300 * 1_000_000
"""How far the clocks of log and API may be apart; where nothing waits, no clock counts."""


def in_bronze_us(ask: Ask) -> int:
    """Return a time (us, our clock): all that was acknowledged before it is in bronze. Raises Retry, WrongSetting."""
    asked_us = time.time_ns() // 1000
    answer = ask("GET", FRESHNESS, None, {})
    try:
        log_s = float(msgspec.json.decode(answer.body, type=dict[str, object])["log"])  # type: ignore[arg-type]
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise WrongSetting(
            f"Taken files are deleted only once their events are in bronze, and {FRESHNESS} does not tell (status "
            f"{answer.status}). Use a key with the roles write and read, and an address that answers it, or leave "
            "--keep out."
        ) from error
    return asked_us - (int(log_s * 1e6) + _CLOCKS_US if log_s else 0)
