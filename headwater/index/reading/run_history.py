"""The history of runs: their datasets and lineage, the runs before and after them, and the tree of parent runs."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from headwater.common.errors import NotKnown, WrongQuestion
from headwater.events.decode import decode
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.candidates import CANDIDATE_COLUMNS
from headwater.index.stored.edge_sets import InputLists
from headwater.index.stored.events import JOB, RUN, EventPlace, RunFactsTable, newest_facet_places
from headwater.index.stored.numbers import NEWEST_WRITE, RunNumbers
from headwater.index.stored.run_facets import recent_facets
from headwater.lineage.edges.candidates import Candidate
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.applied_rules import RewriteEvidence
from headwater.lineage.runs.jobs import parse_id_prefix
from headwater.lineage.runs.merged_run import Run, merge_run

SHOWN = 20
_MAX_EVENTS = 5
"""The number of a run's last events that are read for the results of data quality tests."""

SCAN_LIMIT = 5_000
"""The maximum number of the newest runs of a job output that are read."""

_MAX_SIMILAR = 5
"""The number of similar runs that an error message lists for an unknown run."""

_CANDIDATES = (
    f"SELECT {CANDIDATE_COLUMNS} FROM candidates v JOIN run_keys k ON k.id = v.run WHERE v.job_output = ? "
    f"ORDER BY {NEWEST_WRITE} LIMIT {SCAN_LIMIT + 1}"
)


class RelatedRun(NamedTuple):
    """A run that is related to another run.

    time_us: the time of its newest event or of its write (us, UTC). job: the job's name. state: "" if it was not read.
    """

    key: str
    time_us: int
    job: Name
    state: str = ""


class RunEventPlaces(NamedTuple):
    """The places in bronze of a run's events: with its newest run facets, with its newest job facets, and the last."""

    run_facets: set[EventPlace]
    job_facets: set[EventPlace]
    last_events: set[EventPlace]


