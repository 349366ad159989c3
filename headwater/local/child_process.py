"""What every child of `headwater up` does first and last: take its settings, hold its role, say why it ends."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from headwater.errors import HeadwaterError, Retry
from headwater.local.lifeline import read_settings
from headwater.runtime.folders import folder_lock, prepare_folder
from headwater.settings import Settings

AGAIN, GIVE_UP = 1, 3
"""Exit status of a child: it is started again, or no restart can help (a wrong setting, a log that does not match its
lake) and the supervisor ends with all of them."""

_HELD_BY_THE_LAST_S = 15


@contextmanager
def child(role: str, *, holds: bool = True, vital: bool = True) -> Iterator[tuple[Settings, Path]]:
    """Give settings and data folder; a fault in between is logged and ends the process.

    holds: nobody else plays this role meanwhile; vital: without it nothing works, so that a fault that will not pass by
    itself ends all of Headwater.
    """
    logging.basicConfig(level=logging.INFO, format=f"{role}: %(message)s", stream=sys.stderr)
    settings = read_settings()
    try:
        folder = prepare_folder(settings)
        with folder_lock(folder, role, wait_s=_HELD_BY_THE_LAST_S) if holds else nullcontext():
            yield settings, folder
    except HeadwaterError as error:
        logging.getLogger(__name__).error("%s", error)
        sys.exit(GIVE_UP if vital and not isinstance(error, Retry) else AGAIN)
