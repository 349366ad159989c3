"""The record of the last refresh, by which the next one determines whether there is new data."""

from collections.abc import Mapping

import msgspec

NOTE_NAME = "last_pass.json"
"""Name of the record, in the folder in which a refresh also holds its lock."""

REFRESH_FOLDER = "silver/_refresh"

IDLE_S = 3600.0
"""After this time a refresh runs even without new data, because a run without an end becomes LOST by time."""


class LastPass(msgspec.Struct, frozen=True):
    """A pass that processed all available data.

    began_s: its start, in seconds since 1970; rules_hash: the rules it applied; versions: of each table that it read or
    wrote, by path relative to the lake.
    """

    began_s: float
    rules_hash: str
    versions: Mapping[str, int]

    def encode(self) -> str:
        """Return the text of the record."""
        return msgspec.json.encode(self).decode()

    def is_recent(self, now_s: float) -> bool:
        """Return whether the passing of time cannot have changed an answer since; False if the clock was set back."""
        return 0 <= now_s - self.began_s < IDLE_S


def decode_last_pass(text: bytes) -> LastPass | None:
    """Return the pass in a record, None if the record is damaged or from another release."""
    try:
        return msgspec.json.decode(text, type=LastPass)
    except msgspec.DecodeError:
        return None
