"""Rules 1.4 and 3.1: the keys of jobs and runs, which do not depend on the session."""

import re
from functools import lru_cache

import msgspec

from headwater.lineage.names.dataset_name import Name

_GUID = r"[0-9a-fA-F]{8}([-_])[0-9a-fA-F]{4}\2[0-9a-fA-F]{4}\2[0-9a-fA-F]{4}\2[0-9a-fA-F]{12}"
_SESSION = re.compile(rf"([^.]*[^.\-_])[-_]+{_GUID}(?=\.|\Z)")


@lru_cache(100_000)
def job_key(job: Name, artifact: str | None) -> Name:
    """Return the key of a job. It is the same in all sessions, and different for each statement of a notebook.

    artifact: Fabric's `trident.artifact.id`, which stays the same if a notebook is renamed.
    """
    job = job.cut
    found = _SESSION.match(job.name)
    name = job.name[: found.end(1)] + job.name[found.end() :] if found else job.name
    if artifact is None:
        return Name(job.namespace, name)
    _, dot, statement = name.partition(".")
    return Name(job.namespace, f"{artifact}{dot}{statement}")


def run_key(run_id: str, job: Name) -> str:
    """Return the key of a run. It contains the job if the id is not a UUID, because such ids repeat in other jobs."""
    if _UUID.fullmatch(run_id):
        return run_id.lower()
    return msgspec.json.encode([run_id, *job.cut.parts]).decode()


def run_id_of(key: str) -> str:
    """Return the id of a run from its key: as sent, a UUID in lower case."""
    return str(msgspec.json.decode(key)[0]) if key.startswith("[") else key


def is_uuid(run_id: str) -> bool:
    """Tell whether a run id is a UUID, and so the key of its run."""
    return _UUID.fullmatch(run_id) is not None


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_statement_half(job: Name) -> bool:
    """Tell whether runs of a job are the statement of a CREATE or REPLACE TABLE AS SELECT (rule 4.7).

    Another run, the other half, writes the rows.
    """
    return _STATEMENT.search(job.name) is not None


def is_rdd_step(job: Name) -> bool:
    """Tell whether runs of a job are steps of Spark whose listener repeats the inputs as outputs (rule 11.2).

    These are jobs over RDDs, and the plan that shows the result of a command, which is a separate run.
    """
    return _RDD_STEP.search(job.name) is not None


_RDD_STEP = re.compile(r"(?:^|\.)(?:scan_existing_rdd|command_result|\w*(?:map_partitions|parallel_collection))")
_STATEMENT = re.compile(r"(?:^|\.)(?:atomic_)?(?:create|replace)\w*_table_as_select(?:_command|_exec)?(?:\.|$)")
