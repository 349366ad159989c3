"""From what a run, a job or a dataset says to DataHub's metadata change proposals; pure. D4 to D8 of docs/sinks.md."""

from collections.abc import Iterable, Iterator

from headwater.events.times import iso
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.merging.merged_application import engine_of
from headwater.sinks.merging.merged_event import MergedEvent, dicts, facet, symlinks
from headwater.sinks.targets.datahub.datahub_aspects import (
    Aspect,
    add_lineage,
    add_owners,
    add_tags,
    instance_of,
    part,
    properties,
    stamp,
    upsert,
)
from headwater.sinks.targets.datahub.datahub_datasets import dataset_aspects, named_tags
from headwater.sinks.targets.datahub.datahub_lineage import Lineage, lineage_of
from headwater.sinks.targets.datahub.datahub_operations import operations
from headwater.sinks.targets.datahub.datahub_options import DataHubOptions
from headwater.sinks.targets.datahub.datahub_properties import engine_properties, known_properties
from headwater.sinks.targets.datahub.datahub_runs import run_aspects
from headwater.sinks.targets.datahub.datahub_urns import DataHubUrns

_OWNER_TYPES = frozenset({
    "BUSINESS_OWNER", "CONSUMER", "CUSTOM", "DATAOWNER", "DATA_STEWARD", "DELEGATE", "DEVELOPER", "NONE", "PRODUCER",
    "STAKEHOLDER", "TECHNICAL_OWNER",
})  # fmt: skip
_TOLD = frozenset({"documentation", "ownership", "tags", "lineage"})
"""Facets of a job that have an aspect, or are lineage."""


class Proposals:
    """What one sink's options make of events."""

    def __init__(self, options: DataHubOptions) -> None:
        """Begin with nothing remembered."""
        self._given = options
        self._urns = DataHubUrns(options)

    def of(self, said: MergedEvent) -> list[Aspect]:
        """Return the proposals, flow and job first; the same ones for the same events."""
        known = {name: self._urns.dataset(name, symlinks(facets)) for name, facets in said.datasets.items()}
        found = lineage_of(said, lambda name: known.get(name) or self._urns.of_name(name))
        proposals: list[Aspect] = []
        if said.kind != "DATASET":
            orchestrator = self._given.orchestrator or engine_of(said)
            flow = self._urns.flow(said.job, orchestrator)
            job = self._urns.job(said.job, flow)
            proposals += [*self._flow(said, flow, orchestrator), *self._job(said, job, orchestrator)]
            if said.counts:
                proposals += self._related(job, "dataJobInputOutput", self._job_lineage(said, found))
            if said.kind == "RUN":
                proposals += run_aspects(said, job, found.inputs, found.outputs)
                proposals += operations(said, known, {*found.outputs})
        if self._given.materialize:
            proposals += self._datasets(said, known, found)
        return proposals

    def _flow(self, said: MergedEvent, flow: str, orchestrator: str) -> Iterator[Aspect]:
        engine = {name: raw for name, raw in said.of_run.items() if name == "processing_engine"}
        name = self._given.flow_name or job_key(said.job, None).name.split(".", 1)[0]
        yield upsert(
            flow, "dataFlowInfo", {"name": name, "customProperties": properties(engine) | engine_properties(said)}
        )
        yield upsert(flow, "status", {"removed": False})
        yield self._instance(flow, orchestrator)
        yield from add_tags(flow, self._given.tags)
        if self._given.domains:
            yield upsert(flow, "domains", {"domains": [*self._given.domains]})

    def _job(self, said: MergedEvent, job: str, orchestrator: str) -> Iterator[Aspect]:
        name = job_key(said.job, None).name
        times = {"startTime": iso(said.started_us), "endTime": iso(said.ended_us)} if said.kind == "RUN" else {}
        told = properties({key: raw for key, raw in said.of_job.items() if key not in _TOLD})
        info: Aspect = {
            "name": name.split(".", 1)[-1] or name,
            "type": {"string": orchestrator},
            "customProperties": told | known_properties(said) | {key: time for key, time in times.items() if time},
            "created": {"time": said.began_us // 1000},
        }
        text = facet(said.of_job, "documentation").get("description")
        yield upsert(job, "dataJobInfo", info | ({"description": text} if isinstance(text, str) else {}))
        yield upsert(job, "status", {"removed": False})
        yield self._instance(job, orchestrator)
        yield from add_tags(job, named_tags(said.of_job))
        yield from add_owners(job, _owners(said.of_job))

    def _instance(self, urn: str, orchestrator: str) -> Aspect:
        return instance_of(urn, f"urn:li:dataPlatform:{part(orchestrator)}", self._given.flow_instance)

    def _job_lineage(self, said: MergedEvent, found: Lineage) -> Aspect:
        parents = [self._given.parent_job] if self._given.parent_job else []
        return {
            "inputDatasets": [],
            "outputDatasets": [],
            "inputDatasetEdges": _edges(found.inputs, said),
            "outputDatasetEdges": _edges(found.outputs, said),
            "inputDatajobEdges": _edges(parents, said),
            "fineGrainedLineages": [fine for _, of_one in sorted(found.columns.items()) for fine in of_one],
        }

    def _datasets(self, said: MergedEvent, known: dict[Name, str], found: Lineage) -> Iterator[Aspect]:
        for name, facets in said.datasets.items():
            instance, masked = self._urns.instance(name), found.masked.get(known[name], ())
            yield from dataset_aspects(
                known[name], facets, instance, said.newest_us, schemas=self._given.schemas, masked=masked
            )
        for output in found.outputs if said.counts else ():
            upstreams = [
                {"auditStamp": stamp(said.newest_us), "dataset": each, "type": "TRANSFORMED"}
                for each in found.upstreams[output]
            ]
            if upstreams:
                aspect = {"upstreams": upstreams, "fineGrainedLineages": found.columns.get(output, [])}
                yield from self._related(output, "upstreamLineage", aspect)

    def _related(self, urn: str, name: str, aspect: Aspect) -> Iterable[Aspect]:
        return add_lineage(urn, name, aspect) if self._given.patch else [upsert(urn, name, aspect)]


def _edges(urns: Iterable[str], said: MergedEvent) -> list[Aspect]:
    return [{"destinationUrn": urn, "lastModified": stamp(said.newest_us)} for urn in urns]


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
    return f"urn:li:corpGroup:{part(bare)}" if of in ("group", "team") else f"urn:li:corpuser:{part(bare)}"
