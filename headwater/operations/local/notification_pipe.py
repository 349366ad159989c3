"""A pipe by which one process notifies another that there is new work; the supervisor exclusive it open, too.

A notification therefore survives a restart of its receiver. It is only a hint: receivers check for work on every tick
anyway, so a lost notification delays them by one tick.
"""

import math
import os
import select
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from headwater.events.position import Source

_ALL = 1 << 20
"""More bytes than a pipe can hold."""


class NotificationPipe:
    """Both ends of the pipe; the sender uses one, the receiver uses both."""

    def __init__(self, reading: int, writing: int):
        """Use two descriptors, for example inherited ones."""
        self.descriptors = reading, writing
        self._poll = select.poll()
        self._poll.register(reading, select.POLLIN)

    @classmethod
    def make(cls) -> "NotificationPipe":
        """Create a pipe whose reads and writes never block."""
        found = os.pipe()
        for descriptor in found:
            os.set_blocking(descriptor, False)
        return cls(*found)

    def notify(self, note: bytes = b"") -> None:
        """Notify the receiver, from any thread, in about a microsecond. A full pipe already contains notifications."""
        with suppress(BlockingIOError):
            os.write(self.descriptors[1], note + b"\n")

    def wait(self, seconds: float) -> None:
        """Wait for a notification, which remains until `take` is called."""
        self._poll.poll(math.ceil(seconds * 1000))

    def take(self) -> list[bytes]:
        """Return the notes of all notifications so far."""
        with suppress(BlockingIOError):
            return os.read(self.descriptors[0], _ALL).splitlines()
        return []


def encode_position(source: Source, sequence: int) -> bytes:
    """Encode how far a partition of bronze is."""
    return msgspec.json.encode((source, sequence))


def decode_positions(notes: Sequence[bytes]) -> dict[Source, int]:
    """Return how far each partition is according to the notes; empty notes only notify."""
    return dict(msgspec.json.decode(note, type=tuple[Source, int]) for note in notes if note)