class RunHistory:
    """The history of runs in one generation of the index."""

    def __init__(self, live: LiveGraph):
        """Read from `live`, which must not be refreshed while this object is in use."""
        self._live, self._sql, self._names = live, live.sql, live.names
        self._lists = InputLists(live.sql)

    def find_run_key(self, run_id: str, *, exact: bool = False) -> str:
        """Return the key of a run by its id, or by a prefix of the id that no other run has.

        exact: accept no prefix. Callers that change the run need this. Raises NotKnown if no event has the id,
        WrongQuestion if several runs have it. Some keys are JSON with the run id and the job. They begin with the run
        id, so an SQL index finds them as well.
        """
        begins = msgspec.json.encode([run_id]).decode()[:-1] + ","
        rows = self._sql.execute(
            "SELECT key FROM run_keys k WHERE (key IN (?1, ?2) OR (key >= ?3 AND key < ?4)) "
            "AND EXISTS (SELECT 1 FROM event_facts WHERE run = k.id) LIMIT ?5",
            (run_id.lower(), run_id, begins, begins[:-1] + "-", SHOWN),
        ).fetchall()
        keys = sorted(key for (key,) in rows)
        if not keys:
            near = self._run_ids_by_prefix(run_id)
            if len(near) == 1 and not exact:
                return near[0]
            raise NotKnown("run", run_id, near, "Write the run id as its events do; `headwater events` lists them.")
        if len(keys) > 1:
            raise WrongQuestion(
                f"Run id {run_id[:200]!r} is used by {len(keys)} jobs. Ask for one of these: {', '.join(keys)}."
            )
        return str(keys[0])

    def _run_ids_by_prefix(self, prefix: str) -> list[str]:
        """Return the keys of runs with events that have an id with this prefix, at most five.

        The prefix is supported because pages and tables show only the start of an id.
        """
        text, is_cut = parse_id_prefix(prefix)
        if not text:
            return []
        no_uuid = msgspec.json.encode([text]).decode()[:-2] if is_cut else text.lower()
        query = (
            "SELECT key FROM run_keys k WHERE ((key >= ?1 AND key < ?1 || char(0x10FFFF)) "
            "OR (key >= ?2 AND key < ?2 || char(0x10FFFF))) "
            "AND EXISTS (SELECT 1 FROM event_facts WHERE run = k.id) ORDER BY key LIMIT ?3"
        )
        return [key for (key,) in self._sql.execute(query, (text.lower(), no_uuid, _MAX_SIMILAR))]

    def newest_schema_hash(self, dataset: Name) -> str | None:
        """Return the content hash of a dataset's newest schema, or None without a schema."""
        return self._live.schema(dataset)

    def event_places(self, key: str, limit: int) -> set[EventPlace]:
        """Return the places in bronze of a run's newest events, at most `limit`. key: the run key."""
        rows = self._sql.execute(
            "SELECT s.log, s.incarnation, s.part, p.sequence FROM run_keys k JOIN event_facts p ON p.run = k.id "
            "JOIN partitions s ON s.id = p.place WHERE k.key = ? ORDER BY p.time_us DESC LIMIT ?",
            (key, limit),
        )
        return set(rows)

    def merged_run(self, key: str) -> Run:
        """Return a run, merged from all its events."""
        facts = RunFactsTable(self._sql, RunNumbers(self._sql)).facts([key])
        return merge_run(next(iter(facts.values())), self._live.naming)

    def find_run(self, run_id: str) -> tuple[str, RunEventPlaces]:
        """Return the key of a run and the places in bronze of its events that a question needs.

        run_id: the id as sent. If it is not a UUID and several jobs used it, pass the JSON `["id","namespace","job"]`.
        Raises the same errors as `find_run_key`.
        """
        key = self.find_run_key(run_id)
        rows = self._sql.execute(
            "SELECT s.log, s.incarnation, s.part, p.sequence FROM run_keys k JOIN event_facts p ON p.run = k.id "
            "JOIN partitions s ON s.id = p.place WHERE k.key = ? ORDER BY p.time_us DESC, p.event LIMIT ?",
            (key, _MAX_EVENTS),
        ).fetchall()
        return key, RunEventPlaces(
            newest_facet_places(self._sql, key, RUN), newest_facet_places(self._sql, key, JOB), {*rows}
        )

    def datasets_read_by(self, key: str) -> Iterator[Name]:
        """Yield the datasets that a run read according to its lineage, because some producers omit inputs (rule 5)."""
        query = (
            "SELECT DISTINCT d.name FROM run_keys k JOIN candidates v ON v.run = k.id "
            "JOIN edges e ON e.edge_set = v.edge_set JOIN reads d ON d.read_set = e.read_set WHERE k.key = ?"
        )
        return (self._names.name(number) for (number,) in self._sql.execute(query, (key,)))

    def rewrite_source(self, dataset: Name, key: str) -> RewriteEvidence | None:
        """Return how Headwater knows that a run replaced all rows of a dataset (rule 6.7), or None if it did not."""
        return self._live.rewrite_source(dataset, key)

    def unread_sql_reasons(self, key: str) -> dict[Name, str]:
        """Return, by written dataset, why the SQL of a run yields no or incomplete lineage for the dataset.

        Datasets with complete lineage are left out.
        """
        query = (
            "SELECT e.value, e.inputs FROM run_keys k JOIN candidates v ON v.run = k.id "
            "JOIN edges e ON e.edge_set = v.edge_set WHERE k.key = ?"
        )
        lineages = (self._lists.unpack_edges_and_inputs(*row) for row in self._sql.execute(query, (key,)).fetchall())
        return {
            each.output.without_generation: each.unread_sql_reason
            for each in lineages
            if each.output and each.unread_sql_reason
        }

    def previous_writer(self, dataset: Name, time_us: int, excluded_key: str) -> RelatedRun | None:
        """Return the newest run that wrote a dataset at or before a time (us), or None if there is none.

        excluded_key: the key of a run that is ignored.
        """
        row = self._sql.execute(
            "SELECT k.key, v.time_us, r.job FROM job_outputs g JOIN candidates v ON v.job_output = g.id "
            "JOIN runs r ON r.run = v.run "
            "JOIN run_keys k ON k.id = v.run WHERE g.output = ? AND +g.layer = 'observed' AND v.time_us <= ? "
            f"AND k.key <> ? ORDER BY {NEWEST_WRITE} LIMIT 1",
            (self._number_of_name(dataset), time_us, excluded_key),
        ).fetchone()
        return self._related_run(*row) if row else None

    def readers_until_next_write(self, dataset: Name, time_us: int) -> Iterator[RelatedRun]:
        """Yield the runs that read a dataset between a time (us) and the next write of the dataset, at most 20."""
        number = self._number_of_name(dataset)
        next_write = self._sql.execute(
            "SELECT min(v.time_us) FROM job_outputs g JOIN candidates v ON v.job_output = g.id "
            "WHERE g.output = ? AND +g.layer = 'observed' AND v.time_us > ?",
            (number, time_us),
        ).fetchone()[0]
        rows = self._sql.execute(
            "SELECT DISTINCT k.key, v.time_us, r.job FROM reads d JOIN edges e ON e.read_set = d.read_set "
            "JOIN candidates v ON v.edge_set = e.edge_set "
            "JOIN runs r ON r.run = v.run JOIN run_keys k ON k.id = v.run "
            "WHERE d.name = ? AND v.time_us >= ? AND v.time_us <= ? ORDER BY v.time_us LIMIT ?",
            (number, time_us, next_write or 1 << 62, SHOWN),
        )
        return (self._related_run(*row) for row in rows)

    def runs_of_execution(self, key: str, limit: int) -> Iterator[RelatedRun]:
        """Yield the runs that belong to an execution, newest first. key: the run key of the execution."""
        rows = self._sql.execute(
            "SELECT k.key, r.time_us, r.job, r.state FROM run_keys e JOIN runs r ON r.execution = e.id "
            "AND r.execution <> r.run JOIN run_keys k ON k.id = r.run WHERE e.key = ?1 "
            "ORDER BY r.time_us DESC LIMIT ?2",
            (key, limit),
        )
        return (self._related_run(*row) for row in rows)

    def dataset_candidates(self, dataset: Name) -> Iterator[tuple[str, Name, list[Candidate[Sequence[int]]]]]:
        """Yield (layer, job, candidates) for each job output of a dataset.

        The candidates are what runs of the job reported, newest first. They contain numbers of edge sets. If a list has
        `SCAN_LIMIT` + 1 candidates, there are more.
        """
        query = "SELECT id, layer, job FROM job_outputs WHERE output = ? AND +layer <> 'attempted'"
        for name in self._names.generations(dataset):
            for job_output, layer, job in self._sql.execute(query, (self._number_of_name(name),)).fetchall():
                rows = self._sql.execute(_CANDIDATES, (job_output,))
                yield layer, self._names.name(job), [Candidate._make((*row[:-1], row[-1:])) for row in rows]

    def output_lineage(self, edge_set: int) -> OutputLineage:
        """Return an edge set by its number."""
        query = "SELECT value, inputs FROM edges WHERE edge_set = ?"
        return self._lists.unpack_edges_and_inputs(*self._sql.execute(query, (edge_set,)).fetchone())

    def run_key_of(self, run: int) -> str:
        """Return the key of a run by its number."""
        return str(self._sql.execute("SELECT key FROM run_keys WHERE id = ?", (run,)).fetchone()[0])

    def job_key_of_run(self, key: str) -> Name | None:
        """Return the key of a run's job, or None if the run is unknown."""
        query = "SELECT r.job_key FROM run_keys k JOIN runs r ON r.run = k.id WHERE k.key = ?"
        row = self._sql.execute(query, (key,)).fetchone()
        return self._names.name(row[0]) if row else None

    def _number_of_name(self, name: Name) -> int:
        return self._names.find_number(name) or 0

    def _related_run(self, key: str, time_us: int, job: int, state: str = "") -> RelatedRun:
        return RelatedRun(key, time_us, self._names.name(job), state)


