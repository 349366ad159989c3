"""Generate a year of events of jobs that append to tables. The lineage of each job changes every month."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

JOBS = 1_000
MONTHS = 12
LAYERS = 10
NAMESPACE = "abfss://appends@account"

_COLUMNS = 20
_READS = 3
_CHANGES = 4
"""The number of columns per table whose expression changes every month."""

_MOVES = 10
"""Every tenth job has one column whose source changes every month. More such jobs make answers much longer."""

_TAGGED = 5
"""One column of every fifth table in the first layer contains personal data."""

_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
_BEGIN = datetime(2025, 12, 15, tzinfo=UTC)


def append_events(jobs: int = JOBS) -> Iterator[bytes]:
    """Yield one COMPLETE event for each job and month, in chronological order."""
    for month in range(MONTHS):
        for job in range(jobs):
            yield json.dumps(_event(job, month, jobs // LAYERS, jobs), separators=(",", ":")).encode()


def table_name(table: int, in_layer: int) -> str:
    """Return the name of a table; job j writes table `in_layer + j`. No job writes the tables of the first layer."""
    return f"warehouse/layer_{table // in_layer:02d}/table_{table:05d}"


def columns_of_layer(layer: int, jobs: int = JOBS) -> list[tuple[str, str]]:
    """Return the columns (table, column) of a layer in a reproducible random order."""
    in_layer = jobs // LAYERS
    tables = range(layer * in_layer, (layer + 1) * in_layer)
    found = [(table_name(table, in_layer), column) for table in tables for column in _columns()]
    random.Random(7).shuffle(found)
    return found


def _columns() -> list[str]:
    return [f"column_{number:02d}" for number in range(_COLUMNS)]


def _event(job: int, month: int, in_layer: int, jobs: int) -> dict[str, Any]:
    at = _BEGIN + timedelta(days=30 * month, seconds=10 * job)
    read = _read_by(job, in_layer)
    output = _dataset(in_layer + job, in_layer)
    output["facets"]["columnLineage"] = _lineage(job, month, read, in_layer)
    return {
        "eventTime": at.isoformat().replace("+00:00", "Z"),
        "producer": _PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "eventType": "COMPLETE",
        "run": {"runId": str(UUID(int=2**64 + month * jobs + job, version=4)), "facets": {}},
        "job": {
            "namespace": "spark_appends",
            "name": f"nightly.append_data.job_{job:04d}",
            "facets": {"jobType": _facet("JobTypeJobFacet", processingType="BATCH", integration="SPARK")},
        },
        "inputs": [_dataset(table, in_layer) for table in read],
        "outputs": [output],
    }


def _dataset(table: int, in_layer: int) -> dict[str, Any]:
    fields = [{"name": column, "type": "string"} for column in _columns()]
    facets = {"schema": _facet("SchemaDatasetFacet", fields=fields)}
    if table < in_layer and table % _TAGGED == 0:
        tag = {"key": "pii", "value": "true", "source": "catalogue", "field": "column_00"}
        facets["tags"] = _facet("TagsDatasetFacet", tags=[tag])
    return {"namespace": NAMESPACE, "name": table_name(table, in_layer), "facets": facets}


def _read_by(job: int, in_layer: int) -> list[int]:
    first = job // in_layer * in_layer
    return random.Random(job).sample(range(first, first + in_layer), _READS)


def _lineage(job: int, month: int, read: list[int], in_layer: int) -> dict[str, Any]:
    """Derive each output column from two columns that the job reads."""
    draw = random.Random(job)
    sources = [(table_name(table, in_layer), column) for table in read for column in _columns()]
    column_sources = {column: draw.sample(sources, 2) for column in _columns()}
    if job % _MOVES == 0:
        column_sources[_columns()[-1]] = random.Random(job * MONTHS + month).sample(sources, 2)
    changed = random.Random(month).sample(_columns(), _CHANGES)
    fields = {
        column: {"inputFields": [_input(*source, changed=column in changed) for source in each]}
        for column, each in column_sources.items()
    }
    return _facet("ColumnLineageDatasetFacet", fields=fields)


def _input(table: str, column: str, *, changed: bool) -> dict[str, Any]:
    subtype, masks = "TRANSFORMATION" if changed else "IDENTITY", column.endswith("9")
    step = {"type": "DIRECT", "subtype": subtype, "description": "", "masking": masks}
    return {"namespace": NAMESPACE, "name": table, "field": column, "transformations": [step]}


def _facet(kind: str, /, **members: Any) -> dict[str, Any]:
    url = f"https://openlineage.io/spec/facets/1-0-0/{kind}.json#/$defs/{kind}"
    return {"_producer": _PRODUCER, "_schemaURL": url, **members}
