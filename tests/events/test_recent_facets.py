"""Facets of a job's newest runs in the index equal those that bronze would return, or are absent."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.events.position import Source
from headwater.index.stored.run_facets import RUNS, recent_facets
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lake.event_bodies import StoredBody
from headwater.lineage.names.canonical_names import default_rules
from headwater.questions.facets import merge_facets
from tests.reference.world_events import Json, at, event_id, facet, run_event, uuid

SOURCE = Source("local", "1", "0")
DELETED = facet(_deleted=True)


class Index:
    """An index that accepts batches of events, and all events that it accepted."""

    def __init__(self, path: Path) -> None:
        self.indexer = Indexer(path, default_rules())
        self.stored: list[tuple[str, StoredBody]] = []

    def take(self, *events: Json) -> None:
        first = len(self.stored) + 1
        fresh = [StoredBody(event_id(event), 10**15 + number, json.dumps(event)) for number, event in enumerate(events)]
        self.stored += [(event["run"]["runId"], each) for event, each in zip(events, fresh, strict=True)]
        bodies = {number: each.body for number, each in enumerate(fresh, first)}
        batch = [BronzeEvent(each.event_id, each.received_us, number, None) for number, each in enumerate(fresh, first)]
        self.indexer.process_events(
            SOURCE, first + len(fresh), batch, lambda asked: {number: bodies[number] for number in asked}
        )

    def found(self, *runs: str) -> dict[str, dict[str, Any]]:
        recent = recent_facets(self.indexer._sql, runs)
        return {run: {name: json.loads(text) for name, text in facets.items()} for run, facets in recent.items()}

    def from_bodies(self, runs: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the facets from the stored bodies, for comparison with the index."""
        return {run: merge_facets([each for of, each in self.stored if of == run], "run") for run in runs}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    index = Index(tmp_path / "index.sqlite")
    yield index
    index.indexer.close()


def test_the_facets_of_a_run_are_those_that_its_events_in_bronze_say_together(index: Index) -> None:
    run, gone = uuid(1), uuid(2)
    index.take(
        run_event("START", at(1), run, run_facets={"a": facet(v=1), "b": facet(v=1), "c": facet(v=1), "d": None}),
        run_event("START", at(1), gone),
    )
    index.take(run_event("COMPLETE", at(9), run, run_facets={"a": facet(v=9), "c": DELETED}))
    index.take(run_event("RUNNING", at(5), run, run_facets={"a": facet(v=5), "b": facet(v=5), "c": facet(v=5)}))
    assert index.found(run, gone) == index.from_bodies([run, gone])
    assert {name: each["v"] for name, each in index.found(run)[run].items()} == {"a": 9, "b": 5}


def test_a_jobs_newest_runs_have_their_facets_and_old_ones_none(index: Index) -> None:
    runs = [uuid(number) for number in range(3 * RUNS)]
    for number, run in enumerate(runs):
        index.take(run_event("COMPLETE", at(number), run, run_facets={"a": facet(v=number)}))
    found = index.found(*runs)
    assert RUNS <= len(found) < 2 * RUNS
    assert found == index.from_bodies(runs[-len(found) :])


def test_a_late_event_of_a_run_that_was_left_out_does_not_pass_for_all_of_it(index: Index) -> None:
    index.take(run_event("START", at(0), uuid(0), run_facets={"a": facet(v=0)}))
    for number in range(1, 3 * RUNS):
        index.take(run_event("COMPLETE", at(number), uuid(number)))
    index.take(run_event("COMPLETE", at(1), uuid(0), run_facets={"b": facet(v=1)}))
    assert index.found(uuid(0)) == {}
