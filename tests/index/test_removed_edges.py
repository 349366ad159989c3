"""Edges of edge sets that no run reports any more are deleted after a while, and restored when a run reports them
again.
"""

import json
from contextlib import closing
from pathlib import Path

import pytest

from headwater.events.position import Source
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import open_for_reading
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.snapshots.snapshot import without_masking_file
from tests.reference.small_events import A, B, C, run, x_from
from tests.reference.world_events import Json, at, event_id, facet, run_event, uuid

SOURCE = Source("local", "1", "0")
LATER = 1_001
"""Number of batches after which no reader needs an old edge set."""


class Writer:
    """An index whose batches contain one event each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.indexer = Indexer(path, default_rules())
        self.count = 0

    def take(self, event: Json) -> None:
        self.count += 1
        stored = BronzeEvent(event_id(event), 10**15 + self.count, self.count, None)
        self.indexer.process_events(SOURCE, self.count, [stored], lambda asked: dict.fromkeys(asked, json.dumps(event)))

    def kept(self) -> int:
        """Return the number of edge sets with edges."""
        with closing(open_for_reading(self.path)) as sql:
            return int(sql.execute("SELECT count(*) FROM edges").fetchone()[0])


@pytest.mark.slow
def test_edges_that_no_run_says_any_more_are_deleted_and_come_back_with_one_that_does(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "index.sqlite")
    writer.take(stream(1, x_from(A, C)))
    reader = LiveGraph(writer.path, without_masking_file)
    assert sources(reader) == {A[1]}
    reader.end_read()
    writer.take(stream(2, x_from(B, C)))
    assert writer.kept() == 2, "a reader may still need it"
    for number in range(LATER):
        writer.take(run_event("COMPLETE", at(100), uuid(10_000 + number), ("jobs", "other")))
    assert writer.kept() == 1
    assert sources(reader) == {B[1]}
    writer.take(stream(3, x_from(A, C)))
    assert sources(reader) == {A[1]}
    reader.close()
    writer.indexer.close()


def sources(reader: LiveGraph) -> set[str]:
    reader.refresh()
    return {name.name for _, said in reader.graph.edge_sets.values() for name in said.source_datasets}


def stream(second: int, output: Json) -> Json:
    """Return an update of one stream that reports its complete output."""
    event = run(1, second, output, job="stream")
    job_type = facet(processingType="STREAMING", integration="FLINK")
    return {**event, "eventType": "RUNNING", "job": {**event["job"], "facets": {"jobType": job_type}}}
