"""The index as questions see it: the graph of what counts, kept up with its writer, one generation at a time."""

import gc
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from headwater.collector import paused
from headwater.index.contents import SqliteContents
from headwater.index.database import open_for_reading
from headwater.index.moment import NOW_US, Stats
from headwater.index.names import NameNumbers
from headwater.index.naming import SqliteNaming
from headwater.index.packing import names_from, unpack_edges
from headwater.index.tag_table import TagTable
from headwater.lineage.columns import Columns
from headwater.lineage.current import Group
from headwater.lineage.exposed_until import Writer, Written, Wrote
from headwater.lineage.graph import Graph
from headwater.lineage.jobs import job_key
from headwater.lineage.lifetimes import Lifetimes
from headwater.lineage.name import Name
from headwater.lineage.nesting import Nesting
from headwater.lineage.part import Tag
from headwater.lineage.scene import Remask
from headwater.lineage.tags import newest_tags
from headwater.lineage.view import View
from headwater.lineage.weighed import Weighed

_EDGE = 100
"""Characters of a text that weigh as much as an edge."""


class LiveGraph:
    """A graph of the edge sets that count, and the newest schemas; `refresh` brings both up to date."""

    def __init__(self, path: Path, remask: Remask):
        """Read all that counts; raises LakeUnavailable while there is no index."""
        self._remask, self.path = remask, path
        self.sql = open_for_reading(path)
        self.graph = Graph()
        self._schemas: dict[Name, str] = {}
        self._columns: dict[str | None, Columns] = {}
        self._tags: Mapping[Name, Sequence[Tag]] | None = None
        self._jobs: dict[Name, Name] = {}
        self._texts: Weighed[int, str] = Weighed()
        self.names = NameNumbers(self.sql)
        self.contents = SqliteContents(self.sql)
        self.naming = SqliteNaming(self.sql, self.names)
        self._shown: dict[Name, str] = {}
        self._nests: set[Name] = set()
        self._view: View | None = None
        self._masks = (bytearray(1024), bytearray(1024), bytearray(1024))
        self.generation = 0
        self._seen = -1
        self.refresh()
        gc.freeze()  # the graph stays: no request waits until the collector has looked at all of it

    def refresh(self) -> None:
        """Take what the writer has committed since; until `rest` all that is read belongs to that one generation."""
        self.rest()
        self.sql.execute("BEGIN")
        version = self.sql.execute("PRAGMA data_version").fetchone()[0]
        if version == self._seen:
            return
        self.names.refresh()
        self.naming.refresh()
        with paused():
            newest = max(self._take_sets(), self._take_datasets(), self.generation)
        self._tags = self._view = None
        self._jobs.clear()
        self.generation, self._seen = newest, version

    def rest(self) -> None:
        """Let go of the generation that was read, so that the writer can tidy up behind it."""
        if self.sql.in_transaction:
            self.sql.execute("COMMIT")

    def view(self) -> View:
        """Return what counts now."""
        if self._view is None:
            graph = self.graph
            lifetimes = Lifetimes(graph, self.naming.generations)
            nested = [number for name in self._nests if (number := graph.dataset(name)) is not None]
            nesting = Nesting(graph, lambda number: self.columns(graph.names[number]), nested)
            self._view = View(*self._masks, lifetimes.hidden, lifetimes, nesting)
        return self._view

    def older_than(self, time_us: int) -> list[int]:
        """Return the edge sets whose newest run is older than a moment."""
        rows = self.sql.execute("SELECT number FROM edge_sets WHERE last_us < ?", (time_us,))
        return [number for (number,) in rows if number < len(self._masks[0])]

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""
        return self._columns_by(self._schemas.get(dataset))

    def shown_columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset by its newest generation that says so."""
        return self._columns_by(self._shown.get(dataset.plain))

    def _columns_by(self, schema: str | None) -> Columns:
        found = self._columns.get(schema)
        if found is None:
            found = self._columns[schema] = Columns(self.contents.schema(schema) if schema else ())
        return found

    def schema(self, dataset: Name) -> str | None:
        """Return the content hash of a dataset's newest schema."""
        return self._schemas.get(dataset)

    def knows(self, dataset: Name) -> bool:
        """Tell whether a schema or an edge is known of a dataset."""
        return dataset in self._shown or dataset in self.graph.generations

    def datasets(self) -> list[Name]:
        """Return every dataset that a schema or an edge is known of."""
        return list({*self._shown, *self.graph.generations})

    def resolve(self, name: Name) -> Name:
        """Return the dataset that a canonical name means now."""
        return self.naming.resolve(name, NOW_US).plain

    def stands(self, dataset: Name) -> bool:
        """Tell whether a dataset is there: it was not dropped, or was made again."""
        return self.naming.generations.is_there(dataset)

    def aliases(self) -> Mapping[Name, Name]:
        """Return the names that are bound to another or were renamed, with the datasets they mean now."""
        return {name: self.resolve(name) for name in self.naming.aliases()}

    def tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags that hold now, by dataset."""
        if self._tags is None:
            self._tags = newest_tags(TagTable(self.sql, self.names).facets(), self.naming)
        return self._tags

    def job(self, key: Name) -> Name:
        """Return what people call a job: where it is known by an artifact's id, the name it has now."""
        found = self._jobs.get(key)
        if found is None:
            query = "SELECT job FROM runs WHERE job_key = ? ORDER BY time_us DESC LIMIT 1"
            row = self.sql.execute(query, (self.names.known(key) or 0,)).fetchone()
            found = self._jobs[key] = job_key(self.names.name(row[0]), None) if row else key
        return found

    def facet_text(self, number: int) -> str:
        """Return the text of a facet, which never changes; what was read lately is kept."""
        found = self._texts.get(number)
        if found is None:
            text: str = self.sql.execute("SELECT value FROM facet_texts WHERE id = ?", (number,)).fetchone()[0]
            found = self._texts.keep(number, text, len(text) // _EDGE)
        return found

    def newest_run(self, number: int) -> str | None:
        """Return the newest run behind an edge set."""
        query = "SELECT run FROM votes WHERE edge_set = ? ORDER BY time_us DESC, tie DESC LIMIT 1"
        row = self.sql.execute(query, (number,)).fetchone()
        return row[0] if row else None

    def stats(self, number: int) -> Stats:
        """Return what is known of the runs behind an edge set."""
        query = "SELECT runs, first_us, last_us FROM edge_sets WHERE number = ?"
        landed = "SELECT 1 FROM votes WHERE edge_set = ? AND landed LIMIT 1"
        runs, first_us, last_us = self.sql.execute(query, (number,)).fetchone()
        return Stats(runs, first_us, last_us, bool(self.sql.execute(landed, (number,)).fetchone()))

    def written(self, dataset: Name) -> Written:
        """Return who ever wrote a generation of a dataset."""
        number = self.names.known(dataset) or 0
        rows = self.sql.execute(
            "SELECT e.number, g.layer, g.job, v.value FROM groups g JOIN edge_sets e ON e.grp = g.id "
            "JOIN edges v ON v.edge_set = e.number WHERE g.output = ? AND e.runs > 0",
            (number,),
        ).fetchall()
        writers = []
        for edge_set, layer, job, value in rows:
            group = Group(layer, self.names.name(job), dataset)
            writers.append(Writer(self._remask(group, unpack_edges(value)), partial(self._wrote, edge_set)))
        return Written(writers, partial(self._rewritten, number))

    def _wrote(self, edge_set: int, upto_us: int) -> Wrote | None:
        query = (
            "SELECT time_us, run FROM votes WHERE edge_set = ? AND time_us <= ? ORDER BY time_us DESC, run DESC LIMIT 1"
        )
        row = self.sql.execute(query, (edge_set, upto_us)).fetchone()
        return (row[0], row[1]) if row else None

    def _rewritten(self, dataset: int, by: Wrote) -> int | None:
        query = (
            "SELECT min(v.time_us) FROM groups g JOIN votes v ON v.grp = g.id AND v.rewrites "
            "WHERE g.output = ? AND v.time_us >= ? AND v.run <> ?"
        )
        found: int | None = self.sql.execute(query, (dataset, *by)).fetchone()[0]
        return found

    def was_read(self, dataset: Name) -> bool:
        """Tell whether some run, be it long ago, read a dataset to write another."""
        query = (
            "SELECT 1 FROM reads r JOIN edge_sets e ON e.number = r.edge_set WHERE r.name = ? AND e.runs > 0 LIMIT 1"
        )
        return bool(self.sql.execute(query, (self.names.known(dataset) or 0,)).fetchone())

    def close(self) -> None:
        """Close the file."""
        self.sql.close()

    def _take_sets(self) -> int:
        newest = 0
        rows = self.sql.execute(
            "SELECT e.number, e.generation, e.live, e.latest, e.reading, e.explained, e.accounted, g.layer, g.job, "
            "g.output, v.value FROM edge_sets e JOIN groups g ON g.id = e.grp JOIN edges v ON v.edge_set = e.number "
            "WHERE e.generation > ?",
            (self.generation,),
        )
        for number, generation, *counts, explained, accounted, layer, job, output, value in rows:
            newest = max(newest, generation)
            self._grow(number)
            if number in self.graph.sets:
                self.graph.remove(number)
            if any(counts):
                group = Group(layer, self.names.name(job), self.names.name(output) if output else None)
                told = (frozenset(names_from(explained)), frozenset(names_from(accounted)))
                self.graph.put(number, group, self._remask(group, unpack_edges(value)), *told)
            for mask, count in zip(self._masks, counts, strict=True):
                mask[number] = count
        return newest

    def _take_datasets(self) -> int:
        newest = 0
        query = "SELECT name, schema, nests, shown, generation FROM datasets WHERE generation > ?"
        for number, schema, nests, shown, generation in self.sql.execute(query, (self.generation,)):
            newest = max(newest, generation)
            name = self.names.name(number)
            _keep(self._schemas, name, schema)
            _keep(self._shown, name, shown)
            (self._nests.add if nests else self._nests.discard)(name)
        return newest

    def _grow(self, number: int) -> None:
        while number >= len(self._masks[0]):
            for mask in self._masks:
                mask.extend(bytes(len(mask)))


def _keep(schemas: dict[Name, str], name: Name, schema: str | None) -> None:
    if schema is None:
        schemas.pop(name, None)
    else:
        schemas[name] = schema
