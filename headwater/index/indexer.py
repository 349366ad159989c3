"""Bronze to index, a batch in a transaction: the position moves with what was derived from it, or not at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.collector import paused
from headwater.events.position import Source
from headwater.index.contents import SqliteContents
from headwater.index.database import open_for_writing
from headwater.index.edge_set_table import Counted, EdgeSetTable
from headwater.index.facet_table import FacetTable
from headwater.index.happened_table import places_of
from headwater.index.kin import SqliteKin
from headwater.index.names import NameNumbers
from headwater.index.naming import SqliteNaming
from headwater.index.packing import encode
from headwater.index.progress import read_progress
from headwater.index.store import SqliteStore
from headwater.index.tag_table import TagTable
from headwater.lake.follow import Progress
from headwater.lineage.derive import Derivation
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.outcome import Word, outcome
from headwater.lineage.part import Part
from headwater.lineage.reading import PartReader, read_stored
from headwater.lineage.run_facets import run_facets

StoredEvent = tuple[str, int, str, int]
"""event_id (hex), received_at (us), body, sequence."""


class Indexer:
    """The index's only writer."""

    def __init__(self, path: Path, rules: NameRules):
        """Open or create the file; it belongs to these rules for names alone."""
        self._sql = open_for_writing(path)
        self._names = NameNumbers(self._sql)
        self._contents = SqliteContents(self._sql)
        self._store = SqliteStore(self._sql, self._names)
        self._kin = SqliteKin(self._sql, self._store.edge_sets)
        self._tags = TagTable(self._sql, self._names)
        self._derivation = Derivation(self._store, self._contents, SqliteNaming(self._sql, self._names))
        self._facets = FacetTable(self._sql, self._names)
        self._reader = PartReader(rules.canonical, self._contents, self._facets.read)
        newest = "SELECT max(generation) FROM (SELECT generation FROM edge_sets UNION SELECT generation FROM datasets)"
        self._generation = int(self._sql.execute(newest).fetchone()[0] or 0)

    def progress(self) -> Progress:
        """Return how far the index is."""
        return read_progress(self._sql)

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
        looked_at = self._derivation.looked_at
        for output in {group.output.plain for group in changed if group.output}:
            self._settle(self._store.votes.groups_of(self._names.generations(output)))
        for group in changed:
            if group.output is None:
                self._settle([self._store.votes.number(group)])
        for dataset in looked_at:
            self._set_schema(dataset)
        names_of = self._derivation.naming.names_of
        concerned = {name for dataset in looked_at for name in names_of(dataset)}  # a name shows what it meant before
        for dataset in concerned | {group.output.plain for group in changed if group.output}:
            self._set_shown(dataset)
        self._store.search.flush()

    def _settle(self, groups: Sequence[int]) -> None:
        """Mark which edge sets of the groups about one output count now."""
        votes, edge_sets = self._store.votes, self._store.edge_sets
        words = outcome(votes.that_can_count(groups), edge_sets.edges, self._kin)
        before = edge_sets.counted(groups)
        after = {word.said: _counted(word) for group_words in words.values() for word in group_words}
        for number in before.keys() | after.keys():
            self._mark(number, before.get(number, Counted()), after.get(number, Counted()))
        alone = {votes.number(group): own[0].said for group, own in words.items() if _stands_alone(own, edge_sets)}
        for number in groups:
            votes.settle(number, alone.get(number))

    def _mark(self, number: int, before: Counted, after: Counted) -> None:
        if before.live != after.live:
            self._store.feed.counts(number, live=bool(after.live))
        if before != after:
            self._store.edge_sets.count(number, after, self._generation)

    def _set_schema(self, dataset: Name) -> None:
        schema = self._derivation.schemas.newest(dataset)
        if self._set_dataset(dataset, "schema", schema):
            self._set_dataset(dataset, "nests", self._derivation.schemas.columns(dataset).nests)

    def _set_shown(self, dataset: Name) -> None:
        """Note what a dataset has as columns, by the newest generation that says so, and whether it is gone."""
        generations, schemas = self._derivation.naming.generations, self._derivation.schemas
        every = generations.meanings(dataset)
        schema = next((found for each in every if (found := schemas.newest(each))), None)
        if self._set_dataset(dataset, "shown", schema):
            self._store.search.set_columns(dataset, self._contents.schema(schema) if schema else ())
        self._set_dataset(dataset, "dropped", not generations.is_there(dataset))

    def _set_dataset(self, name: Name, column: str, value: object) -> bool:
        """Set what is known of a dataset; tells whether that is new."""
        number = self._names.number(name)
        self._sql.execute("INSERT OR IGNORE INTO datasets(name) VALUES (?)", (number,))
        changed = self._sql.execute(
            f"UPDATE datasets SET {column} = ?1, generation = ?2 WHERE name = ?3 AND {column} IS NOT ?1",
            (value, self._generation, number),
        )
        return bool(changed.rowcount)


def _counted(word: Word[int]) -> Counted:
    names = (encode(sorted(word.explained)), encode(sorted(word.accounted)))
    return Counted(int(word.live), int(word.latest), int(word.reading), *names)


def _stands_alone(words: Sequence[Word[int]], edge_sets: EdgeSetTable) -> bool:
    """Tell whether one edge set is all that a group says, with column lineage and without anything to be explained."""
    if len(words) > 1 or not (words[0].live and words[0].latest and words[0].reading):
        return False
    said = edge_sets.edges(words[0].said)
    return said.carries and not said.opaque
