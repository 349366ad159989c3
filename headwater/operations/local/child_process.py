"""Functions that `headwater up` and its child processes share: start, settings, notifications, exit.

A child reads its settings from the first line of standard input, so no secret is on a command line. This pipe closes
when the supervisor exits for any reason, and the child then shuts down.
"""

import gc
import logging
import math
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec

from headwater.auth.access import REVEAL_SECRETS
from headwater.common.atomic_files import atomic_write
from headwater.common.errors import HeadwaterError, Retry
from headwater.common.storage_faults import transient_faults_as_retry
from headwater.events.position import Source
from headwater.operations.local.log_lines import configure_logging
from headwater.operations.runtime.data_folder import folder_lock, prepare_folder
from headwater.operations.settings import Settings, settings_from_json

T = TypeVar("T")

log = logging.getLogger(__name__)

RESTART, GIVE_UP = 1, 3
"""Exit status of a child. RESTART: restart it. GIVE_UP: no restart can help (a wrong setting, a log that does not match
its lake), so the supervisor stops all children."""

_HELD_BY_THE_LAST_S = 15
_LOOK_AGAIN_S = 1.0

_ALL = 1 << 20
"""Bytes to read at once to empty a pipe: more than a pipe can hold."""


@contextmanager
def child_process(role: str, *, exclusive: bool = True, required: bool = True) -> Iterator[tuple[Settings, Path]]:
    """Yield the settings and the data folder, and exit the process at the end of the block.

    A HeadwaterError in the block is logged before the exit. exclusive: no other process may have this role at the same
    time. required: an error that a restart cannot fix stops all of Headwater.
    """
    gc.freeze()  # exclude the loaded modules from garbage collection
    settings, status = read_settings(), 0
    configure_logging(settings, role)
    try:
        with ExitStack() as stack, transient_faults_as_retry(f"continue with {settings.data}"):

            def prepare_and_lock_folder() -> Path:
                folder = prepare_folder(settings)
                if exclusive:
                    stack.enter_context(folder_lock(folder, role, wait_s=_HELD_BY_THE_LAST_S))
                return folder

            yield settings, retry_while_disk_full(prepare_and_lock_folder, log.warning, _wait_or_exit)
    except HeadwaterError as error:
        log.error("%s", error)
        status = GIVE_UP if required and not isinstance(error, Retry) else RESTART
    _exit_immediately(status)


def retry_while_disk_full(
    action: Callable[[], T], report: Callable[[str], object], wait: Callable[[float], object]
) -> T:
    """Call `action` repeatedly while the disk is full, and return its result.

    report: called with the error message, once for each new message. wait: called with the seconds until the next try.
    """
    reported = ""
    while True:
        try:
            return action()
        except Retry as error:
            if str(error) != reported:
                reported = str(error)
                report(reported)
            wait(_LOOK_AGAIN_S)


def _exit_immediately(status: int) -> NoReturn:
    """Exit the process without Python's own clean-up. Call it after all resources are closed.

    Threads of delta-rs, obstore and librdkafka still run at this time. A normal exit can crash with SIGSEGV, because
    such a thread uses state that Python has already deleted.
    """
    logging.shutdown()
    with suppress(OSError):  # the reader of the output may have exited
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _wait_or_exit(seconds: float) -> None:
    """Wait, or exit the process if the supervisor has exited or asks to stop.

    Use it while the service has not started yet and does not check for this itself.
    """
    if select.select([sys.stdin.fileno()], [], [], seconds)[0]:
        sys.exit(0)


def read_settings() -> Settings:
    """Read the settings that the supervisor sends. Exits the process if the supervisor exits before sending them."""
    return settings_from_json(sys.stdin.buffer.readline() or sys.exit(0))


def call_when_parent_ends(*calls: Callable[[], None]) -> None:
    """Call each function once, in order, from a thread, when the supervisor has exited or asks to stop."""

    def wait_for_parent() -> None:
        while os.read(sys.stdin.fileno(), 1024):  # unbuffered: a buffer's lock would abort the interpreter at exit
            pass
        for call in calls:
            call()

    threading.Thread(target=wait_for_parent, name="lifeline", daemon=True).start()


def write_pid(folder: Path, name: str, pid: int) -> None:
    """Write the id of the process with this role to the folder `run`, for people and tests."""
    write_run_file(folder, f"{name}.pid", b"%d\n" % pid)


def write_run_file(folder: Path, name: str, text: bytes) -> None:
    """Write a file in the folder `run` atomically."""
    atomic_write(folder / "run" / name, text)


def encode_settings(settings: Settings) -> bytes:
    """Encode settings, including secrets, for a child's standard input."""
    return settings.model_dump_json(context=REVEAL_SECRETS).encode() + b"\n"


class NotificationPipe:
    """A pipe with which one process notifies another process that there is new work.

    The supervisor keeps the pipe open, so a notification survives a restart of its receiver. Receivers check for work
    on every tick anyway, so a lost notification delays them by at most one tick.
    """

    def __init__(self, reading: int, writing: int):
        """Use the file descriptors of the reading and the writing end, which a child process inherits."""
        self.descriptors = reading, writing
        self._poll = select.poll()
        self._poll.register(reading, select.POLLIN)

    @classmethod
    def create(cls) -> "NotificationPipe":
        """Create a pipe on which reading and writing never block."""
        found = os.pipe()
        for descriptor in found:
            os.set_blocking(descriptor, False)
        return cls(*found)

    def notify(self, note: bytes = b"") -> None:
        """Notify the receiver. Callable from any thread; takes about a microsecond.

        note: bytes for the receiver. If the pipe is full, the note is dropped, and the receiver finds the earlier ones.
        """
        with suppress(BlockingIOError):
            os.write(self.descriptors[1], note + b"\n")

    def wait(self, seconds: float) -> None:
        """Wait for a notification. The notification stays in the pipe until `take_notes` is called."""
        self._poll.poll(math.ceil(seconds * 1000))

    def take_notes(self) -> list[bytes]:
        """Remove all notifications from the pipe, and return their notes."""
        with suppress(BlockingIOError):
            return os.read(self.descriptors[0], _ALL).splitlines()
        return []


def encode_position(source: Source, sequence: int) -> bytes:
    """Encode the position up to which a partition has been written to bronze."""
    return msgspec.json.encode((source, sequence))


def decode_positions(notes: Sequence[bytes]) -> dict[Source, int]:
    """Return the last position of each partition in the notes of `encode_position`. Empty notes have no position."""
    return dict(msgspec.json.decode(note, type=tuple[Source, int]) for note in notes if note)
