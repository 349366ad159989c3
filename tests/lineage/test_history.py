"""Edges over time: the intervals of candidates against the reference's answers at every moment, in one or
many batches.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.lineage.edges.candidates import (
    INPUTS_ONLY,
    NO_SOURCES,
    REPORTED_LINEAGE,
    Candidate,
    JobOutput,
    select_counted_candidates,
)
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.validity import ValidityHistory
from tests.reference.records import Delivered
from tests.reference.solver import Reference
from tests.reference.world_events import deliver
from tests.reference.worlds import random_world
from tests.support.data.lineage_world import LineageWorld

pytestmark = pytest.mark.slow

GROUP = JobOutput("observed", Name("n", "job"), Name("n", "out"))


def candidate(
    time_us: int, execution: str, lineage: str, weight: int = REPORTED_LINEAGE, *, rows_confirmed: bool = False
) -> Candidate[Sequence[str]]:
    tie = f"{time_us}{execution}"
    return Candidate(time_us, tie, tie, execution, time_us, time_us, weight, rows_confirmed, 0, time_us, lineage)


def intervals(candidates: list[Candidate[Sequence[str]]], layer: str = "observed") -> list[tuple[Any, ...]]:
    history: ValidityHistory[str] = ValidityHistory(layer)
    history.add(candidates)
    return sorted(tuple(interval) for interval in (*history.ended, *history.open_intervals))


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([candidate(1, "a", "xy"), candidate(5, "b", "x")], [("x", 1, None, 5, 2, False), ("y", 1, 5, 1, 1, False)]),
        ([candidate(1, "a", "x"), candidate(2, "a", "y")], [("x", 1, None, 1, 1, False), ("y", 2, None, 2, 1, False)]),
        ([candidate(1, "a", "x"), candidate(5, "b", "", INPUTS_ONLY)], [("x", 1, None, 1, 1, False)]),
        (
            [candidate(1, "a", "x"), candidate(3, "b", "y"), candidate(5, "c", "x", rows_confirmed=True)],
            [("x", 1, 3, 1, 1, False), ("x", 5, None, 5, 1, True), ("y", 3, 5, 3, 1, False)],
        ),
        ([candidate(1, "a", "x", INPUTS_ONLY), candidate(5, "b", "", NO_SOURCES)], [("x", 1, None, 1, 1, False)]),
        ([candidate(1, "a", "x"), candidate(1, "b", "y")], [("y", 1, None, 1, 1, False)]),
        (
            [candidate(1, "a", "x"), candidate(2, "b", "y"), candidate(3, "a", "z")],
            [
                ("x", 1, 2, 1, 1, False),
                ("x", 3, None, 1, 1, False),
                ("y", 2, 3, 2, 1, False),
                ("z", 3, None, 3, 1, False),
            ],
        ),
    ],
    ids=[
        "an edge ends",
        "one execution adds up",
        "opaque ends nothing",
        "it comes back",
        "an ALTER says nothing",
        "one instant",
        "again current",
    ],
)
def test_rule_6_intervals_are_half_open_and_may_be_several(
    candidates: list[Candidate[Sequence[str]]], expected: list[tuple[Any, ...]]
) -> None:
    assert intervals(candidates) == expected


def test_rule_6_a_declaration_replaces_the_one_before_even_without_edges() -> None:
    assert intervals([candidate(1, "a", "x"), candidate(5, "b", "", INPUTS_ONLY)], "declared") == [
        ("x", 1, 5, 1, 1, False)
    ]


some_candidates = st.lists(
    st.builds(
        candidate, st.integers(1, 9), st.sampled_from("abc"), st.sampled_from(["", "x", "y", "xy", "xyz"]),
        st.sampled_from([NO_SOURCES, INPUTS_ONLY, REPORTED_LINEAGE]),
    ).map(lambda each: each if each.weight > NO_SOURCES else each._replace(lineage="")),
    max_size=12, unique_by=lambda each: each.run_key,
)  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=300)
@given(some_candidates, st.integers(0, 10), st.sampled_from(["observed", "declared"]))
def test_spells_say_at_each_moment_what_stands_then_and_may_be_told_in_two_pieces(
    candidates: list[Candidate[Sequence[str]]], cut: int, layer: str
) -> None:
    whole = intervals(candidates, layer)
    for moment in range(11):
        stands = select_counted_candidates(
            GROUP._replace(layer=layer), [each for each in candidates if each.time_us <= moment]
        ).current
        then = {edge for edge, since, until, *_ in whole if since <= moment and (until is None or moment < until)}
        assert then == {edge for each in stands for edge in each.lineage}
    first: ValidityHistory[str] = ValidityHistory(layer)
    first.add(each for each in candidates if each.time_us <= cut)
    second = ValidityHistory(layer, [each for each in candidates if each.time_us <= cut], first.open_intervals)
    second.add(each for each in candidates if each.time_us > cut)
    assert sorted(tuple(each) for each in (*first.ended, *second.ended, *second.open_intervals)) == whole


def test_spells_agree_with_the_reference_as_of_any_time() -> None:
    compared = sum(compare_in_time(plain(random_world(seed))) for seed in range(200))
    assert compared > 200


def plain(events: list[Delivered]) -> list[Delivered]:
    """Keep the events that candidates over time support: runs that end once, with unambiguous names and columns."""
    kept = {each.event["run"]["runId"]: each for each in events if each.event.get("eventType") == "COMPLETE"}
    return deliver(
        without(each.event, {"symlinks", "lifecycleStateChange", "schema", "jobType"}) for each in kept.values()
    )


def without(value: Any, facets: set[str]) -> Any:
    if isinstance(value, list):
        return [without(each, facets) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: without(each, facets) for key, each in value.items() if key not in facets}


def compare_in_time(events: list[Delivered]) -> int:
    found: set[tuple[Any, ...]] = set()
    written = (
        (job_output, candidates)
        for job_output, candidates in LineageWorld(events).scene.store.candidates.items()
        if job_output.output
    )
    for job_output, candidates in written:
        history: ValidityHistory[Any] = ValidityHistory(job_output.layer)
        history.add(Candidate(*each[:-1], edges(each.lineage)) for each in candidates.values())
        found.update(
            (*interval.edge, interval.since_us, interval.until_us)
            for interval in (*history.ended, *history.open_intervals)
        )
    moments = sorted({each.time_us for each in events})
    for moment in moments:
        then = {row[:-2] for row in found if row[-2] <= moment and (row[-1] is None or moment < row[-1])}
        assert then == Reference(events, as_of_us=moment, canonical=canonical).column_edges
    return len(moments) if found else 0


def canonical(namespace: str, name: str) -> tuple[str, str]:
    return default_rules().canonical(namespace, name).parts


def edges(lineage: OutputLineage) -> list[tuple[Any, ...]]:
    assert lineage.output
    found = {
        (
            *each.source,
            each.column,
            *lineage.output,
            target,
            "DIRECT" if each.transformation.is_direct else "INDIRECT",
            each.transformation.is_masked,
        )
        for each in lineage.edges
        for target in ([each.target] if each.target is not None else lineage.dataset_wide_targets)
    }
    return sorted(found)
