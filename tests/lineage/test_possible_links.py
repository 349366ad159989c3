"""Possible connections within an application, compared with the reference, for jobs that read and write separately."""

from random import Random

import pytest

from headwater.lineage.snapshots.as_of import AsOf
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Subject
from tests.index.test_reference import FAR, RULES, indexed
from tests.reference.possible_links import possible_links
from tests.reference.records import Delivered
from tests.reference.small_events import A, B, C, D, run, x_from
from tests.reference.solver import Reference
from tests.reference.world_events import Json, at, dataset, dataset_event, deliver, parent, uuid
from tests.support.data.lineage_world import LineageWorld
from tests.support.few_of_many import few_of

Link = tuple[str, str, str, str]
"""The read and the written dataset, the job at the other end, and the application."""


def world(seed: int) -> list[Delivered]:
    """Return runs of jobs in three applications and two DAGs. Some only read, some only write, some do both."""
    chance = Random(seed)
    events = [_run(chance, number) for number in range(1, chance.randint(6, 14))]
    events += [dataset_event(at(90), dataset(name)) for name in (A, B, C, D)]
    return deliver(chance.sample(events, len(events)))


def _run(chance: Random, number: int) -> Json:
    read, written = ([dataset(name) for name in chance.sample((A, B, C, D), chance.randint(1, 2))] for _ in range(2))
    kind = chance.choice(("reads", "reads", "writes", "writes", "copies", "maps"))
    outputs = {"reads": [], "maps": [x_from(A, B)]}.get(kind, written)
    application = chance.choice((90, 90, 91, 92, None))
    root = chance.choice((None, uuid(80)))
    facets = {} if application is None else {"parent": parent(uuid(application), ("jobs", "app"), root)}
    return run(
        number,
        chance.randint(1, 40),
        *outputs,
        reads=[] if kind == "writes" else read,
        job=f"job{chance.randint(1, 5)}",
        kind=chance.choice(("COMPLETE", "COMPLETE", "COMPLETE", "FAIL")),
        run_facets=facets,
    )


def expected(events: list[Delivered]) -> tuple[set[Link], set[Link]]:
    """Return the links as upstream and impact answer them."""
    found = possible_links(Reference(events))
    return (
        {(link.read[1], link.written[1], link.reader, link.application) for link in found},
        {(link.read[1], link.written[1], link.writer, link.application) for link in found},
    )


def answered(snapshot: Snapshot, counted: CountedEdges) -> tuple[set[Link], set[Link]]:
    upstream, impact = set[Link](), set[Link]()
    for named in (A, B, C, D):
        for forward, found in ((False, upstream), (True, impact)):
            for stop in reach_answer(
                snapshot, RULES, Subject(*named), counted, forward=forward, mode="any", bounds=FAR
            ).stops:
                for link in stop.may_be_connected:
                    ends = (stop.dataset, link.dataset) if forward else (link.dataset, stop.dataset)
                    found.add((*ends, link.job.name, link.application))
    return upstream, impact


@pytest.mark.slow
def test_rules_in_memory_answer_as_the_reference() -> None:
    wrong, links = [], 0
    for seed in range(40):
        events = world(seed)
        seen, wanted = LineageWorld(events), expected(events)
        links += len(wanted[0])
        wrong += [] if answered(seen.scene, seen.counted) == wanted else [seed]
    assert wrong == []
    assert links > 50, "the worlds contain too few possible links"


@pytest.mark.slow
@pytest.mark.parametrize("seeds", few_of([range(10), range(10, 60)], 1), ids=str)
def test_the_index_answers_as_the_reference(seeds: range) -> None:
    wrong = []
    for seed in seeds:
        events = world(seed)
        with indexed(events, Random(seed)) as open_views, open_views.open_view(AsOf()) as here:
            wrong += [] if answered(here.snapshot, here.counted_edges) == expected(events) else [seed]
    assert wrong == []
