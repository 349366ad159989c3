"""The parents, roots and original names of jobs, from their newest runs."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from headwater.events.decode import decode
from headwater.events.facet_digests import is_deleted
from headwater.events.rule_facets import parent_facet, text_at
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import JOB, json_array
from headwater.index.stored.run_facets import newest_task_facets, recent_facets
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import time_us_of_order_text
from headwater.lineage.runs.jobs import JobPosition, job_key
from headwater.lineage.runs.task_order import (
    DagOrder,
    OrderOfTasks,
    TaskOrder,
    order_of_tasks,
    read_dag_order,
    read_task_order,
)

_NEWEST = (
    "SELECT r.run, k.key, r.parent, r.execution, p.job_key, e.job_key FROM jobs j "
    "JOIN runs r ON r.run = j.newest JOIN run_keys k ON k.id = r.run "
    "LEFT JOIN runs p ON p.run = r.parent LEFT JOIN runs e ON e.run = r.execution WHERE j.key = ?"
)


class JobAncestry:
    """The ancestry of jobs in one generation of the index. Results are cached, so use one instance per answer."""

    def __init__(self, live: LiveGraph):
        """Read from `live`, which must not be refreshed while this object is in use."""
        self._live, self._sql, self._names = live, live.sql, live.names
        self.started = cache(self._type_and_parents)

    def orchestrated_jobs(self) -> list[Name]:
        """Return the jobs of type TASK or DAG. Only these can depend on each other through control flow."""
        rows = self._sql.execute(
            "SELECT j.key FROM newest_facets f JOIN facet_texts t ON t.id = f.value "
            "JOIN jobs j ON j.display_name = f.name "
            "WHERE f.kind = ? AND f.facet = 'jobType' AND (t.value LIKE '%\"TASK\"%' OR t.value LIKE '%\"DAG\"%')",
            (JOB,),
        )
        return sorted(self._names.name(key) for (key,) in rows)

    def jobs_by_display_name(self, namespace: str | None, name: str) -> list[Name]:
        """Return the keys of the jobs with this display name. namespace: None searches all namespaces."""
        where, values = ("AND n.namespace = ?", (name, namespace)) if namespace is not None else ("", (name,))
        rows = self._sql.execute(
            f"SELECT j.key FROM names n JOIN jobs j ON j.display_name = n.id WHERE n.name = ? {where}", values
        )
        return sorted(self._names.name(key) for (key,) in rows)

    def newest_run_facet(self, job: Name, facet: str) -> Any:
        """Return a decoded facet of a job's newest run. job: the job's key.

        Returns None if the run has no such facet, or if the index no longer contains the facets of the run.
        """
        row = self._sql.execute(_NEWEST, (self._number_of_name(job),)).fetchone()
        return self._run_facet(row[1], facet) if row else None

    def position_with_tasks(self, job: Name) -> JobPosition:
        """Return the position of a job. A task without events is below the DAG that lists it (rule 3.6)."""
        found, task = self.started(job), self.task_order().tasks.get(job)
        if task is None or found.parent is not None:
            return found
        return JobPosition(found.job_type or "TASK", task.dag, found.root)

    def group_of(self, job: Name) -> str | None:
        """Return the id of the task group of a job; None for a job that is no task, or a task outside of groups."""
        task = self.task_order().tasks.get(job)
        return task.group if task else None

    def task_order(self) -> OrderOfTasks:
        """Return the tasks of all Airflow DAGs and their order (rule 3.6). The result is cached until new events come.

        300 DAGs of 10 tasks take 0.2 s.
        """
        return self._live.cached_in_generation(
            "task order", lambda: order_of_tasks(self._dag_orders(), self._task_orders())
        )

    def _dag_orders(self) -> Iterator[DagOrder]:
        rows = self._sql.execute(
            "SELECT f.name, f.event_order, t.value FROM newest_facets f JOIN facet_texts t ON t.id = f.value "
            "WHERE f.kind = ? AND f.facet = 'airflow'",
            (JOB,),
        )
        for name, order, text in rows:
            raw = text.encode()
            found = None if is_deleted(raw) else decode(raw)
            if stated := read_dag_order(self._names.name(name), time_us_of_order_text(order), found):
                yield stated

    def _task_orders(self) -> Iterator[TaskOrder]:
        for job, started_us, text in newest_task_facets(self._sql, "airflow"):
            if stated := read_task_order(self._names.name(job), started_us, decode(text)):
                yield stated

    def _type_and_parents(self, job: Name) -> JobPosition:
        """Return the type, parent and root of a job by its key.

        If the parent has no events, its name comes from `parent` facets.
        """
        shown, named = self._sql.execute(
            "SELECT display_name, parent FROM jobs WHERE key = ?", (self._number_of_name(job),)
        ).fetchone() or (0, None)
        row = self._sql.execute(_NEWEST, (self._number_of_name(job),)).fetchone()
        kind = self._job_type(shown)
        if row is None or row[2] is None:
            return JobPosition(kind)
        run, key, parent, execution, parent_job, root_job = row
        above = parent_job or named
        is_further = execution not in (run, parent)
        root = (self._names.name(root_job) if root_job else self._root_job(key)) if is_further else None
        return JobPosition(kind, self._names.name(above) if above else None, root)

    def _job_type(self, display_name: int) -> str:
        row = self._sql.execute(
            "SELECT t.value FROM newest_facets f JOIN facet_texts t ON t.id = f.value "
            "WHERE f.kind = ? AND f.name = ? AND f.facet = 'jobType'",
            (JOB, display_name),
        ).fetchone()
        return text_at(decode(row[0].encode()), "jobType") or "" if row else ""

    def _root_job(self, run: str) -> Name | None:
        """Return the name of a run's root job from the run's `parent` facet.

        Returns None if the facet names no root job, or if the index no longer contains the facet.
        """
        text = parent_facet(recent_facets(self._sql, [run]).get(run, {}))
        facet = decode(text) if text else None
        namespace, name = (text_at(facet, "root", "job", word) for word in ("namespace", "name"))
        return job_key(Name(namespace, name), None) if namespace is not None and name else None

    def _run_facet(self, run: str, facet: str) -> Any:
        text = recent_facets(self._sql, [run]).get(run, {}).get(facet)
        return decode(text) if text else None

    def _number_of_name(self, name: Name) -> int:
        return self._names.find_number(name) or 0


_MOST = 20
_SCAN_LIMIT = 200
"""The maximum number of a job's newest runs that are read."""

