"""Small events for tests, made from plain values."""

import json
from typing import Any

from tests.support.paths import EVENTS

PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
RUN_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"


def run_event(run_id: str = "01a1fdb4-606f-7ed7-8ccf-b1cbfed17566", **changes: Any) -> dict[str, Any]:
    """Return a RunEvent; `changes` replace or add members."""
    event: dict[str, Any] = {
        "eventTime": "2026-11-21T10:44:09.188Z",
        "producer": PRODUCER,
        "schemaURL": RUN_EVENT,
        "eventType": "COMPLETE",
        "run": {"runId": run_id},
        "job": {"namespace": "prod", "name": "daily.load"},
        "inputs": [],
        "outputs": [],
    }
    return event | changes


def dataset(name: str, **facets: Any) -> dict[str, Any]:
    """Return a dataset of one lake."""
    return {"namespace": "abfss://lake@account.dfs.core.windows.net", "name": name, "facets": facets}


def body(event: dict[str, Any]) -> bytes:
    """Encode an event without whitespace, as producers do."""
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()


def sample_lines(name: str) -> list[bytes]:
    """Read the lines of a sample file."""
    return [line.strip() for line in (EVENTS / name).read_bytes().splitlines() if line.strip()]
