"""Tables of search: jobs, datasets, columns and tags, updated with each batch."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headwater.common.nearest_names import distinct_words
from headwater.index.stored.numbers import NameNumbers
from headwater.index.stored.packing import tags_from
from headwater.lineage.edges.schema_columns import Path
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.display_names import display_form
from headwater.lineage.rules.tags import tags_facets
from headwater.lineage.runs.event_order import newest_first_sql
from headwater.lineage.runs.run_facts import RunFacts

_SEPARATORS = "/.:"
_CACHED = 200_000
_DISPLAY = "display"
"""The `owner` of an entry that contains the display name of a dataset."""

_KINDS = ("job", "dataset", "column", "tag")

_SEARCHED_PARTS = 8
"""The number of parts of a nested column name that are searched, counted from the end of the name.

Each column of a deep schema repeats the names of its parents. If all parts were searched, the size of the index would
grow with the square of the depth.
"""


class SearchEntry(NamedTuple):
    """A thing that search can find.

    kind: `job`, `dataset`, `column` or `tag`. name: the number of the job or dataset. part: the column, or "". owner:
    the producer of a tag, `display` for the display name of a dataset, or "". text: the name that is searched. parent:
    the namespace of a job or dataset, or the dataset of a column or tag.
    """

    kind: str
    name: int
    part: str
    owner: str
    text: str
    parent: str

    @property
    def indexed_text(self) -> str:
        """The part of the text that is indexed as words and trigrams."""
        nested = self.kind == "column" and self.text.count(".") >= _SEARCHED_PARTS
        return ".".join(self.text.rsplit(".", _SEARCHED_PARTS)[1:]) if nested else self.text


class SearchTable:
    """Collects the jobs, datasets, columns and tags of a batch and writes them in `flush`."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, labels: Mapping[str, str]):
        """Use the index's connection. The caller manages its transaction.

        labels: the names of OneLake workspaces and items by id. Search also finds datasets by these names.
        """
        self._sql, self._labels = connection, labels
        self._names = names
        self._known: set[tuple[str, int]] = set()
        self._newest: dict[str, int] = {}
        self._weights: dict[tuple[int, str], tuple[int, int]] = {}
        self._vocabulary: set[str] = set()
        self._new: list[tuple[int, SearchEntry]] = []

    def begin_batch(self) -> None:
        """Begin a batch. The cache of known names is cleared only here, never within a batch."""
        if len(self._known) > _CACHED:
            self._known.clear()

    def add_use(self, kind: str, name: Name, time_us: int, *, partner_count: int) -> None:
        """Add a job or dataset that was used at a time (us, UTC). kind: `job` or `dataset`.

        partner_count: for a job, the number of datasets that it used for the first time; for a dataset, the number of
        jobs that used it for the first time.
        """
        number = self._names.number(name)
        if (kind, number) not in self._known:
            self._known.add((kind, number))
            known = "SELECT 1 FROM search_entries WHERE name = ? AND kind = ? AND owner = ''"
            if self._names.is_new_in_batch(number) or not self._sql.execute(known, (number, kind)).fetchone():
                self._add_entries([SearchEntry(kind, number, "", "", name.name, name.namespace)])
                display = display_form(name, self._labels) if kind == "dataset" else name.name
                if display != name.name:
                    self._add_entries([SearchEntry(kind, number, "", _DISPLAY, display, name.namespace)])
        uses, newest = self._weights.get((number, kind), (0, time_us))
        self._weights[number, kind] = (uses + partner_count, max(newest, time_us))

    def remove_job(self, job: Name) -> None:
        """Remove a job from search. Call it after `flush`."""
        number = self._names.number(job)
        self._known.discard(("job", number))
        self._replace_entries("job", number, "", [])
        self._sql.execute("DELETE FROM search_weights WHERE name = ? AND kind = 'job'", (number,))

    def flush(self) -> None:
        """Write everything that was added since the last call."""
        self._sql.executemany(
            "INSERT INTO search_weights VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET uses = uses + excluded.uses, "
            "time_us = max(time_us, excluded.time_us)",
            [(*key, *weight) for key, weight in self._weights.items()],
        )
        self._weights.clear()
        self._write_new_entries()

    def replace_columns(self, dataset: Name, columns: Sequence[Path]) -> None:
        """Replace the columns of a dataset. Call it at most once per dataset between two calls of `flush`."""
        number, parent = self._names.number(dataset), "/".join(dataset)
        names = dict.fromkeys(".".join(path) for path in columns)
        self._replace_entries(
            "column", number, "", [SearchEntry("column", number, name, "", name, parent) for name in names]
        )

    def add_symlinks_and_tags(self, with_symlinks: Sequence[RunFacts], with_tags: Sequence[RunFacts]) -> None:
        """Add the symlink names and the newest tags of datasets. Call it at most once between two calls of `flush`.

        with_symlinks, with_tags: the facts of the events that have symlinks or tags.
        """
        for part in with_symlinks:
            for use in (*part.inputs, *part.outputs):
                for symlink in use.symlinks:
                    self.add_use("dataset", symlink.name, part.time_us, partner_count=0)
        self._set_tags(with_tags)

    def _set_tags(self, parts: Sequence[RunFacts]) -> None:
        for name, producer in {(facet.name, facet.producer) for part in parts for facet in tags_facets(part)}:
            number, parent = self._names.number(name), "/".join(name)
            row = self._sql.execute(
                f"SELECT value FROM tags WHERE name = ? AND producer = ? ORDER BY {newest_first_sql()} LIMIT 1",
                (number, producer),
            ).fetchone()
            tags = [tag for tag in tags_from(row[0]) if tag.value.casefold() != "false"]
            things = {SearchEntry("tag", number, tag.column or "", producer, tag.key, parent) for tag in tags}
            self._replace_entries("tag", number, producer, sorted(things))

    def _replace_entries(self, kind: str, name: int, owner: str, entries: Sequence[SearchEntry]) -> None:
        rows = self._sql.execute(
            "SELECT id, kind, name, part, owner, text, parent FROM search_entries WHERE name = ? AND kind = ? "
            "AND owner = ?",
            (name, kind, owner),
        ).fetchall()
        before = {SearchEntry(*row[1:]): int(row[0]) for row in rows}
        for thing in before.keys() - set(entries):
            self._remove_entry(before[thing], thing)
        self._add_entries(thing for thing in entries if thing not in before)

    def _add_entries(self, entries: Iterable[SearchEntry]) -> None:
        for thing in entries:
            self._newest[thing.kind] = number = self._next_id(thing.kind)
            self._new.append((number, thing))

    def _write_new_entries(self) -> None:
        if not self._new:
            return
        write = self._sql.executemany
        rows = [(number, *thing, last_name_part(thing.text).casefold()) for number, thing in self._new]
        write("INSERT INTO search_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        words = [
            (thing.kind, word, number) for number, thing in self._new for word in distinct_words(thing.indexed_text)
        ]
        write("INSERT INTO search_words VALUES (?, ?, ?)", sorted(words))
        unknown = {word for _, word, _ in words} - self._vocabulary
        write("INSERT OR IGNORE INTO vocabulary(word) VALUES (?)", [(word,) for word in unknown])
        if len(self._vocabulary) > _CACHED:
            self._vocabulary.clear()
        self._vocabulary |= unknown
        trigrams = [(number, thing.indexed_text.casefold()) for number, thing in self._new]
        write("INSERT INTO trigrams(rowid, text) VALUES (?, ?)", trigrams)
        self._new.clear()

    def _next_id(self, kind: str) -> int:
        if kind not in self._newest:
            query = "SELECT coalesce(max(id), ?1) FROM search_entries WHERE id BETWEEN ?1 AND ?2"
            self._newest[kind] = int(self._sql.execute(query, entry_id_range(kind)).fetchone()[0])
        return self._newest[kind] + 1

    def _remove_entry(self, entry_id: int, entry: SearchEntry) -> None:
        self._sql.execute("DELETE FROM search_entries WHERE id = ?", (entry_id,))
        self._sql.executemany(
            "DELETE FROM search_words WHERE kind = ? AND word = ? AND thing = ?",
            [(entry.kind, word, entry_id) for word in distinct_words(entry.indexed_text)],
        )
        forget = "INSERT INTO trigrams(trigrams, rowid, text) VALUES ('delete', ?, ?)"
        self._sql.execute(forget, (entry_id, entry.indexed_text.casefold()))


def last_name_part(name: str) -> str:
    """Return the part of a name after the last `/`, `.` or `:`. These characters at the end of the name are ignored."""
    whole = name.rstrip(_SEPARATORS)
    return whole[max(map(whole.rfind, _SEPARATORS)) + 1 :]


def entry_id_range(kind: str) -> tuple[int, int]:
    """Return the first and the last id for entries of a kind. Separate ranges allow a search for one kind only."""
    start = _KINDS.index(kind) << 40
    return start, start + (1 << 40) - 1
