"""Measure the CPU cost of large events in the index and in the parser, by what makes the event large."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.figures import Figure, middle, show
from headwater.events.event_reader import EventReader
from headwater.events.position import Source
from headwater.index.writing.indexer import CpuLimit, Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules

ROUNDS = 3
Json = dict[str, Any]

_LAKE = "s3://lake"


def run(rounds: int = ROUNDS) -> list[Figure]:
    """Measure each event in a new index and in the parser's reader."""
    figures = []
    for name, make, goal in EVENTS:
        body = json.dumps(make())
        figures.append(Figure(f"{name}: index", middle([_indexed_s(body) for _ in range(rounds)]), "s of CPU", goal))
        figures.append(Figure(f"{name}: parser", middle([_read_s(body.encode()) for _ in range(rounds)]), "s of CPU"))
    return figures


def event(inputs: list[Json], outputs: list[Json], **run_facets: Json) -> Json:
    """Return a COMPLETE event."""
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-01T12:00:00Z",
        "producer": "https://example.org/wide",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "0195c000-0000-7000-8000-000000000001", "facets": run_facets},
        "job": {"namespace": "jobs", "name": "wide"},
        "inputs": inputs,
        "outputs": outputs,
    }


def dataset(name: str, **facets: Json) -> Json:
    """Return a dataset."""
    return {"namespace": _LAKE, "name": name, "facets": facets}


def _facet(**members: Any) -> Json:
    base = {"_producer": "https://example.org/wide", "_schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json"}
    return base | members


def _plain(side: str, count: int) -> list[Json]:
    return [dataset(f"{side}/{number}") for number in range(count)]


def _with_lineage(count: int, inputs: int) -> list[Json]:
    found = []
    for number in range(count):
        fed = {"namespace": _LAKE, "name": f"in/{number % inputs}", "field": "x"}
        columns = _facet(fields=[{"name": "x", "type": "string"}])
        lineage = _facet(fields={"x": {"inputFields": [fed]}})
        found.append(dataset(f"out/{number}", schema=columns, columnLineage=lineage))
    return found


def _columns(count: int) -> Json:
    return _facet(fields=[{"name": f"column_{number}", "type": "string"} for number in range(count)])


def _symlinks(count: int) -> Json:
    names = [{"namespace": "hive://meta", "name": f"db.t{number}", "type": "TABLE"} for number in range(count)]
    return _facet(identifiers=names)


EVENTS: list[tuple[str, Callable[[], Json], float | None]] = [
    ("30,000 outputs with column lineage", lambda: event(_plain("in", 1), _with_lineage(30_000, 1)), 5.0),
    ("30,000 outputs without facets", lambda: event(_plain("in", 1), _plain("out", 30_000)), 5.0),
    ("1,000 inputs x 1,000 outputs", lambda: event(_plain("in", 1000), _plain("out", 1000)), 2.0),
    ("the same with column lineage", lambda: event(_plain("in", 1000), _with_lineage(1000, 1000)), 2.0),
    ("1,000 inputs x 7,000 outputs", lambda: event(_plain("in", 1000), _plain("out", 7000)), None),
    ("10,000 symlinks", lambda: event([], [dataset("out", symlinks=_symlinks(10_000))]), None),
    ("200,000 columns", lambda: event([], [dataset("out", schema=_columns(200_000))]), None),
    ("a facet of 5 MB", lambda: event([], _plain("out", 1), big=_facet(text="x" * 5_000_000)), None),
]
"""A description of the event, a function that creates it, and the goal in CPU seconds."""


def _indexed_s(body: str) -> float:
    with TemporaryDirectory(prefix="headwater-bench-") as folder:
        indexer = Indexer(Path(folder) / "index.sqlite", default_rules(), CpuLimit(600.0))
        stored = [BronzeEvent(f"{1:064x}", 1, 1, None)]
        began = time.process_time()
        indexer.process_events(Source("local", "1", "0"), 1, stored, lambda _: {1: body})
        spent = time.process_time() - began
        indexer.close()
    return spent


def _read_s(body: bytes) -> float:
    reader = EventReader(600.0)
    began = time.process_time()
    reader.read([body])
    return time.process_time() - began


if __name__ == "__main__":
    show("Wide events", run())
