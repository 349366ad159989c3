"""Compare the rules with the brute-force reference (tests/reference) on worlds with all faults combined."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.lineage.edges.candidates import JobOutput
from headwater.lineage.edges.edge_sets import Candidates, EdgeSet, needed_candidates, resolve_edge_sets
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.memory_store import MemoryStore, RelatedRunsInMemory
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.snapshots.derived_snapshots import group_by_output
from headwater.lineage.traversal.impact import Mode
from tests.reference import questions
from tests.reference.assets import with_assets
from tests.reference.records import Delivered, stored
from tests.reference.retired import presumed_retired, with_deletions, with_rewrites
from tests.reference.small_events import ALIAS, A, B, C, made, renamed, run, with_schema
from tests.reference.solver import Column, Reference
from tests.reference.walks import reached
from tests.reference.world_events import RECEIPT_US, START_US, Json, dataset, deliver, source, symlinks
from tests.reference.worlds import random_world, worlds
from tests.reference.writings import Writing
from tests.rule_cases import opaque
from tests.support.data.lineage_world import LineageWorld, in_batches, read_facts, world
from tests.support.few_of_many import few_of

SECOND = 1_000_000
MODES: tuple[Mode, ...] = ("value", "any")
STEADY = settings(derandomize=True, deadline=None, database=None)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", few_of([range(80), range(80, 400)], 1), ids=str)
def test_every_answer_is_the_references(seeds: range) -> None:
    assert [seed for seed in seeds if differences(random_world(seed))] == []


@pytest.mark.slow
@pytest.mark.parametrize("window_s", [0, 3, 12, 10_000])
def test_every_answer_with_earlier_executions_is_the_references(window_s: int) -> None:
    seeds = range(window_s % 7, 160, 8)
    assert [seed for seed in seeds if differences(random_world(seed), window_us=window_s * SECOND)] == []


@pytest.mark.slow
def test_every_answer_about_the_past_is_the_references() -> None:
    chance = Random(7)
    for seed in range(60):
        as_of_us = START_US + chance.randint(0, 40) * SECOND
        known_at_us = RECEIPT_US + chance.randint(0, 16) * SECOND
        assert differences(random_world(seed), as_of_us=as_of_us) == [], seed
        assert differences(random_world(seed), known_at_us=known_at_us) == [], seed


@pytest.mark.slow
def test_every_answer_with_deleted_jobs_is_the_references() -> None:
    for seed in range(40):
        events = with_deletions(random_world(seed), seed)
        assert differences(events, window_us=(seed % 3) * 10_000 * SECOND) == [], seed
        assert differences(events) == [], seed


@pytest.mark.slow
def test_every_answer_with_inlets_and_outlets_is_the_references() -> None:
    replaced = 0
    for seed in range(25):
        events = with_assets(random_world(seed), seed)
        replaced += sum("airflow" in each.facets("run") for each in events)
        assert differences(events, window_us=(seed % 3) * 10_000 * SECOND) == [], seed
    assert replaced > 60


@pytest.mark.slow
def test_the_jobs_that_are_presumed_retired_are_the_references() -> None:
    found = 0
    for seed in range(40):
        events = with_rewrites(random_world(seed), seed)
        for window_us in (0, 10 * SECOND, 60 * SECOND):
            here = LineageWorld(events, window_us=window_us)
            there = presumed_retired(Reference(events, window_us=window_us, canonical=canonical))
            jobs = {here.graph.edge_sets[number][0].job for number in here.counted.presumed_retired}
            assert {job.parts for job in jobs} == there, (seed, window_us)
            found += len(there)
    assert found > 40


def differences(
    events: list[Delivered],
    as_of_us: int | None = None,
    known_at_us: int | None = None,
    window_us: int | None = None,
) -> list[str]:
    """Return the questions that a world and the reference answer differently.

    window_us: earlier executions within the window count as well.
    """
    here = LineageWorld(events, as_of_us=as_of_us, known_at_us=known_at_us, window_us=window_us)
    there = Reference(events, as_of_us=as_of_us, known_at_us=known_at_us, window_us=window_us, canonical=canonical)
    found = [("state", here.run_states == there.run_states)]
    found += [("columns", here.column_edges == there.column_edges), ("tables", here.table_edges == there.table_edges)]
    for column in ends(there):
        found += reach(here, there, column)
    tagged = questions.tagged(there, "pii")
    found.append(("surface", here.behind_tag("pii")[0] == questions.surface(there, tagged)))
    own = questions.tagged_states(there, tagged), questions.tagged_until(there, tagged)
    found.append(("tagged columns", here.tagged_themselves("pii") == own))
    for strict in (False, True):
        wanted = questions.unused(there, strict=strict)
        found.append(("unused", verdicts(here, wanted, strict=strict) == wanted))
    return [question for question, equal in found if not equal]


def canonical(namespace: str, name: str) -> tuple[str, str]:
    return default_rules().canonical(namespace, name).parts


def ends(lineage: Reference) -> set[tuple[str, str, str]]:
    nodes = {node for edge in lineage.column_edges for node in (edge[:4], edge[4:8])}
    return {(node[0], node[1], node[3]) for node in nodes}


def reach(here: LineageWorld, there: Reference, asked: tuple[str, str, str]) -> Iterator[tuple[str, bool]]:
    if not here.knows(asked):
        return
    for mode in MODES:
        yield "impact", here.reached(asked, mode, forward=True) == questions.impact(there, *asked, mode)
        upstream = {column: hit[:2] for column, hit in here.reached(asked, mode, forward=False).items()}
        yield "upstream", upstream == questions.upstream(there, *asked, mode)


def verdicts(here: LineageWorld, columns: Iterable[Column], *, strict: bool = False) -> dict[Column, str]:
    names = {Name(*column[:2]) for column in columns}
    return {key: verdict for name in names for key, verdict in here.verdicts(name, strict=strict).items()}


@pytest.mark.slow
@settings(STEADY, max_examples=150)
@given(worlds())
def test_no_column_that_a_newest_execution_reads_is_called_unused(events: list[Delivered]) -> None:
    there = Reference(events, canonical=canonical)
    wanted = questions.unused(there)
    read = {
        (*edge[:2], edge[3]) for edge in there.edges_of(newest_executions(there)) if edge[:4] != edge[4:8]
    } & wanted.keys()
    found = verdicts(LineageWorld(events), wanted)
    assert {column for column in read if "unused" in {wanted[column], found.get(column)}} == set()


@pytest.mark.slow
@settings(STEADY, max_examples=150)
@given(worlds())
def test_nothing_that_a_clear_way_reaches_is_called_masked(events: list[Delivered]) -> None:
    there = Reference(events, canonical=canonical)
    nodes = questions.tagged(there, "pii")
    steps = there.nesting.steps(edge for edge in there.column_edges if edge[8] == "DIRECT" and not edge[9])
    clear = {(*node[:2], node[3]) for node in reached(steps, nodes) if not there.generations.is_dropped(node[:3])}
    for exposures in (questions.surface(there, nodes), LineageWorld(events).behind_tag("pii")[0]):
        assert {column for column in clear if exposures.get(column) == "masked"} == set()


def newest_executions(lineage: Reference) -> list[Writing]:
    """Return the writings of the newest execution of each job and output, in any generation."""
    job_outputs = defaultdict(list)
    for writing in lineage.observed:
        job_outputs[writing.job, writing.output[:2]].append(writing)
    newest = {
        job_output: max(each, key=lambda w: (w.period_us, w.time_us, w.run)).execution
        for job_output, each in job_outputs.items()
    }
    return [
        writing
        for job_output, each in job_outputs.items()
        for writing in each
        if writing.execution == newest[job_output]
    ]


@pytest.mark.slow
@settings(STEADY, max_examples=200)
@given(worlds(), st.integers(0, 2**32))
def test_batches_in_any_order_with_repetition_give_what_one_batch_gives(events: list[Delivered], seed: int) -> None:
    facts, contents = read_facts(stored(events, None, None))
    _, whole = in_batches([facts], contents)
    _, bit_by_bit = in_batches(torn(facts, Random(seed)), contents)
    assert summary(bit_by_bit) == summary(whole)


def torn(facts: list[RunFacts], chance: Random) -> list[list[RunFacts]]:
    """Return batches of one to four facts, in random order, some of them twice."""
    left = chance.sample(facts, len(facts)) + chance.sample(facts, chance.randint(0, len(facts) // 2))
    batches = []
    while left:
        size = chance.randint(1, 4)
        batches.append(left[:size])
        left = left[size:]
    return batches


def summary(store: MemoryStore) -> object:
    """Return runs, the lineage that counts with its reasons, and dropped datasets."""
    kin = RelatedRunsInMemory(store.runs.values(), store.candidates)
    lineage = {
        name: resolve_edge_sets(candidates, lambda lineage: lineage, kin)
        for name, candidates in group_by_output(store.candidates).items()
    }
    counting_sets = {
        name: {job_output: set(counting_sets) for job_output, counting_sets in job_outputs.items()}
        for name, job_outputs in lineage.items()
    }
    return (
        store.runs,
        counting_sets,
        {job_output: candidates for job_output, candidates in store.candidates.items() if candidates},
    )


@pytest.mark.slow
def test_votes_that_do_not_matter_make_no_difference() -> None:
    """Silver does not keep these candidates available."""
    for events in [*map(random_world, range(60)), *(deliver(case.events) for case in opaque.CASES)]:
        store = LineageWorld(events).scene.store
        kin = RelatedRunsInMemory(store.runs.values(), store.candidates)
        for candidates in group_by_output(store.candidates).values():
            matter = needed_candidates(candidates)
            fewer = {
                job_output: [candidate for candidate in own if (job_output, candidate.run_key) in matter]
                for job_output, own in candidates.items()
            }
            assert said_of(fewer, kin) == said_of(candidates, kin)


def said_of(
    candidates: Candidates[OutputLineage], kin: RelatedRunsInMemory
) -> dict[JobOutput, set[EdgeSet[OutputLineage]]]:
    found = resolve_edge_sets(
        {job_output: own for job_output, own in candidates.items() if own}, lambda lineage: lineage, kin
    )
    return {job_output: set(counting_sets) for job_output, counting_sets in found.items() if counting_sets}


def reads_schema_of(named: tuple[str, str], origin: tuple[str, str] = A) -> Json:
    """Return a run that reads column X of a dataset under some name. The dataset has the distinct columns X and x."""
    return run(1, 9, made(B, {"y": [source(origin, "X")]}), reads=[with_schema(named, "X x")])


TO_A, TO_C = (run(2, 1, dataset(A, symlinks=symlinks(ALIAS))), run(3, 5, dataset(C, symlinks=symlinks(ALIAS)), job="3"))
MOVED = {
    "a binding": ([reads_schema_of(ALIAS), TO_A], "X"),
    "a rename": ([reads_schema_of(C, C), run(2, 20, renamed(C, A), job="2")], "X"),
    "away by another binding": ([reads_schema_of(ALIAS), TO_A, TO_C], "x"),
}


@pytest.mark.parametrize(("events", "column"), MOVED.values(), ids=list(MOVED))
def test_a_name_that_moves_takes_along_the_schema_it_had_before(events: list[Json], column: str) -> None:
    facts, contents = read_facts(deliver(events))
    _, store = in_batches([[fact] for fact in facts], contents)
    assert summary(store) == summary(in_batches([facts], contents)[1])
    assert world(*events).edges == {(f"a.{column}", "b.y", "direct")}
