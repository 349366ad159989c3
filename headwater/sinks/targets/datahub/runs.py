"""Convert a run to DataHub's data process instance; D5 and D8 in docs/sinks.md."""

import hashlib
from collections.abc import Iterator, Sequence

from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_key
from headwater.lineage.runs.run_facts import duration_us
from headwater.sinks.merging.merged_event import MergedEvent, facet
from headwater.sinks.targets.datahub.aspects import Aspect, audit_stamp, properties, upsert

_OWN = ("parent", "lineage", "tags")
"""Facets of a run that are not sent as properties."""


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
    described = {name: raw for name, raw in merged.of_run.items() if name not in _OWN}
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
        yield upsert(urn, "dataProcessInstanceRunEvent", _end(merged.state, merged.started_us, merged.ended_us))


def _end(state: str, started_us: int | None, ended_us: int) -> Aspect:
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
