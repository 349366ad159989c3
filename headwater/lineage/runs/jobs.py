"""The keys of jobs and runs (rules 1.4 and 3.1), the levels of jobs (3.2 to 3.4), and retired jobs (6.11)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Literal, NamedTuple, get_args

import msgspec

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import RunFacts

_GUID = r"[0-9a-fA-F]{8}([-_])[0-9a-fA-F]{4}\2[0-9a-fA-F]{4}\2[0-9a-fA-F]{4}\2[0-9a-fA-F]{12}"
_SESSION = re.compile(rf"([^.]*[^.\-_])[-_]+{_GUID}(?=\.|\Z)")


@lru_cache(100_000)
def job_key(job: Name, artifact: str | None) -> Name:
    """Return the key of a job. A job has the same key in all sessions; each statement of a notebook has its own key.

    job: the canonical name of the job.
    artifact: Fabric's `trident.artifact.id`, which stays the same if a notebook is renamed; None without one.
    """
    job = job.shortened
    found = _SESSION.match(job.name)
    name = job.name[: found.end(1)] + job.name[found.end() :] if found else job.name
    if artifact is None:
        return Name(job.namespace, name)
    _, dot, statement = name.partition(".")
    return Name(job.namespace, f"{artifact}{dot}{statement}")


def run_key(run_id: str, job: Name) -> str:
    """Return the key of a run: its id in lower case if the id is a UUID, else a JSON list of the id and the job.

    Ids that are not UUIDs may repeat in other jobs.
    """
    if _UUID.fullmatch(run_id):
        return run_id.lower()
    return msgspec.json.encode([run_id, *job.shortened.parts]).decode()


def run_id_of(key: str) -> str:
    """Return the id of the run with a key. A UUID is in lower case; any other id is as sent."""
    return str(msgspec.json.decode(key)[0]) if key.startswith("[") else key


def is_uuid(run_id: str) -> bool:
    """Tell whether a run id is a UUID. In lower case, a UUID is the key of its run."""
    return _UUID.fullmatch(run_id) is not None


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_ctas_statement(job: Name) -> bool:
    """Tell whether a job name shows that runs of the job are a CREATE or REPLACE TABLE AS SELECT (rule 4.7).

    Spark reports such a statement as two runs. This is the run of the statement; the other run writes the rows.
    """
    return _CTAS_STATEMENT.search(job.name) is not None


def is_rdd_job(job: Name) -> bool:
    """Tell whether Spark's listener repeats the inputs of a job as outputs (rule 11.2). The job name decides.

    This concerns jobs over RDDs, and the separate run that only shows the result of a command.
    """
    return _RDD_JOB.search(job.name) is not None


_RDD_JOB = re.compile(r"(?:^|\.)(?:scan_existing_rdd|command_result|\w*(?:map_partitions|parallel_collection))")
_CTAS_STATEMENT = re.compile(r"(?:^|\.)(?:atomic_)?(?:create|replace)\w*_table_as_select(?:_command|_exec)?(?:\.|$)")


MIN_PREFIX_LENGTH = 4
"""The minimum length of a shortened run id, because a shorter text that is unique today may be ambiguous tomorrow."""


def parse_id_prefix(run_id: str) -> tuple[str, bool]:
    """Return (run id without `…` or `...` at its end, whether the text had this mark).

    The id is empty if it is shorter than `MIN_PREFIX_LENGTH`. A UUID may be shortened without a mark. Any other id must
    have the mark, because `load-1` may be a complete id although there is also an id `load-10`.
    """
    text = run_id.strip().removesuffix("...").rstrip("…")
    is_cut = text != run_id.strip()
    return (text, is_cut) if len(text) >= MIN_PREFIX_LENGTH else ("", is_cut)


JobLevel = Literal["statement", "job", "application", "task", "dag"]
"""The levels of jobs, from the lowest to the highest."""

_LEVELS = get_args(JobLevel)
_LEVEL_BY_JOB_TYPE: dict[str, JobLevel] = {
    **dict.fromkeys(("SQL_JOB", "RDD_JOB", "QUERY", "COMMAND", "MODEL", "SNAPSHOT", "SEED", "TEST"), "statement"),
    "JOB": "job",
    "APPLICATION": "application",
    "TASK": "task",
    "DAG": "dag",
}
"""The level for each value of `jobType.jobType` that Spark, dbt, Flink and Airflow send."""

_LEVEL_ABOVE: dict[JobLevel, JobLevel] = {
    "statement": "application", "job": "task", "application": "task", "task": "dag", "dag": "dag",
}  # fmt: skip
_MAX_ANCESTORS = 32
"""The maximum number of ancestors that `job_ancestors` follows."""

FoldJob = Callable[[Name], Name]
"""(key of a job) → key of the job that represents the job"""


class JobPosition(NamedTuple):
    """The position of a job in the hierarchy of jobs. The newest run of the job decides.

    job_type: the `jobType.jobType` of the job; empty without one.
    parent: the job of the parent run; None without one.
    root: the job of the root run; None if this is the same job as the parent or the job itself.
    """

    job_type: str = ""
    parent: Name | None = None
    root: Name | None = None


class Ancestor(NamedTuple):
    """A job or one of the ancestors of the job, with the level of this job or ancestor."""

    job: Name
    level: JobLevel


def keep_job(job: Name) -> Name:
    """Return the job itself. This is the `FoldJob` that folds no jobs."""
    return job


def job_ancestors(job: Name, position_of: Callable[[Name], JobPosition]) -> list[Ancestor]:
    """Return a job and its ancestors, the nearest first.

    position_of: returns the position of a job.
    An ancestor without a known type is one level above the job that it started. If the root job is not among the
    parents, it is the last item, and without a known type it is a DAG.
    """
    found = [Ancestor(job, _level_of_type(position_of(job)) or "statement")]
    root = None
    while len(found) <= _MAX_ANCESTORS:
        here = position_of(found[-1].job)
        root = here.root or root
        if here.parent is None or any(each.job == here.parent for each in found):
            break
        found.append(Ancestor(here.parent, _level_of_type(position_of(here.parent)) or _LEVEL_ABOVE[found[-1].level]))
    if root is not None and all(each.job != root for each in found):
        found.append(Ancestor(root, _level_of_type(position_of(root)) or "dag"))
    return found


def fold_into_level(level: JobLevel, position_of: Callable[[Name], JobPosition]) -> FoldJob:
    """Return a function that replaces a job by its nearest ancestor of a level.

    If the job has no ancestor of this level, its highest ancestor below the level replaces it.
    """
    index = _LEVELS.index(level)

    @cache
    def fold(job: Name) -> Name:
        folded = job
        for each in job_ancestors(job, position_of):
            ancestor_level = _LEVELS.index(each.level)
            if ancestor_level <= index:
                folded = each.job
            if ancestor_level >= index:
                break
        return folded

    return fold if index else keep_job


def _level_of_type(position: JobPosition) -> JobLevel | None:
    return _LEVEL_BY_JOB_TYPE.get(position.job_type.upper())


RETIREMENT_PREFIX = "retires"
"""The prefix of the write sign (`EventContent.write_signs`) of a run that deletes a job or a namespace.