_CHILDREN = (
    "WITH child(run) AS (SELECT run FROM runs WHERE parent = ?1 AND run <> ?1 "
    "UNION SELECT r.parent FROM runs r WHERE r.execution = ?1 AND r.run <> ?1 AND r.parent <> ?1 "
    "AND NOT EXISTS (SELECT 1 FROM runs p WHERE p.run = r.parent)) "
)
"""Selects the children of a run. The second half adds runs without events between an execution and its runs."""

_NODE = (
    "SELECT k.id, k.key, r.state, coalesce(r.started_us, (SELECT min(c.started_us) FROM runs c WHERE c.parent = k.id)) "
    "AS began, r.ended_us, (SELECT count(*) FROM runs c WHERE c.parent = k.id AND c.run <> k.id), r.parent, "
    "r.execution, coalesce(r.job, (SELECT j.parent FROM runs c JOIN jobs j ON j.key = c.job_key "
    "WHERE c.parent = k.id LIMIT 1)) "
)
_MAX_ANCESTORS = 32
"""The maximum number of ancestors that are read."""


class TreeRun(NamedTuple):
    """A run in the tree. Times are in microseconds, UTC.

    job, state: None if unknown, for example for a run without events. child_count: the number of runs with this run as
    parent. parent_number, execution_number: the numbers of the parent run and of the execution.
    """

    number: int
    key: str
    state: str | None
    started_us: int | None
    ended_us: int | None
    child_count: int
    parent_number: int | None
    execution_number: int | None
    job: Name | None


