"""What every child of `headwater up` does first and last: take its settings, hold its role, say why it ends."""

import gc
import logging
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TypeVar

from headwater.errors import HeadwaterError, Retry
from headwater.local.lifeline import read_settings
from headwater.runtime.folders import folder_lock, prepare_folder
from headwater.settings import Settings
from headwater.storage_faults import on_disk

T = TypeVar("T")

log = logging.getLogger(__name__)

AGAIN, GIVE_UP = 1, 3
"""Exit status of a child: it is started again, or no restart can help (a wrong setting, a log that does not match its
lake) and the supervisor ends with all of them."""

_HELD_BY_THE_LAST_S = 15
_LOOK_AGAIN_S = 1.0


@contextmanager
def child(role: str, *, holds: bool = True, vital: bool = True) -> Iterator[tuple[Settings, Path]]:
    """Give settings and data folder; the block's end is the process's, and a fault in it is logged before.

    holds: nobody else plays this role meanwhile; vital: without it nothing works, so that a fault that will not pass by
    itself ends all of Headwater.
    """
    gc.freeze()  # modules stay: the collector need not look at them again and again, nor at the end
    logging.basicConfig(level=logging.INFO, format=f"{role}: %(message)s", stream=sys.stderr)
    settings, status = read_settings(), 0
    try:
        with ExitStack() as stack, on_disk(f"go on with {settings.data}"):

            def hold() -> Path:
                folder = prepare_folder(settings)
                if holds:
                    stack.enter_context(folder_lock(folder, role, wait_s=_HELD_BY_THE_LAST_S))
                return folder

            yield settings, patiently(hold, log.warning, _rest)
    except HeadwaterError as error:
        log.error("%s", error)
        status = GIVE_UP if vital and not isinstance(error, Retry) else AGAIN
    _leave(status)


def patiently(begin: Callable[[], T], say: Callable[[str], object], rest: Callable[[float], object]) -> T:
    """Return what begins only once the disk takes something; says why it waits, once for each reason."""
    said = ""
    while True:
        try:
            return begin()
        except Retry as error:
            if str(error) != said:
                said = str(error)
                say(said)
            rest(_LOOK_AGAIN_S)


def _leave(status: int) -> NoReturn:
    """End at once: all of ours is closed by now, but threads of libraries (delta-rs, obstore, librdkafka) still run.

    One start on Azure storage ended with SIGSEGV while Python and C took down what such threads stand on.
    """
    logging.shutdown()
    with suppress(OSError):  # who read it may have gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _rest(seconds: float) -> None:
    """Wait, or end where the supervisor has gone or asks to: before the station itself looks for that."""
    if select.select([sys.stdin.fileno()], [], [], seconds)[0]:
        sys.exit(0)
