"""How one process tells the next that there is something to take: a pipe that the supervisor holds, too.

So a wake waits for a process that is just starting again. It is a hint and no more: who is woken looks for itself, and
looks each tick besides, so that a wake that never came costs a tick.
"""

import math
import os
import select
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from headwater.events.position import Source

_ALL = 1 << 20
"""Bytes: more than a pipe holds."""


class Wake:
    """Both ends of the pipe; each process uses the one it needs, and the woken both."""

    def __init__(self, reading: int, writing: int):
        """Take the two descriptors, such as a process inherits them."""
        self.descriptors = reading, writing
        self._poll = select.poll()
        self._poll.register(reading, select.POLLIN)

    @classmethod
    def make(cls) -> "Wake":
        """Make a pipe that nothing ever waits for while it writes or reads."""
        found = os.pipe()
        for descriptor in found:
            os.set_blocking(descriptor, False)
        return cls(*found)

    def ring(self, note: bytes = b"") -> None:
        """Wake whoever waits, from any thread; costs about a microsecond. A full pipe has woken them already."""
        with suppress(BlockingIOError):
            os.write(self.descriptors[1], note + b"\n")

    def wait(self, seconds: float) -> None:
        """Wait for a wake, which stays until its note is taken."""
        self._poll.poll(math.ceil(seconds * 1000))

    def take(self) -> list[bytes]:
        """Return the notes of all wakes until now."""
        with suppress(BlockingIOError):
            return os.read(self.descriptors[0], _ALL).splitlines()
        return []


def reached_note(source: Source, sequence: int) -> bytes:
    """Say how far a partition of bronze is."""
    return msgspec.json.encode((source, sequence))


def reached(notes: Sequence[bytes]) -> dict[Source, int]:
    """Return how far each partition is of which the notes tell; an empty one only rings."""
    return dict(msgspec.json.decode(note, type=tuple[Source, int]) for note in notes if note)
