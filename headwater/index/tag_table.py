"""Tags facets in the index's file: every one ever sent, since the newest of each producer counts (rule 8)."""

import sqlite3
from collections.abc import Sequence

from headwater.index.names import NameNumbers
from headwater.index.packing import encode
from headwater.lineage.part import Part


class TagTable:
    """Takes the tags of events, under names as sent."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Use the index's connection."""
        self._sql = connection
        self._names = names

    def add(self, parts: Sequence[Part]) -> None:
        """Keep the tags facets of events; the same ones again change nothing."""
        for part in parts:
            for place, mention in enumerate((*part.inputs, *part.outputs)):
                if mention.tags is not None:
                    row = (self._names.number(mention.name), part.producer, *part.order, place, encode(mention.tags))
                    self._sql.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
