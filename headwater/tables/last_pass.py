"""The record of the last refresh. The next refresh compares it with the tables to find out if there is new data."""

from collections.abc import Mapping

import msgspec

NOTE_NAME = "last_pass.json"
"""File name of the record in `REFRESH_FOLDER`, which also contains the lock of a running refresh."""

REFRESH_FOLDER = "silver/_refresh"

IDLE_S = 3600.0
"""Seconds after which a refresh runs even without new data: a run without an end event becomes LOST after some time."""


class LastPass(msgspec.Struct, frozen=True):
    """A pass that processed all available data.

    began_s: when the pass started, in seconds since 1970. rules_hash: hash of the rules that the pass applied.
    versions: the version of each table that the pass read or wrote, by the table's path relative to the lake.
    """

    began_s: float
    rules_hash: str
    versions: Mapping[str, int]

    def encode(self) -> str:
        """Return the record as JSON."""
        return msgspec.json.encode(self).decode()

    def is_recent(self, now_s: float) -> bool:
        """Return whether the pass began less than `IDLE_S` seconds before `now_s`; False if it began after `now_s`.

        Until then, answers change only with new data. A start after `now_s` means that the clock was set back.
        """
        return 0 <= now_s - self.began_s < IDLE_S


def decode_last_pass(text: bytes) -> LastPass | None:
    """Decode the JSON of a record. Returns None if the record is damaged or from another release."""
    try:
        return msgspec.json.decode(text, type=LastPass)
    except msgspec.DecodeError:
        return None
