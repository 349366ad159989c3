"""Common start and end of the children of `headwater up`: read settings, take the role, exit with a status."""

import gc
import logging
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TypeVar

from headwater.common.errors import HeadwaterError, Retry
from headwater.common.storage_faults import transient_faults_as_retry
from headwater.operations.local.lifeline import read_settings
from headwater.operations.runtime.folders import folder_lock, prepare_folder
from headwater.operations.settings import Settings

T = TypeVar("T")

log = logging.getLogger(__name__)

RESTART, GIVE_UP = 1, 3
"""Exit status of a child. RESTART: restart it. GIVE_UP: no restart can help (a wrong setting, a log that does not match
its lake), so the supervisor stops all children."""

_HELD_BY_THE_LAST_S = 15
_LOOK_AGAIN_S = 1.0


@contextmanager
def child_process(role: str, *, exclusive: bool = True, required: bool = True) -> Iterator[tuple[Settings, Path]]:
    """Yield settings and data folder; the process exits at the end of the block, after logging any fault in it.

    exclusive: no other process may have this role at the same time. required: a fault that does not pass by itself
    stops all of Headwater.
    """
    gc.freeze()  # exclude the loaded modules from garbage collection
    logging.basicConfig(level=logging.INFO, format=f"{role}: %(message)s", stream=sys.stderr)
    settings, status = read_settings(), 0
    try:
        with ExitStack() as stack, transient_faults_as_retry(f"continue with {settings.data}"):

            def hold() -> Path:
                folder = prepare_folder(settings)
                if exclusive:
                    stack.enter_context(folder_lock(folder, role, wait_s=_HELD_BY_THE_LAST_S))
                return folder

            yield settings, retry_while_disk_full(hold, log.warning, _rest)
    except HeadwaterError as error:
        log.error("%s", error)
        status = GIVE_UP if required and not isinstance(error, Retry) else RESTART
    _leave(status)


def retry_while_disk_full(
    action: Callable[[], T], report: Callable[[str], object], wait: Callable[[float], object]
) -> T:
    """Retry `action` while the disk is full, and return its result; reports each new reason once."""
    reported = ""
    while True:
        try:
            return action()
        except Retry as error:
            if str(error) != reported:
                reported = str(error)
                report(reported)
            wait(_LOOK_AGAIN_S)


def _leave(status: int) -> NoReturn:
    """Exit immediately: our own resources are closed, but threads of delta-rs, obstore and librdkafka still run.

    A normal exit once crashed with SIGSEGV on Azure storage, while such threads used state that Python tore down.
    """
    logging.shutdown()
    with suppress(OSError):  # the reader of the output may have exited
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _rest(seconds: float) -> None:
    """Wait, or exit if the supervisor has exited or asks to stop; covers the time before the station checks that."""
    if select.select([sys.stdin.fileno()], [], [], seconds)[0]:
        sys.exit(0)
