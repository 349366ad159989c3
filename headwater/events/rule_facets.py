"""Parses the facets that the rules read, whatever their structure. Values stay as sent."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from msgspec import DecodeError, Raw, Struct, json

from headwater.events.decode import decode
from headwater.events.event import SentSymlink, SentTag

T = TypeVar("T", bytes, Raw)

PARENT = ("parent", "parentRun")
"""Names of the facet with the parent run. Old producers send `parentRun`."""


class _RunFields(Struct, frozen=True, gc=False):
    runId: str | None = None  # noqa: N815 - the name on the wire


class _Job(Struct, frozen=True, gc=False):
    namespace: str | None = None
    name: str | None = None


class RunOfJob(Struct, frozen=True, gc=False):
    """A run in a facet, with its job."""

    run: _RunFields | None = None
    job: _Job | None = None

    def cells(self) -> tuple[str | None, str | None, str | None]:
        """Return (run id, job namespace, job name). Missing parts are None."""
        run, job = self.run or _NO_ID, self.job or _NO_JOB
        return run.runId, job.namespace, job.name


class Parent(RunOfJob, frozen=True, gc=False):
    """The parent run of a run. root: the root run of the chain of parents."""

    root: RunOfJob | None = None


_NO_ID, _NO_JOB = _RunFields(), _Job()
NO_RUN = RunOfJob()
_parent = json.Decoder(Parent)
_ODD = (DecodeError, UnicodeDecodeError, RecursionError)


class JobType(NamedTuple):
    """The facet `jobType` of a job. emission: `eventContentMode` in its `emissionPattern`."""

    processing_type: str | None = None
    integration: str | None = None
    emission: str | None = None


class Lifecycle(NamedTuple):
    """The lifecycle change of a dataset, and its previous name."""

    change: str | None = None
    previous_namespace: str | None = None
    previous_name: str | None = None


def text_at(value: Any, *path: str) -> str | None:
    """Return the text at a path of keys in a decoded value. Returns None if there is no text."""
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def parent_facet(facets: Mapping[str, T]) -> T | None:
    """Return the text of the facet `parent`, or else `parentRun`; None without both."""
    return next((found for name in PARENT if (found := facets.get(name)) and bytes(found) != b"null"), None)


def read_parent(raw: bytes) -> Parent:
    """Parse the run facet `parent`. Parts that are not valid become None.

    A fast typed decoder parses it first, because this facet differs per run and is not cached.
    """
    try:
        return _parent.decode(raw)
    except _ODD:
        value = decode(raw)
    found = _read_run_of_job(value)
    return Parent(found.run, found.job, _read_run_of_job(value.get("root") if isinstance(value, dict) else None))


def _read_run_of_job(value: Any) -> RunOfJob:
    run, job = (
        _RunFields(text_at(value, "run", "runId")),
        (text_at(value, "job", "namespace"), text_at(value, "job", "name")),
    )
    return RunOfJob(run, _Job(*job))


def read_artifact(value: Any) -> str | None:
    """Return the id of the run's Fabric item from the decoded run facet `spark_properties`, or None."""
    names = ("trident.artifact.id", "spark.trident.artifact.id")
    return next((found for name in names if (found := text_at(value, "properties", name))), None)


def read_job_type(value: Any) -> JobType:
    """Parse the job facet `jobType`."""
    emission = text_at(value, "emissionPattern", "eventContentMode")
    return JobType(text_at(value, "processingType"), text_at(value, "integration"), emission)


def read_lifecycle(value: Any) -> Lifecycle:
    """Parse the dataset facet `lifecycleStateChange`."""
    before = (text_at(value, "previousIdentifier", "namespace"), text_at(value, "previousIdentifier", "name"))
    return Lifecycle(text_at(value, "lifecycleStateChange"), *before)


def read_tags(value: Any) -> tuple[SentTag, ...] | None:
    """Parse the dataset facet `tags`.

    Returns None if the facet is not an object, and an empty tuple if it is deleted.
    """
    if not isinstance(value, dict):
        return None
    if value.get("_deleted") is True:
        return ()
    found = [
        (text_at(tag, "field"), text_at(tag, "key"), text_at(tag, "value")) for tag in _list_or_empty(value.get("tags"))
    ]
    return tuple(SentTag(field, key, text) for field, key, text in found if key)


def read_symlinks(value: Any) -> tuple[SentSymlink, ...]:
    """Parse the dataset facet `symlinks`."""
    found = _list_or_empty(value.get("identifiers")) if isinstance(value, dict) else []
    names = [tuple(text_at(item, part) for part in ("namespace", "name", "type")) for item in found]
    return tuple(
        SentSymlink(namespace, name, kind) for namespace, name, kind in names if namespace is not None and name
    )


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