After the prefix follow the namespace and the name of the job. The name is empty if the run deletes the namespace.
"""

_SEPARATOR = "\0"


class RetiredJobs(NamedTuple):
    """The times at which jobs were last retired.

    times_us: the time (us), by job. A job with an empty name stands for all jobs of the namespace.
    """

    times_us: Mapping[Name, int]

    def __bool__(self) -> bool:
        """Tell whether any job or namespace was ever retired."""
        return bool(self.times_us)

    def retired_since_us(self, *names: Name) -> int | None:
        """Return the time (us) since which a job with these names is retired; None if the job is not retired."""
        spaces = (Name(name.namespace, "") for name in names)
        times = (self.times_us.get(name) for name in (*names, *spaces))
        return max((time_us for time_us in times if time_us is not None), default=None)


def newest_retirement_times(retired: Iterable[tuple[Name, int]]) -> RetiredJobs:
    """Return the newest time for each job. retired: (job, time in us); an empty job name means the whole namespace."""
    found: dict[Name, int] = {}
    for name, time_us in retired:
        found[name] = max(time_us, found.get(name, time_us))
    return RetiredJobs(found)


def retirement_sign(job: Name) -> str:
    """Return the write sign of a run that deletes a job. If the job name is empty, the run deletes the namespace."""
    return _SEPARATOR.join((RETIREMENT_PREFIX, *job.parts))


def deleted_jobs(fact: RunFacts) -> Iterator[Name]:
    """Yield the jobs that an event deletes, if its type is COMPLETE. An empty job name means the whole namespace."""
    signs = fact.content.write_signs if fact.type == "COMPLETE" else ()
    for sign in signs:
        if sign.startswith(RETIREMENT_PREFIX + _SEPARATOR):
            _, namespace, name = sign.split(_SEPARATOR, 2)
            yield Name(namespace, name)


def declared_retirements(retired: Mapping[Name, int], end_us: int | None) -> Iterator[tuple[Name, int]]:
    """Yield (job, time in us) for each job that `jobs.yaml` declares as retired at or before a time.

    end_us: this time, in microseconds; None if there is no event, so that no job is retired.
    """
    return ((job, time_us) for job, time_us in retired.items() if end_us is not None and time_us <= end_us)
