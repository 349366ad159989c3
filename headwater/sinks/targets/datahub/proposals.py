"""Convert runs, jobs and datasets to DataHub's proposals; pure functions. Rules D4 to D8 in docs/reference/sinks.md."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from headwater.events.rule_facets import text_at
from headwater.events.times import iso
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import job_key, run_key
from headwater.lineage.runs.run_facts import duration_us
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.merging.applications import engine_of
from headwater.sinks.merging.runs import MergedEvent, dicts, facet, symlinks
from headwater.sinks.targets.datahub.aspects import (
    MAX_PROPERTIES,
    MAX_TEXT_CHARS,
    Aspect,
    add_lineage,
    add_owners,
    add_tags,
    audit_stamp,
    escape_urn,
    platform_instance_proposal,
    properties,
    upsert,
)
from headwater.sinks.targets.datahub.datasets import dataset_aspects, named_tags, operation_aspects
from headwater.sinks.targets.datahub.lineage import Lineage, lineage_of
from headwater.sinks.targets.datahub.options import DataHubOptions
from headwater.sinks.targets.datahub.urns import DataHubUrns

_OWNER_TYPES = frozenset({
    "BUSINESS_OWNER", "CONSUMER", "CUSTOM", "DATAOWNER", "DATA_STEWARD", "DELEGATE", "DEVELOPER", "NONE", "PRODUCER",
    "STAKEHOLDER", "TECHNICAL_OWNER",
})  # fmt: skip
_OTHER_ASPECTS = frozenset({"documentation", "ownership", "tags", "lineage"})
"""Facets of a job that have their own aspect, or are lineage."""
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

    def build(self, merged: MergedEvent) -> list[Aspect]:
        """Return the proposals, flow and job first; equal events give equal proposals."""
        known = {name: self._urns.dataset(name, symlinks(facets)) for name, facets in merged.datasets.items()}
        found = lineage_of(merged, lambda name: known.get(name) or self._urns.of_name(name))
        proposals: list[Aspect] = []
        if merged.kind != "DATASET":
            orchestrator = self._given.orchestrator or engine_of(merged)
            flow = self._urns.flow(merged.job, orchestrator)
            job = self._urns.job(merged.job, flow)
            proposals += [*self._flow(merged, flow, orchestrator), *self._job(merged, job, orchestrator)]
            if merged.counts:
                proposals += self._related(job, "dataJobInputOutput", self._job_lineage(merged, found))
            if merged.kind == "RUN":
                proposals += run_aspects(merged, job, found.inputs, found.outputs)
                proposals += operation_aspects(merged, known, {*found.outputs})
        if self._given.materialize:
            proposals += self._datasets(merged, known, found)
        return proposals

    def _flow(self, merged: MergedEvent, flow: str, orchestrator: str) -> Iterator[Aspect]:
        engine = {name: raw for name, raw in merged.of_run.items() if name == "processing_engine"}
        name = self._given.flow_name or job_key(merged.job, None).name.split(".", 1)[0]
        yield upsert(
            flow, "dataFlowInfo", {"name": name, "customProperties": properties(engine) | flow_properties(merged)}
        )
        yield upsert(flow, "status", {"removed": False})
        yield self._instance(flow, orchestrator)
        yield from add_tags(flow, self._given.tags)
        if self._given.domains:
            yield upsert(flow, "domains", {"domains": [*self._given.domains]})

    def _job(self, merged: MergedEvent, job: str, orchestrator: str) -> Iterator[Aspect]:
        name = job_key(merged.job, None).name
        times = {"startTime": iso(merged.started_us), "endTime": iso(merged.ended_us)} if merged.kind == "RUN" else {}
        described = properties({key: raw for key, raw in merged.of_job.items() if key not in _OTHER_ASPECTS})
        info: Aspect = {
            "name": name.split(".", 1)[-1] or name,
            "type": {"string": orchestrator},
            "customProperties": described | job_properties(merged) | {key: time for key, time in times.items() if time},
            "created": {"time": merged.first_event_us // 1000},
        }
        text = facet(merged.of_job, "documentation").get("description")
        yield upsert(job, "dataJobInfo", info | ({"description": text} if isinstance(text, str) else {}))
        yield upsert(job, "status", {"removed": False})
        yield self._instance(job, orchestrator)
        yield from add_tags(job, named_tags(merged.of_job))
        yield from add_owners(job, _owners(merged.of_job))

    def _instance(self, urn: str, orchestrator: str) -> Aspect:
        return platform_instance_proposal(
            urn, f"urn:li:dataPlatform:{escape_urn(orchestrator)}", self._given.flow_instance
        )

    def _job_lineage(self, merged: MergedEvent, found: Lineage) -> Aspect:
        parents = [self._given.parent_job] if self._given.parent_job else []
        return {
            "inputDatasets": [],
            "outputDatasets": [],
            "inputDatasetEdges": _edges(found.inputs, merged),
            "outputDatasetEdges": _edges(found.outputs, merged),
            "inputDatajobEdges": _edges(parents, merged),
            "fineGrainedLineages": [fine for _, of_one in sorted(found.columns.items()) for fine in of_one],
        }

    def _datasets(self, merged: MergedEvent, known: dict[Name, str], found: Lineage) -> Iterator[Aspect]:
        for name, facets in merged.datasets.items():
            instance, masked = self._urns.instance(name), found.masked.get(known[name], ())
            yield from dataset_aspects(
                known[name], facets, instance, merged.last_event_us, schemas=self._given.schemas, masked=masked
            )
        for output in found.outputs if merged.counts else ():
            upstreams = [
                {"auditStamp": audit_stamp(merged.last_event_us), "dataset": each, "type": "TRANSFORMED"}
                for each in found.upstreams[output]
            ]
            if upstreams:
                aspect = {"upstreams": upstreams, "fineGrainedLineages": found.columns.get(output, [])}
                yield from self._related(output, "upstreamLineage", aspect)

    def _related(self, urn: str, name: str, aspect: Aspect) -> Iterable[Aspect]:
        return add_lineage(urn, name, aspect) if self._given.patch else [upsert(urn, name, aspect)]


def _edges(urns: Iterable[str], merged: MergedEvent) -> list[Aspect]:
    return [{"destinationUrn": urn, "lastModified": audit_stamp(merged.last_event_us)} for urn in urns]


def _owners(of_job: Facets) -> list[tuple[str, str]]:
    """Return owners as URN and type: `group:NAME` and `team:NAME` are groups, all others are users."""
    found = []
    for each in dicts(facet(of_job, "ownership").get("owners")):
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
    """Return the properties of a flow: its engine, Spark's properties, Airflow's DAG."""
    return _texts([*_engine(merged), *_part(facet(merged.of_run, "airflow"), "dag")])


def job_properties(merged: MergedEvent) -> dict[str, str]:
    """Return the properties of a job: its engine and type, Spark's properties and job, Airflow's task."""
    kind, job = facet(merged.of_job, "jobType"), facet(merged.of_run, "spark_jobDetails")
    return _texts([
        *_engine(merged),
        *((name, kind.get(name)) for name in _JOB_TYPE),
        *((name, job.get(name)) for name in _SPARK_JOB),
        *_part(facet(merged.of_run, "airflow"), "task"),
    ])  # fmt: skip


def _engine(merged: MergedEvent) -> Iterator[tuple[str, Any]]:
    engine, versions = facet(merged.of_run, "processing_engine"), facet(merged.of_run, "spark_version")
    yield from ((key, engine.get(name)) for name, key in _ENGINE.items())
    yield from ((name, versions.get(name)) for name in _SPARK_VERSIONS)
    yield from _part(facet(merged.of_run, "spark_properties"), "properties")


def _part(members: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    part = members.get(name)
    yield from part.items() if isinstance(part, dict) else ()


def _texts(members: list[tuple[str, Any]]) -> dict[str, str]:
    plain = [(key, value) for key, value in members if value is not None and not isinstance(value, (dict, list))]
    texts = ((key, value if isinstance(value, str) else msgspec.json.encode(value).decode()) for key, value in plain)
    return {key: text[:MAX_TEXT_CHARS] for key, text in [*texts][:MAX_PROPERTIES] if not key.startswith("_")}


def run_urn(run_id: str, job: Name) -> str:
    """Return the URN of a run; run ids that are not UUIDs repeat between jobs, so the URN then includes the job."""
    key = run_key(run_id, job)
    return f"urn:li:dataProcessInstance:{key if key[0] != '[' else hashlib.sha256(key.encode()).hexdigest()[:32]}"


def run_aspects(merged: MergedEvent, job: str, inputs: Sequence[str], outputs: Sequence[str]) -> Iterator[Aspect]:
    """Yield the proposals for a run of a job; inputs and outputs are URNs of datasets."""
    urn = run_urn(merged.run_id or "", merged.job)
    if inputs:
        yield upsert(urn, "dataProcessInstanceInput", {"inputs": [*inputs]})
    if outputs:
        yield upsert(urn, "dataProcessInstanceOutput", {"outputs": [*outputs]})
    described = {name: raw for name, raw in merged.of_run.items() if name not in _NOT_PROPERTIES}
    yield upsert(
        urn, "dataProcessInstanceProperties",
        {
            "name": merged.run_id,
            "created": audit_stamp(merged.first_event_us),
            "customProperties": properties(described) | {"producer": merged.producer},
        } | ({"type": "STREAMING"} if merged.is_streaming else {}),
    )  # fmt: skip
    yield upsert(urn, "dataProcessInstanceRelationships", _relations(merged, job))
    if merged.started_us is not None:
        started = {"timestampMillis": merged.started_us // 1000, "status": "STARTED"}
        yield upsert(urn, "dataProcessInstanceRunEvent", started)
    if merged.state and merged.ended_us is not None:
        yield upsert(urn, "dataProcessInstanceRunEvent", _run_end(merged.state, merged.started_us, merged.ended_us))


def _run_end(state: str, started_us: int | None, ended_us: int) -> Aspect:
    """Return how a run ended; without an earlier start it has no duration."""
    took_us = duration_us(started_us, ended_us)
    return {
        "timestampMillis": ended_us // 1000,
        "status": "COMPLETE",
        "result": {"type": "SUCCESS" if state == "COMPLETE" else "FAILURE", "nativeResultType": state},
    } | ({} if took_us is None else {"durationMillis": took_us // 1000})


def _relations(merged: MergedEvent, job: str) -> Aspect:
    found: Aspect = {"parentTemplate": job, "upstreamInstances": []}
    parent = facet(merged.of_run, "parent")
    run_id, namespace, name = (
        text_at(parent, *path) for path in (("run", "runId"), ("job", "namespace"), ("job", "name"))
    )
    job_of_parent = Name(namespace or "", name or "")
    return found | ({"parentInstance": run_urn(run_id, job_of_parent)} if run_id else {})
