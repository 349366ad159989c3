"""Finds out which acknowledged events are in bronze, from the receiver's freshness (over HTTP or in its process)."""

import time
from collections.abc import Callable

import msgspec

from headwater.common.errors import WrongSetting
from headwater.intake.files.batch_sending import Ask

FRESHNESS = "/api/headwater/v1/freshness"
_CLOCKS_US = 300 * 1_000_000
"""Allowed difference between the clocks of log and API. It does not matter if no event waits in the log."""


def stored_in_bronze_before_us(log_age_s: Callable[[], float]) -> int:
    """Return a time (us, this machine's clock): all events that were acknowledged before it are in bronze.

    log_age_s: returns the age of the oldest event that waits in the log, 0 if none waits.
    """
    asked_us = time.time_ns() // 1000
    age_s = log_age_s()
    return asked_us - (int(age_s * 1e6) + _CLOCKS_US if age_s else 0)


def ask_log_age_s(ask: Ask) -> float:
    """Ask a receiver for the age of the oldest event that waits in its log. Raises Retry, WrongSetting."""
    answer = ask("GET", FRESHNESS, None, {})
    try:
        return float(msgspec.json.decode(answer.body, type=dict[str, object])["log"])  # type: ignore[arg-type]
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise WrongSetting(
            f"Ingested files are deleted only after their events are in bronze, and {FRESHNESS} does not report that "
            f"(status {answer.status}). Use a key with the roles write and read and an address that answers it, or "
            "omit --keep."
        ) from error
