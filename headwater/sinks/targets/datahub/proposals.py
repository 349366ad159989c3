"""Convert runs, jobs and datasets to DataHub's proposals; pure functions. Rules D4 to D8 in docs/reference/sinks.md."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from headwater.events.rule_facets import text_at
from headwater.events.times import iso_time
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import job_key, run_key
from headwater.lineage.runs.run_facts import duration_us
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.merging.applications import engine_of
from headwater.sinks.merging.runs import MergedEvent, facet_members, objects_in_list, symlinks
from headwater.sinks.targets.datahub.aspects import (
    MAX_PROPERTIES,
    MAX_TEXT_CHARS,
    Aspect,
    add_lineage_proposals,
    add_owners_proposals,
    add_tags_proposals,
    audit_stamp,
    facet_properties,
    platform_instance_proposal,
    upsert_proposal,
)
from headwater.sinks.targets.datahub.datasets import dataset_aspects, operation_aspects, tags_of_entity
from headwater.sinks.targets.datahub.lineage import Lineage, lineage_of
from headwater.sinks.targets.datahub.options import DataHubOptions
from headwater.sinks.targets.datahub.urns import DataHubUrns, escape_urn

_OWNER_TYPES = frozenset({
    "BUSINESS_OWNER", "CONSUMER", "CUSTOM", "DATAOWNER", "DATA_STEWARD", "DELEGATE", "DEVELOPER", "NONE", "PRODUCER",
    "STAKEHOLDER", "TECHNICAL_OWNER",
})  # fmt: skip
_OTHER_ASPECTS = frozenset({"documentation", "ownership", "tags", "lineage"})
"""Facets of a job that are not sent as properties, because they are lineage or have an aspect of their own."""
_ENGINE = {
    "name": "processingEngine",
    "version": "processingEngineVersion",
    "openlineageAdapterVersion": "openlineageAdapterVersion",
}
_JOB_TYPE = ("processingType", "integration", "jobType")
_SPARK_JOB = ("jobId", "jobDescription", "jobGroup", "jobCallSite")
_SPARK_VERSIONS = ("spark-version", "openlineage-spark-version")
_NOT_PROPERTIES = ("parent", "lineage", "tags")
"""Facets of a run that are not sent as properties."""


class ProposalBuilder:
    """Build proposals with one sink's options."""

    def __init__(self, options: DataHubOptions) -> None:
        self._given = options
        self._urns = DataHubUrns(options)

    def build_proposals(self, merged: MergedEvent) -> list[Aspect]:
        """Return the proposals for a run, job or dataset, flow and job first; equal events give equal proposals."""
        known = {name: self._urns.dataset_urn(name, symlinks(facets)) for name, facets in merged.datasets.items()}
        found = lineage_of(merged, lambda name: known.get(name) or self._urns.of_name(name))
        proposals: list[Aspect] = []
        if merged.kind != "DATASET":
            orchestrator = self._given.orchestrator or engine_of(merged)
            flow = self._urns.flow_urn(merged.job, orchestrator)
            job = self._urns.job_urn(merged.job, flow)
            proposals += [
                *self._flow_proposals(merged, flow, orchestrator),
                *self._job_proposals(merged, job, orchestrator),
            ]
            if merged.has_counted_edges:
                proposals += self._lineage_proposals(job, "dataJobInputOutput", self._job_lineage_aspect(merged, found))
            if merged.kind == "RUN":
                proposals += run_aspects(merged, job, found.inputs, found.outputs)
                proposals += operation_aspects(merged, known, {*found.outputs})
        if self._given.materialize:
            proposals += self._dataset_proposals(merged, known, found)
        return proposals

    def _flow_proposals(self, merged: MergedEvent, flow: str, orchestrator: str) -> Iterator[Aspect]:
        engine = {name: raw for name, raw in merged.run_facets.items() if name == "processing_engine"}
        name = self._given.flow_name or job_key(merged.job, None).name.split(".", 1)[0]
        yield upsert_proposal(
            flow, "dataFlowInfo", {"name": name, "customProperties": facet_properties(engine) | flow_properties(merged)}
        )
        yield upsert_proposal(flow, "status", {"removed": False})
        yield self._instance_proposal(flow, orchestrator)
        yield from add_tags_proposals(flow, self._given.tags)
        if self._given.domains:
            yield upsert_proposal(flow, "domains", {"domains": [*self._given.domains]})

    def _job_proposals(self, merged: MergedEvent, job: str, orchestrator: str) -> Iterator[Aspect]:
        name = job_key(merged.job, None).name
        times = (
            {"startTime": iso_time(merged.started_us), "endTime": iso_time(merged.ended_us)}
            if merged.kind == "RUN"
            else {}
        )
        described = facet_properties({key: raw for key, raw in merged.job_facets.items() if key not in _OTHER_ASPECTS})
        info: Aspect = {
            "name": name.split(".", 1)[-1] or name,
            "type": {"string": orchestrator},
            "customProperties": described | job_properties(merged) | {key: time for key, time in times.items() if time},
            "created": {"time": merged.first_event_us // 1000},
        }
        text = facet_members(merged.job_facets, "documentation").get("description")
        yield upsert_proposal(job, "dataJobInfo", info | ({"description": text} if isinstance(text, str) else {}))
        yield upsert_proposal(job, "status", {"removed": False})
        yield self._instance_proposal(job, orchestrator)
        yield from add_tags_proposals(job, tags_of_entity(merged.job_facets))
        yield from add_owners_proposals(job, _owners_of_job(merged.job_facets))

    def _instance_proposal(self, urn: str, orchestrator: str) -> Aspect:
        return platform_instance_proposal(
            urn, f"urn:li:dataPlatform:{escape_urn(orchestrator)}", self._given.flow_instance
        )

    def _job_lineage_aspect(self, merged: MergedEvent, found: Lineage) -> Aspect:
        parents = [self._given.parent_job] if self._given.parent_job else []
        return {
            "inputDatasets": [],
            "outputDatasets": [],
            "inputDatasetEdges": _dataset_edges(found.inputs, merged),
            "outputDatasetEdges": _dataset_edges(found.outputs, merged),
            "inputDatajobEdges": _dataset_edges(parents, merged),
            "fineGrainedLineages": [fine for _, of_one in sorted(found.columns.items()) for fine in of_one],
        }

    def _dataset_proposals(self, merged: MergedEvent, known: dict[Name, str], found: Lineage) -> Iterator[Aspect]:
        for name, facets in merged.datasets.items():
            instance, masked = self._urns.instance_of(name), found.masked.get(known[name], ())
            yield from dataset_aspects(
                known[name], facets, instance, merged.last_event_us, schemas=self._given.schemas, masked=masked
            )
        for output in found.outputs if merged.has_counted_edges else ():
            upstreams = [
                {"auditStamp": audit_stamp(merged.last_event_us), "dataset": each, "type": "TRANSFORMED"}
                for each in found.upstreams[output]
            ]
            if upstreams:
                aspect = {"upstreams": upstreams, "fineGrainedLineages": found.columns.get(output, [])}
                yield from self._lineage_proposals(output, "upstreamLineage", aspect)

    def _lineage_proposals(self, urn: str, name: str, aspect: Aspect) -> Iterable[Aspect]:
        return add_lineage_proposals(urn, name, aspect) if self._given.patch else [upsert_proposal(urn, name, aspect)]


def _dataset_edges(urns: Iterable[str], merged: MergedEvent) -> list[Aspect]:
    return [{"destinationUrn": urn, "lastModified": audit_stamp(merged.last_event_us)} for urn in urns]


def _owners_of_job(of_job: Facets) -> list[tuple[str, str]]:
    """Return pairs of owner URN and type of ownership; `group:NAME` and `team:NAME` are groups, others are users."""
    found = []
    for each in objects_in_list(facet_members(of_job, "ownership").get("owners")):
        name, kind = each.get("name"), str(each.get("type") or "").upper()
        if isinstance(name, str) and name:
            found.append((_owner_urn(name), kind if kind in _OWNER_TYPES else "TECHNICAL_OWNER"))
    return found


def _owner_urn(name: str) -> str:
    if name.startswith("urn:li:corp"):
        return name
    of, _, bare = name.rpartition(":")
    return f"urn:li:corpGroup:{escape_urn(bare)}" if of in ("group", "team") else f"urn:li:corpuser:{escape_urn(bare)}"


def flow_properties(merged: MergedEvent) -> dict[str, str]:
    """Return the properties of a flow: engine and versions, Spark's properties and the members of Airflow's DAG."""
    return _members_as_text(
        [*_engine_members(merged), *_member_if_set(facet_members(merged.run_facets, "airflow"), "dag")]
    )


def job_properties(merged: MergedEvent) -> dict[str, str]:
    """Return the properties of a job: engine, job type, Spark's properties and job details, and Airflow's task."""
    kind, job = facet_members(merged.job_facets, "jobType"), facet_members(merged.run_facets, "spark_jobDetails")
    return _members_as_text([
        *_engine_members(merged),
        *((name, kind.get(name)) for name in _JOB_TYPE),
        *((name, job.get(name)) for name in _SPARK_JOB),
        *_member_if_set(facet_members(merged.run_facets, "airflow"), "task"),
    ])  # fmt: skip


def _engine_members(merged: MergedEvent) -> Iterator[tuple[str, Any]]:
    engine, versions = (
        facet_members(merged.run_facets, "processing_engine"),
        facet_members(merged.run_facets, "spark_version"),
    )
    yield from ((key, engine.get(name)) for name, key in _ENGINE.items())
    yield from ((name, versions.get(name)) for name in _SPARK_VERSIONS)
    yield from _member_if_set(facet_members(merged.run_facets, "spark_properties"), "properties")


def _member_if_set(members: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    part = members.get(name)
    yield from part.items() if isinstance(part, dict) else ()


def _members_as_text(members: list[tuple[str, Any]]) -> dict[str, str]:
    plain = [(key, value) for key, value in members if value is not None and not isinstance(value, (dict, list))]
    texts = ((key, value if isinstance(value, str) else msgspec.json.encode(value).decode()) for key, value in plain)
    return {key: text[:MAX_TEXT_CHARS] for key, text in [*texts][:MAX_PROPERTIES] if not key.startswith("_")}


def run_urn(run_id: str, job: Name) -> str:
    """Return the URN of a run.

    If the run id is not a UUID, different jobs may use it, so the URN is a hash of job and run id.
    """
    key = run_key(run_id, job)
    return f"urn:li:dataProcessInstance:{key if key[0] != '[' else hashlib.sha256(key.encode()).hexdigest()[:32]}"


def run_aspects(merged: MergedEvent, job: str, inputs: Sequence[str], outputs: Sequence[str]) -> Iterator[Aspect]:
    """Yield the proposals for a run. job: URN of its job. inputs, outputs: URNs of its datasets."""
    urn = run_urn(merged.run_id or "", merged.job)
    if inputs:
        yield upsert_proposal(urn, "dataProcessInstanceInput", {"inputs": [*inputs]})
    if outputs:
        yield upsert_proposal(urn, "dataProcessInstanceOutput", {"outputs": [*outputs]})
    described = {name: raw for name, raw in merged.run_facets.items() if name not in _NOT_PROPERTIES}
    yield upsert_proposal(
        urn, "dataProcessInstanceProperties",
        {
            "name": merged.run_id,
            "created": audit_stamp(merged.first_event_us),
            "customProperties": facet_properties(described) | {"producer": merged.producer},
        } | ({"type": "STREAMING"} if merged.is_streaming else {}),
    )  # fmt: skip
    yield upsert_proposal(urn, "dataProcessInstanceRelationships", _run_relations_aspect(merged, job))
    if merged.started_us is not None:
        started = {"timestampMillis": merged.started_us // 1000, "status": "STARTED"}
        yield upsert_proposal(urn, "dataProcessInstanceRunEvent", started)
    if merged.state and merged.ended_us is not None:
        yield upsert_proposal(
            urn, "dataProcessInstanceRunEvent", _run_event_aspect(merged.state, merged.started_us, merged.ended_us)
        )


def _run_event_aspect(state: str, started_us: int | None, ended_us: int) -> Aspect:
    """Return the run event for the end of a run; it has a duration only if the run started before its end."""
    took_us = duration_us(started_us, ended_us)
    return {
        "timestampMillis": ended_us // 1000,
        "status": "COMPLETE",
        "result": {"type": "SUCCESS" if state == "COMPLETE" else "FAILURE", "nativeResultType": state},
    } | ({} if took_us is None else {"durationMillis": took_us // 1000})


def _run_relations_aspect(merged: MergedEvent, job: str) -> Aspect:
    found: Aspect = {"parentTemplate": job, "upstreamInstances": []}
    parent = facet_members(merged.run_facets, "parent")
    run_id, namespace, name = (
        text_at(parent, *path) for path in (("run", "runId"), ("job", "namespace"), ("job", "name"))
    )
    job_of_parent = Name(namespace or "", name or "")
    return found | ({"parentInstance": run_urn(run_id, job_of_parent)} if run_id else {})
