"""Rule 3: which job an event's job is, whatever session ran it."""

import re
from functools import lru_cache

import msgspec

from headwater.lineage.names.dataset_name import Name

_GUID = r"[0-9a-fA-F]{8}([-_])[0-9a-fA-F]{4}\2[0-9a-fA-F]{4}\2[0-9a-fA-F]{4}\2[0-9a-fA-F]{12}"
_SESSION = re.compile(rf"([^.]*[^.\-_])[-_]+{_GUID}(?=\.|\Z)")


@lru_cache(100_000)
def job_key(job: Name, artifact: str | None) -> Name:
    """Return the identity of a job: stable over sessions, apart for each statement of a notebook.

    artifact: Fabric's `trident.artifact.id`, which stays when a notebook is renamed.
    """
    job = job.cut
    found = _SESSION.match(job.name)
    name = job.name[: found.end(1)] + job.name[found.end() :] if found else job.name
    if artifact is None:
        return Name(job.namespace, name)
    _, dot, statement = name.partition(".")
    return Name(job.namespace, f"{artifact}{dot}{statement}")


def run_key(run_id: str, job: Name) -> str:
    """Return the identity of a run: producers that do not use UUIDs repeat their ids from job to job."""
    if _UUID.fullmatch(run_id):
        return run_id.lower()
    return msgspec.json.encode([run_id, *job.cut.parts]).decode()


def run_id_of(key: str) -> str:
    """Return a run's id as its producer sent it, a UUID in lower case."""
    return str(msgspec.json.decode(key)[0]) if key.startswith("[") else key


def is_uuid(run_id: str) -> bool:
    """Tell whether the id of a run is its key, as a UUID is."""
    return _UUID.fullmatch(run_id) is not None


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_statement_half(job: Name) -> bool:
    """Tell whether runs of a job are a CREATE or REPLACE TABLE AS SELECT, of which another run writes the rows."""
    return _STATEMENT.search(job.name) is not None


def is_rdd_step(job: Name) -> bool:
    """Tell whether runs of a job are steps of Spark for which its listener repeats what they read as their output.

    These are jobs over RDDs, and the plan that shows the result of a command, which has a run of its own.
    """
    return _RDD_STEP.search(job.name) is not None


_RDD_STEP = re.compile(r"(?:^|\.)(?:scan_existing_rdd|command_result|\w*(?:map_partitions|parallel_collection))")
_STATEMENT = re.compile(r"(?:^|\.)(?:atomic_)?(?:create|replace)\w*_table_as_select(?:_command|_exec)?(?:\.|$)")
