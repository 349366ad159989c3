"""A DatasetEvent is no job: nobody wrote a dataset that somebody only described or tagged."""

from typing import Any

from msgspec import to_builtins

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_hierarchy import as_it_is
from headwater.paging import ListPage
from headwater.questions.coverage import coverage
from headwater.questions.job_graph import JobBounds, JobKnowledge, job_graph
from tests.lineage_world import LineageWorld, world
from tests.reference.small_events import A, B, C, made, run, x_from
from tests.reference.world_events import at, dataset, dataset_event, facet, source

DESCRIBED = dataset(A, documentation=facet(description="Orders as they land."))
TAGGED = dataset(A, tags=facet(tags=[{"key": "pii", "value": "true", "field": "x"}]))
FROM_A = run(1, 1, x_from(A, B), reads=[dataset(A)])


def covered(seen: LineageWorld) -> Any:
    return to_builtins(coverage(seen.scene, seen.counted, page=ListPage()))


def jobs(seen: LineageWorld) -> list[str]:
    known = JobKnowledge([], as_it_is, lambda _: [], lambda _: [], lambda *_: [])
    found = job_graph(seen.scene, seen.counted, known, "job", JobBounds(None, 1, 1, 100))
    return [node.name for node in found.nodes]


def test_a_dataset_that_is_only_described_or_tagged_has_no_writer() -> None:
    for told in (DESCRIBED, TAGGED, dataset(A)):
        for seen in (
            world(FROM_A, dataset_event(at(2), told)),
            world(FROM_A, dataset_event(at(2), told)).of_all_times(),
        ):
            assert jobs(seen) == ["job"]
            answer = covered(seen)
            assert answer["datasets"] == {"column lineage": 1, "no reported job writes it": 1}
            assert answer["jobs"] == {"column lineage": 1}


def test_a_dataset_that_is_only_described_is_known() -> None:
    assert world(dataset_event(at(1), DESCRIBED)).scene.knows(Name(*A))


def test_lineage_that_a_catalogue_declares_makes_edges_and_no_job() -> None:
    declared = dataset_event(at(2), made(C, {"x": [source(B, "x")]}))
    seen = world(FROM_A, declared)
    assert seen.edges == {("a.x", "b.x", "direct"), ("b.x", "c.x", "direct")}
    assert jobs(seen) == ["job"]
    assert covered(seen)["jobs"] == {"column lineage": 1}
    assert covered(seen)["datasets"] == {"column lineage": 2, "no reported job writes it": 1}
