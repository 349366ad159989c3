"""What the facets of runs and jobs say that lineage needs; what recurs is worked out once for its text."""

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw

from headwater.events.decode import decode
from headwater.events.facet_sets import text_at
from headwater.events.facets import Memo
from headwater.events.wire import NULL, WireEvent
from headwater.lineage.jobs import run_key
from headwater.lineage.name import Name

Facets = dict[str, Raw]

_members = msgspec.json.Decoder(dict[str, Raw])


class Parent(NamedTuple):
    """What a `parent` facet says: the run that its run is part of (root run, else parent), the parent's job and run."""

    execution: str | None
    job: Name | None
    run: str | None


_NO_PARENT = Parent(None, None, None)


class JobFacets(NamedTuple):
    """What the facets of a job say: how it processes, whether by whole snapshots, whether it has a `lineage` facet."""

    processing: str | None
    snapshot: bool
    declares: bool


NO_JOB_FACETS = JobFacets(None, False, False)


class RunFacets:
    """Reads facets of runs and jobs. Not thread-safe."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._jobs: Memo[JobFacets] = Memo()
        self._parents: Memo[Parent] = Memo()
        self._artifacts: Memo[str | None] = Memo()

    def parent(self, of_run: Facets) -> Parent:
        """Return what the `parent` facet among the facets of a run says."""
        raw = of_run.get("parent")
        if raw is None:
            return _NO_PARENT
        text = bytes(raw)
        return self._parents.get(text) or self._parents.put(text, _read_parent(decode(text)))

    def of_job(self, raw: Raw) -> JobFacets:
        """Return what the facets of a job say."""
        text = bytes(raw)
        return self._jobs.get(text) or self._jobs.put(text, _read_job(raw))

    def artifact(self, of_run: Facets) -> str | None:
        """Return the id of the Fabric item that a run is of."""
        raw = of_run.get("spark_properties")
        text = bytes(raw) if raw else b""
        if b"trident.artifact.id" not in text:
            return None
        return self._artifacts.get(text) or self._artifacts.put(text, _read_artifact(decode(text)))


def run_facets(wire: WireEvent) -> Facets:
    """Return the facets of an event's run by name; none where it has no run."""
    return members(wire.run.facets) if wire.run is not UNSET else {}


def members(raw: Raw | None) -> Facets:
    """Return the facets of an object by name, undecoded; none for what is no object."""
    return _members.decode(raw) if raw and raw != NULL else {}


def _read_job(raw: Raw) -> JobFacets:
    facets = members(raw)
    job_type = facets.get("jobType", NULL)
    processing, snapshot = (None, False) if job_type == NULL else _read_job_type(decode(bytes(job_type)))
    return JobFacets(processing, snapshot, "lineage" in facets)


def _read_parent(value: Any) -> Parent:
    namespace, name = text_at(value, "job", "namespace"), text_at(value, "job", "name")
    job = Name(namespace, name) if namespace is not None and name else None
    parent = _run_at(value)
    return Parent(_run_at(value, "root") or parent, job, parent)


def _run_at(value: Any, *path: str) -> str | None:
    """Return the key of the run that a facet names."""
    run_id = text_at(value, *path, "run", "runId")
    of = Name(text_at(value, *path, "job", "namespace") or "", text_at(value, *path, "job", "name") or "")
    return run_key(run_id, of) if run_id else None


def _read_job_type(value: Any) -> tuple[str | None, bool]:
    processing = (text_at(value, "processingType") or "").upper()
    if processing not in ("STREAMING", "SERVICE"):
        processing = "STREAMING" if (text_at(value, "integration") or "").upper() == "FLINK" else "BATCH"
    mode = text_at(value, "emissionPattern", "eventContentMode") or ""
    return processing, mode.upper() == "COMPLETE_SNAPSHOT"


def _read_artifact(value: Any) -> str | None:
    names = ("trident.artifact.id", "spark.trident.artifact.id")
    return next((found for name in names if (found := text_at(value, "properties", name))), None)
