"""Build the JSON of OpenLineage events for generated and hand-written test cases."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.reference.records import Delivered

PRODUCER = "https://example.org/world"
SCHEMA_URL = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
START_US = int(START.timestamp()) * 1_000_000
RECEIPT_US = START_US + 3600 * 1_000_000

Json = dict[str, Any]


def at(second: float) -> str:
    """Return the time `second` seconds after the start of the test data, as producers write it."""
    return (START + timedelta(seconds=second)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def uuid(number: int) -> str:
    return f"0195c000-0000-7000-8000-{number:012x}"


def facet(**members: Any) -> Json:
    return {"_producer": PRODUCER, "_schemaURL": SCHEMA_URL + "BaseFacet", **members}


def dataset(named: tuple[str, str], **facets: Any) -> Json:
    """Return a dataset. Without facets the key is omitted, as many producers do."""
    return {"namespace": named[0], "name": named[1]} | ({"facets": facets} if facets else {})


def schema(columns: Iterable[str]) -> Json:
    """Return a schema facet. `a.b` is nested if `a` came before it; otherwise the name contains a dot."""
    top: dict[str, Json] = {}
    for column in columns:
        parent, _, child = column.rpartition(".")
        if parent in top:
            top[parent] = {"name": parent, "type": "struct", "fields": [*top[parent].get("fields", []), typed(child)]}
        else:
            top[column] = typed(column)
    return facet(fields=list(top.values()))


def typed(column: str) -> Json:
    return {"name": column, "type": "string"}


def source(named: tuple[str, str], column: str, *steps: Json) -> Json:
    """Return an input field with its transformations."""
    plain = {"namespace": named[0], "name": named[1], "field": column}
    return plain | ({"transformations": list(steps)} if steps else {})


def step(kind: str, *, masking: bool = False) -> Json:
    return {"type": kind, "subtype": "", "description": "", "masking": masking}


def column_lineage(fields: Mapping[str, Sequence[Json]], whole: Sequence[Json] = (), **old: str) -> Json:
    """Return a columnLineage facet. old: members that each field had before version 1-1-0."""
    told = {name: {"inputFields": list(inputs), **old} for name, inputs in fields.items()}
    return facet(fields=told, **({"dataset": list(whole)} if whole else {}))


def symlinks(*named: tuple[str, str], kind: str = "TABLE") -> Json:
    return facet(identifiers=[{"namespace": ns, "name": name, "type": kind} for ns, name in named])


def parent(run_id: str, job: tuple[str, str], root: str | None = None) -> Json:
    named = {"namespace": job[0], "name": job[1]}
    told = facet(run={"runId": run_id}, job=named)
    return told | ({"root": {"run": {"runId": root}, "job": named}} if root else {})


def run_event(kind: str, time: str, run: str, job: tuple[str, str] = ("jobs", "job"), **members: Any) -> Json:
    """Return a run event. members: inputs, outputs, run_facets, job_facets."""
    return {
        "eventType": kind,
        "eventTime": time,
        "producer": PRODUCER,
        "schemaURL": SCHEMA_URL + "RunEvent",
        "run": {"runId": run, "facets": members.get("run_facets", {})},
        "job": {"namespace": job[0], "name": job[1], "facets": members.get("job_facets", {})},
        "inputs": members.get("inputs", []),
        "outputs": members.get("outputs", []),
    }


def job_event(time: str, job: tuple[str, str], inputs: Sequence[Json], outputs: Sequence[Json], **facets: Any) -> Json:
    return {
        "eventTime": time,
        "producer": PRODUCER,
        "schemaURL": SCHEMA_URL + "JobEvent",
        "job": {"namespace": job[0], "name": job[1], "facets": facets},
        "inputs": list(inputs),
        "outputs": list(outputs),
    }


def dataset_event(time: str, about: Json, producer: str = PRODUCER) -> Json:
    return {"eventTime": time, "producer": producer, "schemaURL": SCHEMA_URL + "DatasetEvent", "dataset": about}


def deliver(events: Iterable[Json]) -> list[Delivered]:
    """Return events as received in this order, one second apart, from an hour after the start of the test data."""
    return [Delivered(event, RECEIPT_US + n * 1_000_000, event_id(event)) for n, event in enumerate(events)]


def event_id(event: Json) -> str:
    return hashlib.sha256(json.dumps(event, sort_keys=True).encode()).hexdigest()[:32]
