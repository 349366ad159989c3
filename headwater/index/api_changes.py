"""Changes made through the API as OpenLineage events. They are stored and replayed like all other events.

A change is a run of an internal job, `headwater/api.CHANGE`. The run facet `headwater_change` describes the change.
Changes for which OpenLineage has its own terms use these terms: a `tags` facet tags a dataset, and a DROP deletes it.
Each tag of a dataset has its own producer, because the newest `tags` facet of a producer replaces its older facets
(rule 8).
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from msgspec import Raw, json

from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import order_text
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.runs.write_properties import CHANGE_FACET, CHANGE_NAMESPACE

FACET = CHANGE_FACET
NAMESPACE = CHANGE_NAMESPACE
"""The namespace of the internal jobs. Lists leave out the jobs in this namespace."""

_PRODUCER = "urn:headwater:api"
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_AT_ONCE = 1_000
"""The maximum number of datasets that one event drops."""

Json = dict[str, Any]


class ApiChange(NamedTuple):
    """A change of a job, dataset, tag, namespace or source.

    Of the changes with the same subject, operation and tag_or_column, only the newest applies.
    operation: `deleted`; `tag` (a job got or lost a tag); `described` (a tag was created); `namespace` or `source` (a
    namespace or data source was created). tag_or_column: for `deleted`, the kind of the subject, such as JOB; for
    `tag`, the tag. order: a text that sorts like the event. time_us: the event time (us, UTC). value: `true` or
    `false`, or the description.
    """

    subject: Name
    operation: str
    tag_or_column: str
    order: str
    time_us: int
    value: str


def read_change(facets: Mapping[str, Raw], fact: RunFacts) -> ApiChange | None:
    """Return the change in the facets of an internal job's run, or None if there is no valid change.

    facets: the run facets by name. fact: the facts of the event.
    """
    if FACET not in facets or fact.content.job.namespace != NAMESPACE:
        return None
    change = decode(bytes(facets[FACET]))
    mark = text_at(change, "mark")
    if mark is None:
        return None
    about = Name(text_at(change, "namespace") or "", text_at(change, "name") or "")
    about = job_key(about, None) if mark == "tag" or text_at(change, "kind") == "JOB" else about
    detail, value = text_at(change, "detail") or "", text_at(change, "value") or ""
    detail = text_at(change, "kind") or "" if mark == "deleted" else detail
    return ApiChange(about, mark, detail, order_text(fact.order), fact.time_us, value)


def job_tag_event(job: Name, tag: str, *, is_set: bool) -> Json:
    """Return the event that adds a tag to a job, or removes the tag if `is_set` is false."""
    return _change_event("tag_job", "tag", job, "JOB", detail=tag, value="true" if is_set else "false")


def tag_event(tag: str, description: str) -> Json:
    """Return the event that creates a tag with a description."""
    return _change_event("create_tag", "described", Name("", tag), "TAG", value=description)


def job_deletion_event(job: Name) -> Json:
    """Return the event that hides a job until it runs again."""
    return _change_event("delete_job", "deleted", job, "JOB", value="true")


def dataset_deletion_event(dataset: Name) -> Json:
    """Return the event that drops a dataset. The dataset's edges are hidden until it is written again (rule 10)."""
    return _with_dataset_drops(_change_event("delete_dataset", "deleted", dataset, "DATASET", value="true"), [dataset])


def namespace_deletion_events(namespace: str, datasets: Sequence[Name]) -> list[Json]:
    """Return the events that delete a namespace: first they drop its datasets, then they hide it and its jobs.

    The namespace is hidden until its next event. datasets: all datasets of the namespace.
    """
    change = partial(_change_event, "delete_namespace", "deleted", Name(namespace, ""), "NAMESPACE", value="true")
    drops = [_with_dataset_drops(change(), datasets[at : at + _AT_ONCE]) for at in range(0, len(datasets), _AT_ONCE)]
    return [*drops, change()]


def _with_dataset_drops(event: Json, datasets: Sequence[Name]) -> Json:
    drop = {"lifecycleStateChange": headwater_facet(lifecycleStateChange="DROP")}
    return {**event, "outputs": [{**dataset.as_json, "facets": drop} for dataset in datasets]}


def namespace_event(namespace: str, description: Json) -> Json:
    """Return the event that creates a namespace. description: its owner and description."""
    return _change_event("put_namespace", "namespace", Name(namespace, ""), "NAMESPACE", value=_to_json(description))


def source_event(source: str, description: Json) -> Json:
    """Return the event that creates a data source. description: its type, connectionUrl and description."""
    return _change_event("put_source", "source", Name("", source), "SOURCE", value=_to_json(description))


def dataset_tag_event(dataset: Name, column: str | None, tag: str, *, is_set: bool) -> Json:
    """Return the event that adds a tag to a dataset or column, or removes the tag if `is_set` is false.

    column: the tagged column, or None to tag the dataset.
    """
    entry = {"key": tag, "value": "true", "source": "HEADWATER"} | ({"field": column} if column is not None else {})
    return tags_event(dataset, f"{_PRODUCER}:tag:{'' if column is None else column}:{tag}", [entry] if is_set else [])


def tags_event(dataset: Name, producer: str, tags: Sequence[Json]) -> Json:
    """Return the event that replaces the tags that a producer gave to a dataset (rule 8).

    tags: the entries of the `tags` facet.
    """
    event = headwater_event("DatasetEvent", dataset={**dataset.as_json, "facets": {"tags": headwater_facet(tags=tags)}})
    return {**event, "producer": producer}


def headwater_event(kind: str, **members: Any) -> Json:
    """Return an event with Headwater as producer. kind: the OpenLineage type, such as `RunEvent`. members: the rest."""
    return {"eventTime": current_event_time(), "producer": _PRODUCER, "schemaURL": _SPEC + kind, **members}


def _change_event(name: str, operation: str, subject: Name, subject_type: str, **members: str) -> Json:
    run = {
        "runId": str(uuid4()),
        "facets": {FACET: headwater_facet(mark=operation, kind=subject_type, **subject.as_json, **members)},
    }
    job = {"namespace": NAMESPACE, "name": f"api.{name}"}
    return headwater_event("RunEvent", eventType="COMPLETE", run=run, job=job, inputs=[], outputs=[])


def _to_json(members: Json) -> str:
    return json.encode(members).decode()


def headwater_facet(**members: Any) -> Json:
    """Return a facet with Headwater as its producer."""
    return {"_producer": _PRODUCER, "_schemaURL": _SPEC + "BaseFacet", **members}


def current_event_time() -> str:
    """Return the current time in the format of events."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
