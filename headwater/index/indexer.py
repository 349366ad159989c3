"""Bronze to index, a batch in a transaction: the position moves with what was derived from it, or not at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.collector import paused
from headwater.events.position import Source
from headwater.index.contents import SqliteContents
from headwater.index.database import open_for_writing
from headwater.index.facet_table import FacetTable
from headwater.index.happened_table import places_of
from headwater.index.names import NameNumbers
from headwater.index.naming import SqliteNaming
from headwater.index.packing import encode
from headwater.index.store import SqliteStore
from headwater.index.tag_table import TagTable
from headwater.lineage.derive import Derivation
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.outcome import Word, is_dropped, outcome
from headwater.lineage.part import Part
from headwater.lineage.reading import PartReader, read_stored
from headwater.lineage.run_facets import run_facets

StoredEvent = tuple[str, int, str, int]
"""event_id (hex), received_at (us), body, sequence."""

Progress = dict[tuple[str, str], int]
"""(incarnation, partition) → newest sequence in the index."""


class Indexer:
    """The index's only writer."""

    def __init__(self, path: Path, rules: NameRules):
        """Open or create the file; it belongs to these rules for names alone."""
        self._sql = open_for_writing(path)
        self._names = NameNumbers(self._sql)
        self._contents = SqliteContents(self._sql)
        self._store = SqliteStore(self._sql, self._names)
        self._tags = TagTable(self._sql, self._names)
        self._derivation = Derivation(self._store, self._contents, SqliteNaming(self._sql, self._names))
        self._facets = FacetTable(self._sql, self._names)
        self._reader = PartReader(rules.canonical, self._contents, self._facets.read)
        newest = "SELECT max(generation) FROM (SELECT generation FROM edge_sets UNION SELECT generation FROM datasets)"
        self._generation = int(self._sql.execute(newest).fetchone()[0] or 0)

    def progress(self) -> Progress:
        """Return how far the index is."""
        rows = self._sql.execute("SELECT incarnation, part, sequence FROM positions")
        return {(incarnation, part): sequence for incarnation, part, sequence in rows}

    def add(self, source: Source, sequence: int, events: Sequence[StoredEvent]) -> None:
        """Take the events of a partition up to a sequence number; the same ones again change nothing."""
        self._sql.execute("BEGIN IMMEDIATE")
        try:
            self._generation += 1
            with paused():
                self._store.places, self._store.told = places_of(self._sql, source, events), self._facets.told
                self._apply([self._read(*event) for event in events])
            self._store.feed.write(self._generation)
            row = (source.incarnation, source.partition, sequence)
            self._sql.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", row)
            self._sql.execute("COMMIT")
        except BaseException:
            self._sql.execute("ROLLBACK")
            raise

    def tell_rejected(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Let who follows the feed know of rejections."""
        self._generation += 1
        self._sql.execute("BEGIN IMMEDIATE")
        self._store.feed.rejected(rows)
        self._store.feed.write(self._generation)
        self._sql.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._sql.close()

    def _read(self, event_id: str, received_us: int, body: str, _: int) -> Part:
        if self._facets.is_full():
            self._facets.forget()
            self._reader.forget()
        wire = read_stored(body)
        facets = run_facets(wire)
        part = self._reader.read_wire(event_id, received_us, wire, facets)
        self._facets.take(wire, part, facets, self._reader.said.parent(facets))
        return part

    def _apply(self, parts: Sequence[Part]) -> None:
        changed = self._derivation.add(parts)
        self._tags.add(parts)
        self._store.search.add(parts)
        self._store.flush()
        self._facets.flush()
        for output in {group.output for group in changed}:
            self._settle(output)
        for dataset in self._derivation.looked_at:
            schema = self._derivation.schemas.newest(dataset)
            if self._set_dataset(dataset, "schema", schema):
                self._store.search.set_columns(dataset, self._contents.schema(schema) if schema else ())
        self._store.search.flush()

    def _settle(self, output: Name | None) -> None:
        """Mark which edge sets about an output count now, and whether it is dropped."""
        votes, edge_sets = self._store.votes, self._store.edge_sets
        counting = votes.that_can_count(output)
        words = outcome(counting, lambda number: edge_sets.edges(number).named)
        carrying = {vote.said for own in counting.values() for vote in own if vote.carries}
        before = edge_sets.counted(output)
        after = {word.said: word for group_words in words.values() for word in group_words}
        for number in before.keys() | after.keys():
            self._mark(number, before.get(number), after.get(number))
        dropped = output is not None and votes.was_ever_dropped(output)
        for group, own in words.items():
            alone = len(own) == 1 and own[0].live and own[0].latest and not dropped
            votes.settle(group, own[0].said if alone and own[0].said in carrying else None)
        if output is not None and dropped:
            self._set_dataset(output, "dropped", is_dropped(votes.ended(output)))

    def _mark(self, number: int, before: tuple[int, int, bytes] | None, word: Word[int] | None) -> None:
        after = (int(word.live), int(word.latest), encode(sorted(word.explained))) if word else (0, 0, encode([]))
        if bool(before and before[0]) != bool(after[0]):
            self._store.feed.counts(number, live=bool(after[0]))
        if before != after:
            self._sql.execute(
                "UPDATE edge_sets SET live = ?, latest = ?, explained = ?, generation = ? WHERE number = ?",
                (*after, self._generation, number),
            )

    def _set_dataset(self, name: Name, column: str, value: object) -> bool:
        """Set what is known of a dataset; tells whether that is new."""
        number = self._names.number(name)
        self._sql.execute("INSERT OR IGNORE INTO datasets(name) VALUES (?)", (number,))
        changed = self._sql.execute(
            f"UPDATE datasets SET {column} = ?1, generation = ?2 WHERE name = ?3 AND {column} IS NOT ?1",
            (value, self._generation, number),
        )
        return bool(changed.rowcount)
