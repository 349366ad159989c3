"""Convert runs, jobs and datasets to DataHub's metadata change proposals; pure functions. D4 to D8, docs/sinks.md."""

from collections.abc import Iterable, Iterator

from headwater.events.times import iso
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.merging.merged_application import engine_of
from headwater.sinks.merging.merged_event import MergedEvent, dicts, facet, symlinks
from headwater.sinks.targets.datahub.aspects import (
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
from headwater.sinks.targets.datahub.datasets import dataset_aspects, named_tags
from headwater.sinks.targets.datahub.lineage import Lineage, lineage_of
from headwater.sinks.targets.datahub.operations import operations
from headwater.sinks.targets.datahub.options import DataHubOptions
from headwater.sinks.targets.datahub.properties import flow_properties, job_properties
from headwater.sinks.targets.datahub.runs import run_aspects
from headwater.sinks.targets.datahub.urns import DataHubUrns

_OWNER_TYPES = frozenset({
    "BUSINESS_OWNER", "CONSUMER", "CUSTOM", "DATAOWNER", "DATA_STEWARD", "DELEGATE", "DEVELOPER", "NONE", "PRODUCER",
    "STAKEHOLDER", "TECHNICAL_OWNER",
})  # fmt: skip
_TOLD = frozenset({"documentation", "ownership", "tags", "lineage"})
"""Facets of a job that have their own aspect, or are lineage."""


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
                proposals += operations(merged, known, {*found.outputs})
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
        described = properties({key: raw for key, raw in merged.of_job.items() if key not in _TOLD})
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
