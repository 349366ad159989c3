"""What people change through the API, as events: they go the way of every event, so they last and are replayed.

A change is a run of a job of ours, `headwater/api.CHANGE`, with a run facet `headwater_change` that says what of which
job it changes. What OpenLineage has words for is said in them alone: tags of datasets in a `tags` facet, the deletion
of a dataset as a DROP. Each tag has a producer of its own, because the newest tags facet of a producer replaces its
older ones (rule 8).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from msgspec import Raw

from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.newest_first import order_text
from headwater.lineage.runs.run_facts import RunFacts

FACET = "headwater_change"
NAMESPACE = "headwater"
"""Of the jobs that changes are runs of; lists leave it out."""

_PRODUCER = "urn:headwater:api"
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
Json = dict[str, Any]


class AnnouncedChange(NamedTuple):
    """A change of a job, dataset or tag; the newest of one (about, mark, detail) holds.

    mark: `deleted`, `tag` of a job with the tag as detail, or `described` of a tag; order: text that sorts like it.
    """

    about: Name
    mark: str
    detail: str
    order: str
    time_us: int
    value: str


def read_change(facets: Mapping[str, Raw], fact: RunFacts) -> AnnouncedChange | None:
    """Return the change that a run's facets say, None where they say none."""
    if FACET not in facets or fact.content.job.namespace != NAMESPACE:
        return None
    said = decode(bytes(facets[FACET]))
    mark = text_at(said, "mark")
    if mark is None:
        return None
    about = Name(text_at(said, "namespace") or "", text_at(said, "name") or "")
    about = job_key(about, None) if mark == "tag" or text_at(said, "kind") == "JOB" else about
    detail, value = text_at(said, "detail") or "", text_at(said, "value") or ""
    return AnnouncedChange(about, mark, detail, order_text(fact.order), fact.time_us, value)


def job_tagged(job: Name, tag: str, *, holds: bool) -> Json:
    """Return the event that puts a tag on a job, or takes it off."""
    return _change("tag_job", "tag", job, "JOB", detail=tag, value="true" if holds else "false")


def tag_described(tag: str, description: str) -> Json:
    """Return the event that makes a tag known."""
    return _change("create_tag", "described", Name("", tag), "TAG", value=description)


def job_deleted(job: Name) -> Json:
    """Return the event that hides a job until it runs again."""
    return _change("delete_job", "deleted", job, "JOB", value="true")


def dataset_deleted(dataset: Name) -> Json:
    """Return the event that drops a dataset: its edges are hidden until it is written again (rule 10)."""
    event = _change("delete_dataset", "deleted", dataset, "DATASET", value="true")
    drop = _facet(lifecycleStateChange="DROP")
    return {**event, "outputs": [{**dataset.shown, "facets": {"lifecycleStateChange": drop}}]}


def dataset_tagged(dataset: Name, column: str | None, tag: str, *, holds: bool) -> Json:
    """Return the event that puts a tag on a dataset or one of its columns, or takes it off."""
    told = {"key": tag, "value": "true", "source": "HEADWATER"} | ({"field": column} if column is not None else {})
    return {
        "eventTime": _now(),
        "producer": f"{_PRODUCER}:tag:{'' if column is None else column}:{tag}",
        "schemaURL": _SPEC + "DatasetEvent",
        "dataset": {**dataset.shown, "facets": {"tags": _facet(tags=[told] if holds else [])}},
    }


def _change(name: str, mark: str, about: Name, kind: str, **said: str) -> Json:
    return {
        "eventType": "COMPLETE",
        "eventTime": _now(),
        "producer": _PRODUCER,
        "schemaURL": _SPEC + "RunEvent",
        "run": {"runId": str(uuid4()), "facets": {FACET: _facet(mark=mark, kind=kind, **about.shown, **said)}},
        "job": {"namespace": NAMESPACE, "name": f"api.{name}"},
        "inputs": [],
        "outputs": [],
    }


def _facet(**members: Any) -> Json:
    return {"_producer": _PRODUCER, "_schemaURL": _SPEC + "BaseFacet", **members}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
