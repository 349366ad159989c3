"""Which run read what which run wrote."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec

from headwater.errors import NotKnown, WrongQuestion
from headwater.events.times import iso
from headwater.index.live import LiveGraph
from headwater.index.names import NameNumbers
from headwater.index.part_table import PartTable
from headwater.index.run_numbers import NEWEST_VOTE, RunNumbers
from headwater.lineage.name import Name
from headwater.lineage.run import Run, fold
from headwater.questions.showing import dataset_json, job_json

_SHOWN = 20
_CHILDREN = 200


def run_lineage(live: LiveGraph, run_id: str) -> dict[str, Any]:
    """Answer what a run read and who had written it, what it wrote and who read that before the next write, its parts.

    run_id: as sent; one that is no UUID and that several jobs used is the JSON `["id","namespace","job"]`.
    Raises NotKnown for a run that no event is of, WrongQuestion for an id of several.
    """
    sql, names = live.sql, live.names
    run = fold(next(iter(PartTable(sql, RunNumbers(sql)).parts([key_of_run(sql, run_id)]).values())), live.naming)
    children = list(_children(sql, names, run))
    return {
        "run": _run(run),
        "reads": [
            {**dataset_json(name), "written_by": _writer(sql, names, name, run)}
            for name in sorted({*run.inputs, *_read(sql, names, run)})
        ],
        "writes": [
            {**dataset_json(name), "read_by": list(_readers(sql, names, name, run))} for name in sorted(run.outputs)
        ],
        "children": children[:_CHILDREN],
        "truncated": len(children) > _CHILDREN,
    }


def key_of_run(sql: sqlite3.Connection, run_id: str) -> str:
    """Return the key of a run; JSON sorts behind its beginning, so that an index finds it.

    Raises NotKnown for a run that no event is of, WrongQuestion for an id of several.
    """
    begins = msgspec.json.encode([run_id]).decode()[:-1] + ","
    rows = sql.execute(
        "SELECT key FROM run_keys k WHERE (key IN (?1, ?2) OR (key >= ?3 AND key < ?4)) "
        "AND EXISTS (SELECT 1 FROM parts WHERE run = k.id) LIMIT ?5",
        (run_id.lower(), run_id, begins, begins[:-1] + "-", _SHOWN),
    ).fetchall()
    keys = sorted(key for (key,) in rows)
    if not keys:
        raise NotKnown("run", run_id, [], "Write the run id as its events do; `headwater events` lists them.")
    if len(keys) > 1:
        raise WrongQuestion(f"Run id {run_id[:200]!r} is of {len(keys)} jobs. Ask for one: {', '.join(keys)}.")
    return str(keys[0])


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.key,
        "job": job_json(run.job),
        "state": run.state,
        "execution": run.execution,
        "started": iso(run.started_us),
        "ended": iso(run.ended_us),
    }


def _read(sql: sqlite3.Connection, names: NameNumbers, run: Run) -> Iterator[Name]:
    """Yield what a run read by its column lineage: some producers report no inputs beside it (rule 5)."""
    query = (
        "SELECT DISTINCT d.name FROM run_keys k JOIN votes v ON v.run = k.id JOIN reads d ON d.edge_set = v.edge_set "
        "WHERE k.key = ?"
    )
    return (names.name(number) for (number,) in sql.execute(query, (run.key,)))


def _writer(sql: sqlite3.Connection, names: NameNumbers, dataset: Name, run: Run) -> dict[str, Any] | None:
    row = written_before(sql, names.known(dataset) or 0, run.time_us, run.key)
    return {"id": row[0], "time": iso(row[1]), "job": job_json(names.name(row[2]))} if row else None


def written_before(sql: sqlite3.Connection, dataset: int, time_us: int, run_key: str) -> tuple[str, int, int] | None:
    """Return the newest run that had written a dataset when another ended: its key, time (us), number of its job."""
    found: tuple[str, int, int] | None = sql.execute(
        "SELECT k.key, v.time_us, r.job FROM groups g JOIN votes v ON v.grp = g.id JOIN runs r ON r.run = v.run "
        "JOIN run_keys k ON k.id = v.run WHERE g.output = ? AND +g.layer = 'observed' AND v.time_us <= ? "
        f"AND k.key <> ? ORDER BY {NEWEST_VOTE} LIMIT 1",
        (dataset, time_us, run_key),
    ).fetchone()
    return found


def _readers(sql: sqlite3.Connection, names: NameNumbers, dataset: Name, run: Run) -> Iterator[dict[str, Any]]:
    """Yield runs that read a dataset after this run had written it, up to its next write."""
    number = names.known(dataset) or 0
    next_write = sql.execute(
        "SELECT min(v.time_us) FROM groups g JOIN votes v ON v.grp = g.id "
        "WHERE g.output = ? AND +g.layer = 'observed' AND v.time_us > ?",
        (number, run.time_us),
    ).fetchone()[0]
    rows = sql.execute(
        "SELECT DISTINCT k.key, v.time_us, r.job FROM reads d JOIN votes v ON v.edge_set = d.edge_set "
        "JOIN runs r ON r.run = v.run JOIN run_keys k ON k.id = v.run "
        "WHERE d.name = ? AND v.time_us >= ? AND v.time_us <= ? ORDER BY v.time_us LIMIT ?",
        (number, run.time_us, next_write or 1 << 62, _SHOWN),
    )
    for other, time_us, job in rows:
        yield {"id": other, "time": iso(time_us), "job": job_json(names.name(job))}


def _children(sql: sqlite3.Connection, names: NameNumbers, run: Run) -> Iterator[dict[str, Any]]:
    """Yield the runs of which this run is the execution, newest first; one more than are shown."""
    rows = sql.execute(
        "SELECT k.key, r.time_us, r.job, r.state FROM run_keys e JOIN runs r ON r.execution = e.id "
        "AND r.execution <> r.run JOIN run_keys k ON k.id = r.run WHERE e.key = ?1 ORDER BY r.time_us DESC LIMIT ?2",
        (run.key, _CHILDREN + 1),
    )
    for other, time_us, job, state in rows:
        yield {"id": other, "time": iso(time_us), "job": job_json(names.name(job)), "state": state}
