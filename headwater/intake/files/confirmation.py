"""Finds out which acknowledged events are in bronze, by the age of the oldest waiting event in the receiver's log."""

import time
from collections.abc import Callable

import msgspec

from headwater.common.errors import WrongSetting
from headwater.intake.files.batch_sending import Ask

FRESHNESS = "/api/headwater/v1/freshness"
_CLOCKS_US = 300 * 1_000_000
"""Allowed difference between the clocks of log and API (us). It has no effect if no event waits in the log."""


def stored_in_bronze_before_us(log_age_s: Callable[[], float]) -> int:
    """Return a time before which every acknowledged event is in bronze (us, clock of this machine).

    log_age_s: returns the age (seconds) of the oldest event that waits in the log, or 0 if no event waits.
    """
    asked_us = time.time_ns() // 1000
    age_s = log_age_s()
    return asked_us - (int(age_s * 1e6) + _CLOCKS_US if age_s else 0)


def ask_log_age_s(ask: Ask) -> float:
    """Request from a receiver the age (seconds) of the oldest event that waits in its log.

    Raises Retry if no answer came, and WrongSetting if the answer does not contain the age.
    """
    answer = ask("GET", FRESHNESS, None, {})
    try:
        return float(msgspec.json.decode(answer.body, type=dict[str, object])["log"])  # type: ignore[arg-type]
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise WrongSetting(
            f"Ingested files are deleted only after their events are in bronze, and {FRESHNESS} does not report that "
            f"(status {answer.status}). Use a key with the roles write and read and an address that answers it, or "
            "omit --keep."
        ) from error