_SENT = (
    "SELECT sent_job, max(time_us) AS last_us FROM (SELECT r.sent_job, r.time_us FROM jobs j JOIN runs r "
    "ON r.job_key = j.key WHERE j.display_name = ?1 ORDER BY r.time_us DESC LIMIT ?2) "
    "WHERE sent_job IS NOT NULL GROUP BY sent_job ORDER BY last_us DESC, sent_job LIMIT ?3"
)


def original_names(live: LiveGraph, job: Name) -> list[str]:
    """Return the sent names that the rules changed into a job's display name, newest first.

    job: the display name. Returns at most 20 names of the last 200 runs.
    """
    rows = live.sql.execute(_SENT, (live.names.find_number(job) or 0, _SCAN_LIMIT, _MOST))
    return [live.names.name(number).name for number, _ in rows]


_MAX_WRITERS = 20
_WRITERS = (
    "SELECT g.job, max(e.last_us) FROM edge_sets e JOIN job_outputs g ON g.id = e.job_output "
    "WHERE g.output IN (SELECT value FROM json_each(?)) AND +g.layer = 'observed' AND (e.live OR e.latest) "
    "GROUP BY g.job ORDER BY max(e.last_us) DESC, g.job LIMIT ?"
)
"""The `+` keeps SQLite from the index that begins with `layer`, with which it reads all job outputs."""


def current_writers(live: LiveGraph, dataset: Name) -> list[Name]:
    """Return the keys of the jobs whose observed lineage for a dataset counts now, the newest 20 first."""
    names = (dataset.without_generation, *live.names.generations(dataset.without_generation))
    numbers = [number for name in names if (number := live.names.find_number(name)) is not None]
    return [live.names.name(job) for job, _ in live.sql.execute(_WRITERS, (json_array(numbers), _MAX_WRITERS))]
