"""Table `tags`: every `tags` facet, because the newest one of each producer counts (rule 8)."""

import sqlite3
from collections.abc import Iterator, Sequence

from headwater.index.stored.index_packing import encode, tags_from
from headwater.index.stored.name_numbers import NameNumbers
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.tags import TagsFacet, tags_facets
from headwater.lineage.runs.newest_first import NEWNESS, Order, newest_first
from headwater.lineage.runs.run_facts import RunFacts

_NEWNESS = ", ".join(NEWNESS)


class TagTable:
    """Stores the tags of events under the names as sent."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        self._sql = connection
        self._names = names

    def add(self, facts: Sequence[RunFacts]) -> None:
        """Store the `tags` facets of events. Repeated facets change nothing."""
        for fact in facts:
            for facet in tags_facets(fact):
                number = self._names.number(facet.name)
                row = (number, facet.producer, *facet.order, facet.place, encode(facet.tags))
                self._sql.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def newest_of(self, name: Name, until_us: int = EVER_US) -> Iterator[TagsFacet]:
        """Yield the newest `tags` facet of each producer under a name as sent, up to a time (us)."""
        number, producer = self._names.known(name), ""
        if number is None:
            return
        query = (
            f"SELECT producer, {_NEWNESS}, value FROM tags WHERE name = ?1 AND producer = "
            "(SELECT min(producer) FROM tags WHERE name = ?1 AND producer > ?2 AND time_us <= ?3) AND time_us <= ?3 "
            f"ORDER BY {newest_first()} LIMIT 1"
        )
        while row := self._sql.execute(query, (number, producer, until_us)).fetchone():
            producer, *order, place, value = row
            yield TagsFacet(Order(*order), place, name, producer, tags_from(value))

    def facets(self, of: Name | None = None) -> Iterator[TagsFacet]:
        """Yield all `tags` facets, or only those under one name as sent."""
        query = f"SELECT name, producer, {_NEWNESS}, value FROM tags"
        where, values = (" WHERE name = ?", (self._names.known(of) or 0,)) if of is not None else ("", ())
        for name, producer, *order, place, value in self._sql.execute(query + where, values):
            yield TagsFacet(Order(*order), place, self._names.name(name), producer, tags_from(value))
