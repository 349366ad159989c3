"""Reads recent changes from table `feed` of the index file and returns them as events for people and programs."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from headwater.common.errors import IndexUnreadable
from headwater.events.times import iso_time
from headwater.index.home import IndexHome, PublishedFile
from headwater.index.stored.database import open_for_reading, read_transaction
from headwater.index.stored.edge_sets import InputLists
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import job_key

AT_ONCE = 500
_MAX_EDGES = 100
"""The maximum number of edges of one job and dataset in the events of one batch."""

_FEED = "SELECT id, generation, kind, number, value FROM feed WHERE id > ? AND id <= ?"
_EDGES_OF_SET = (
    "SELECT j.namespace, j.name, o.namespace, o.name, v.value, v.inputs FROM edge_sets e "
    "JOIN job_outputs g ON g.id = e.job_output "
    "JOIN edges v ON v.edge_set = e.number JOIN names j ON j.id = g.job JOIN names o ON o.id = g.output "
    "WHERE e.number = ?"
)
"""Selects the job, output and edges of an edge set. Returns no row for an edge set without an output."""


class FeedEvent(NamedTuple):
    """A recent change. id: the place in the feed from which to read the next changes, as text."""

    id: str
    kind: str
    content: dict[str, Any]


class FeedPlace(NamedTuple):
    """A place in the feed of one index file.

    file: when the file was published (ns). number: the id of the last row that was read.
    """

    file: int
    number: int

    def __str__(self) -> str:
        return f"{self.file}-{self.number}"


class FeedReader:
    """Follows the feed while its writer may be running. Not thread-safe."""

    def __init__(self, home: IndexHome):
        self._home = home
        self._opened: tuple[PublishedFile, sqlite3.Connection] | None = None

    def end_of_feed(self) -> FeedPlace:
        """Return the end of the feed. Raises LakeUnavailable if no index can be read."""
        with self._open_file() as (sql, file):
            return FeedPlace(file, sql.execute("SELECT coalesce(max(id), 0) FROM feed").fetchone()[0])

    def find_place(self, event_id: str) -> FeedPlace | None:
        """Return the place of an event id, or None if the feed does not or no longer contain this place.

        Raises LakeUnavailable if no index can be read.
        """
        file, _, number = event_id.partition("-")
        if not (file.isascii() and file.isdigit() and number.isascii() and number.isdigit() and len(event_id) < 40):
            return None
        place = FeedPlace(int(file), int(number))
        with self._open_file() as (sql, current):
            oldest, newest = sql.execute("SELECT coalesce(min(id), 1), coalesce(max(id), 0) FROM feed").fetchone()
        return place if place.file == current and oldest - 1 <= place.number <= newest else None

    def read_changes(self, after: FeedPlace, until: FeedPlace | None = None) -> tuple[list[FeedEvent], FeedPlace]:
        """Return (the changes after a place, the place after these changes). Batches are complete.

        If the index file was replaced since `after`, the feed of the new file is read from its start. until: the last
        place to read, in the same file; None for no limit.
        """
        last = until.number if until else 1 << 62
        with self._open_file() as (sql, file):
            number = after.number if after.file == file else 0
            with read_transaction(sql):
                rows = _read_batches(sql, number, last)
                found = [
                    event
                    for _, batch in groupby(rows, key=lambda row: row[1])
                    for event in _to_events(sql, file, list(batch))
                ]
        return found, FeedPlace(file, rows[-1][0] if rows else until.number if until else number)

    def close(self) -> None:
        """Close the index file."""
        if self._opened is not None:
            self._opened[1].close()
        self._opened = None

    @contextmanager
    def _open_file(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        try:
            if self._opened is None or self._opened[0] != self._home.published_file():
                self.close()
                self._opened = self._home.open_published(open_for_reading)
            published, sql = self._opened
            with self._home.index_errors(published):
                yield sql, published.at_ns
        except IndexUnreadable:
            self.close()
            raise


def _read_batches(sql: sqlite3.Connection, number: int, last: int) -> list[Any]:
    """Return the rows with ids in (number, last], at most about 500, so that the last batch is complete."""
    rows = sql.execute(f"{_FEED} ORDER BY id LIMIT ?", (number, last, AT_ONCE)).fetchall()
    if len(rows) == AT_ONCE:
        rows += sql.execute(f"{_FEED} AND generation = ? ORDER BY id", (rows[-1][0], last, rows[-1][1])).fetchall()
    return rows


def _to_events(sql: sqlite3.Connection, file: int, rows: list[Any]) -> Iterator[FeedEvent]:
    edges = []
    for number, _, kind, edge_set, value in rows:
        decoded = msgspec.msgpack.decode(value)
        if kind == "edges":
            edges.append((edge_set, decoded))
        elif kind == "run":
            shown = _run_content(sql, *decoded)
            if shown:
                yield FeedEvent(str(FeedPlace(file, number)), "run", shown)
        else:
            yield FeedEvent(str(FeedPlace(file, number)), kind, decoded)
    end = str(FeedPlace(file, rows[-1][0]))
    yield from (FeedEvent(end, "edge", value) for value in _changed_edges(sql, edges))


def _run_content(sql: sqlite3.Connection, run: str, state: str) -> dict[str, Any] | None:
    query = (
        "SELECT r.kind, n.namespace, n.name, r.started_us, r.ended_us FROM run_keys k JOIN runs r ON r.run = k.id "
        "JOIN names n ON n.id = r.job WHERE k.key = ?"
    )
    row = sql.execute(query, (run,)).fetchone()
    if row is None or row[0] != "RUN":
        return None
    _, namespace, name, started_us, ended_us = row
    job = job_key(Name(namespace, name), None).as_json
    return {"run": run, "state": state, "job": job, "started": iso_time(started_us), "ended": iso_time(ended_us)}


def _changed_edges(sql: sqlite3.Connection, changed: Iterable[tuple[int, bool]]) -> Iterator[dict[str, Any]]:
    """Yield the edges between datasets that a batch added or ended.

    Edges that moved from one edge set to another are left out, because they neither appeared nor ended.
    """
    lines: dict[tuple[Name, Name], tuple[dict[Name, int], dict[Name, int]]] = {}
    lists = InputLists(sql)
    for number, live in changed:
        row = sql.execute(_EDGES_OF_SET, (number,)).fetchone()
        lineage = lists.unpack_edges_and_inputs(*row[4:]) if row else None
        for source in lineage.source_datasets if lineage else ():
            new_and_ended = lines.setdefault((Name(*row[:2]), Name(*row[2:4])), ({}, {}))
            columns = sum(edge.source == source for edge in lineage.edges) if lineage else 0
            new_and_ended[0 if live else 1][source] = columns
    for (job, output), (new, ended) in lines.items():
        changes = [("appeared", name, new[name]) for name in new.keys() - ended.keys()]
        changes += [("ended", name, ended[name]) for name in ended.keys() - new.keys()]
        for change, source, columns in sorted(changes)[:_MAX_EDGES]:
            yield {
                "change": change,
                "job": job_key(job, None).as_json,
                "from": {"namespace": source.namespace, "dataset": source.name},
                "to": {"namespace": output.namespace, "dataset": output.name},
                "columns": columns,
            }
