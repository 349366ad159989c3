"""The note that a refresh leaves behind, from which the next one tells whether there is anything to do."""

from collections.abc import Mapping

import msgspec

NOTE_NAME = "last_pass.json"
"""Name of the note, in the folder where a refresh also holds its lock."""

REFRESH_FOLDER = "silver/_refresh"

IDLE_S = 3600.0
"""A refresh this long after the last one works even if nothing is new: a run without an end becomes LOST by time."""


class LastPass(msgspec.Struct, frozen=True):
    """A pass that took everything there was.

    began_s: when it began, in seconds since 1970; rules_hash: the rules it applied; versions: of each table that it
    read or wrote, by its path below the lake.
    """

    began_s: float
    rules_hash: str
    versions: Mapping[str, int]

    def encode(self) -> str:
        """Return the text of the note."""
        return msgspec.json.encode(self).decode()

    def is_recent(self, now_s: float) -> bool:
        """Tell whether time alone cannot have changed an answer since; a clock that was set back proves nothing."""
        return 0 <= now_s - self.began_s < IDLE_S


def decode_last_pass(text: bytes) -> LastPass | None:
    """Return the pass that a note tells of, or None if the note is damaged or of another release."""
    try:
        return msgspec.json.decode(text, type=LastPass)
    except msgspec.DecodeError:
        return None
