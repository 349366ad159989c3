"""Generate events of a warehouse with many columns: 2,000 jobs in layers, each with one run and 400 column edges."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

JOBS = 2_000
EDGES = 400
"""Column edges per job."""

LAYERS = 10
NAMESPACE = "abfss://wide@account"

IN_LAYER = JOBS // LAYERS
_WIDTHS = (20, 40, 100)
"""Numbers of columns that tables alternate between."""

_READS = 4
_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def wide_events(jobs: int = JOBS, in_layer: int = IN_LAYER) -> Iterator[bytes]:
    """Yield START and COMPLETE of each job; COMPLETE has schemas and column lineage and about 100 KB.

    in_layer: tables per layer. A larger value makes the graph wider instead of deeper.
    """
    for job in range(jobs):
        for number, kind in enumerate(("START", "COMPLETE")):
            snapshot = _EPOCH + timedelta(seconds=10 * job + number)
            yield json.dumps(_event(job, in_layer, kind, snapshot), separators=(",", ":")).encode()


def columns(table: int) -> list[str]:
    """Return the columns of a table."""
    return [f"column_{number:03d}" for number in range(_WIDTHS[table % len(_WIDTHS)])]


def name(table: int, in_layer: int) -> str:
    """Return the name of a table; job j writes table `in_layer + j`. No job writes the tables of the first layer."""
    return f"warehouse/layer_{table // in_layer:02d}/table_{table:05d}"


def early_columns(in_layer: int = IN_LAYER) -> list[tuple[str, str]]:
    """Return the columns (table, column) of the first four written layers, shuffled; most reach thousands."""
    found = [(name(table, in_layer), column) for table in range(in_layer, 5 * in_layer) for column in columns(table)]
    random.Random(7).shuffle(found)
    return found


def _event(job: int, in_layer: int, kind: str, snapshot: datetime) -> dict[str, Any]:
    complete = kind == "COMPLETE"
    output = _dataset(in_layer + job, in_layer, complete)
    if complete:
        output["facets"]["columnLineage"] = _lineage(job, in_layer)
        output["outputFacets"] = {"outputStatistics": _facet("OutputStatisticsOutputDatasetFacet", rowCount=job)}
    return {
        "eventTime": snapshot.isoformat().replace("+00:00", "Z"),
        "producer": _PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "eventType": kind,
        "run": {"runId": str(UUID(int=2**64 + job, version=4)), "facets": {}},
        "job": {
            "namespace": "spark_wide",
            "name": f"wide.execute_insert_into.job_{job:04d}",
            "facets": {"jobType": _facet("JobTypeJobFacet", processingType="BATCH", integration="SPARK")},
        },
        "inputs": [_dataset(table, in_layer, complete) for table in _read_by(job, in_layer)],
        "outputs": [output],
    }


def _dataset(table: int, in_layer: int, complete: bool) -> dict[str, Any]:
    fields = [{"name": column, "type": "string"} for column in columns(table)]
    facets = {"schema": _facet("SchemaDatasetFacet", fields=fields)} if complete else {}
    return {"namespace": NAMESPACE, "name": name(table, in_layer), "facets": facets}


def _read_by(job: int, in_layer: int) -> list[int]:
    """Return the tables of the previous layer that a job reads."""
    first = job // in_layer * in_layer
    return random.Random(job).sample(range(first, first + in_layer), _READS)


def _lineage(job: int, in_layer: int) -> dict[str, Any]:
    draw = random.Random(job)
    written = columns(in_layer + job)
    read = [(name(table, in_layer), column) for table in _read_by(job, in_layer) for column in columns(table)]
    fields = {column: {"inputFields": _fed_by(draw, read, EDGES // len(written))} for column in written}
    return _facet("ColumnLineageDatasetFacet", fields=fields)


def _fed_by(draw: random.Random, read: list[tuple[str, str]], count: int) -> list[dict[str, Any]]:
    step = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "", "masking": False}
    return [
        {"namespace": NAMESPACE, "name": table, "field": column, "transformations": [step]}
        for table, column in draw.sample(read, count)
    ]


def _facet(kind: str, /, **members: Any) -> dict[str, Any]:
    url = f"https://openlineage.io/spec/facets/1-0-0/{kind}.json#/$defs/{kind}"
    return {"_producer": _PRODUCER, "_schemaURL": url, **members}