class RunTree:
    """The tree of runs in one generation of the index."""

    def __init__(self, live: LiveGraph):
        """Read from `live`, which must not be refreshed while this object is in use."""
        self._live, self._sql, self._names = live, live.sql, live.names

    def find_run(self, run_id: str) -> TreeRun:
        """Return a run by its id, even if it has no events and other runs only name it as parent or root.

        Raises the same errors as `RunHistory.find_run_key`.
        """
        try:
            key = RunHistory(self._live).find_run_key(run_id)
        except NotKnown:
            key = run_id.lower()
            named = (
                "SELECT 1 FROM run_keys k JOIN runs r ON r.parent = k.id OR r.execution = k.id WHERE k.key = ? LIMIT 1"
            )
            if not self._sql.execute(named, (key,)).fetchone():
                raise
        return self._query_run("k.key = ?", key)

    def ancestors(self, run: TreeRun) -> list[TreeRun]:
        """Return the ancestors of a run, the nearest first. The last one is the run's execution."""
        found = [run]
        while found[-1].parent_number is not None and len(found) <= _MAX_ANCESTORS:
            if any(each.number == found[-1].parent_number for each in found):
                break
            found.append(self._query_run("k.id = ?", found[-1].parent_number))
        roots = [each.execution_number for each in found if each.execution_number is not None]
        if roots and all(each.number != roots[-1] for each in found):
            found.append(self._query_run("k.id = ?", roots[-1]))
        return found[1:]

    def children_page(self, run: TreeRun, limit: int, offset: int) -> list[TreeRun]:
        """Return a page of a run's children, ordered by their start."""
        rows = self._sql.execute(
            f"{_CHILDREN} {_NODE} FROM child JOIN run_keys k ON k.id = child.run LEFT JOIN runs r ON r.run = k.id "
            "ORDER BY began, k.key LIMIT ?2 OFFSET ?3",
            (run.number, limit, offset),
        )
        return [self._from_row(row) for row in rows]

    def run_facets(self, runs: Sequence[TreeRun], names: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the decoded facets with these names, by run key and facet name.

        Runs that are not among the newest of their job are left out.
        """
        found = recent_facets(self._sql, [run.key for run in runs])
        return {
            key: {name: decode(text) for name, text in facets.items() if name in names} for key, facets in found.items()
        }

    def child_state_counts(self, run: TreeRun) -> Iterator[tuple[str | None, int]]:
        """Yield (state, number of a run's children in this state). The state is None for children without events."""
        query = (
            f"{_CHILDREN} SELECT r.state, count(*) FROM child LEFT JOIN runs r ON r.run = child.run GROUP BY r.state"
        )
        return iter(self._sql.execute(query, (run.number,)).fetchall())

    def _query_run(self, where: str, value: str | int) -> TreeRun:
        query = f"{_NODE} FROM run_keys k LEFT JOIN runs r ON r.run = k.id WHERE {where}"
        return self._from_row(self._sql.execute(query, (value,)).fetchone())

    def _from_row(self, row: tuple[Any, ...]) -> TreeRun:
        return TreeRun._make((*row[:-1], self._names.name(row[-1]) if row[-1] else None))
