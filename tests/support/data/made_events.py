"""Create small, valid and distinct events."""

import itertools
import json
from typing import Any

PRODUCER = "https://example.org/test-producer"
SCHEMA_URL = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_numbers = itertools.count(1)


def run_event(**members: Any) -> dict[str, Any]:
    """Return a valid run event with a new run id. `members` replace the default members."""
    return {
        "eventTime": "2026-03-01T12:00:00.000Z",
        "eventType": "COMPLETE",
        "producer": PRODUCER,
        "schemaURL": SCHEMA_URL + "RunEvent",
        "run": {"runId": f"0195c000-0000-7000-8000-{next(_numbers):012d}"},
        "job": {"namespace": "tests", "name": "job"},
        "inputs": [],
        "outputs": [],
    } | members


def job_event(**members: Any) -> dict[str, Any]:
    """Return a valid job event of a new job."""
    return {
        "eventTime": "2026-03-01T12:00:00.000Z",
        "producer": PRODUCER,
        "schemaURL": SCHEMA_URL + "JobEvent",
        "job": {"namespace": "tests", "name": f"job-{next(_numbers)}"},
    } | members


def dataset_event(**members: Any) -> dict[str, Any]:
    """Return a valid dataset event of a new dataset."""
    return {
        "eventTime": "2026-03-01T12:00:00.000Z",
        "producer": PRODUCER,
        "schemaURL": SCHEMA_URL + "DatasetEvent",
        "dataset": {"namespace": "tests", "name": f"dataset-{next(_numbers)}"},
    } | members


def body(event: Any) -> bytes:
    """Encode an event as producers do."""
    return json.dumps(event, separators=(",", ":")).encode()


def with_raw(event: dict[str, Any], raw: bytes) -> bytes:
    """Return the body of an event whose job has an additional facet with exactly these bytes."""
    marked = event | {"job": event["job"] | {"facets": {"odd": "RAW"}}}
    return body(marked).replace(b'"RAW"', raw)
