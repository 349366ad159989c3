"""Runs that repeat the report of another run give the same answers as if derived separately, and are not
derived again.
"""

from collections.abc import Hashable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.derivation import Derivation
from headwater.lineage.runs.memory_store import MemoryStore
from headwater.lineage.runs.run_derivation import CachedRun, RunCache
from headwater.lineage.runs.run_facts import RunFacts
from tests.lineage.test_reference import STEADY, summary, torn
from tests.reference.records import Delivered, stored
from tests.reference.small_events import A, B, run, x_from
from tests.reference.world_events import dataset, deliver, facet
from tests.reference.worlds import random_world, worlds
from tests.support.data.lineage_world import in_batches, read_facts

DAY_US = 86_400_000_000


class Forgetful(RunCache):
    """A cache that never finds a run."""

    def find(self, key: Hashable) -> CachedRun | None:  # noqa: ARG002
        return None


def again(facts: list[RunFacts], day: int) -> list[RunFacts]:
    """Return the same runs some days later."""

    def moved(key: str | None) -> str | None:
        return None if key is None else f"{day:04x}{key[4:]}"

    return [
        replace(
            fact,
            order=fact.order._replace(event_id=f"{day:04x}{fact.event_id[4:]}", time_us=fact.time_us + day * DAY_US),
            run_key=f"{day:04x}{fact.run_key[4:]}" if fact.kind == "RUN" else fact.run_key,
            received_us=fact.received_us + day * DAY_US,
            execution=moved(fact.execution),
            parent=moved(fact.parent),
        )
        for fact in facts
    ]


@pytest.mark.slow
@settings(STEADY, max_examples=40)
@given(worlds(), st.integers(0, 2**32))
def test_runs_by_their_shape_are_what_each_run_derived_by_itself_is(events: list[Delivered], seed: int) -> None:
    facts, contents = read_facts(stored(events, None, None))
    batches = torn([each for day in range(3) for each in again(facts, day)], Random(seed))
    store = MemoryStore()
    forgetful = Derivation(store, contents, NameResolver())
    forgetful.run_derivation.run_cache = Forgetful(contents, forgetful.naming)
    for batch in batches:
        forgetful.add_facts(batch)
    _, shaped = in_batches(batches, contents)
    assert summary(shaped) == summary(store)


def test_of_a_job_that_recurs_only_the_first_run_is_derived() -> None:
    facts, contents = read_facts(deliver(run(number, 10 * number, x_from(A, B)) for number in range(50)))
    derivation, store = in_batches([[fact] for fact in facts], contents)
    assert (derivation.run_cache.lookups, derivation.run_cache.hits) == (50, 49)
    assert len(store.runs) == 50


@pytest.mark.slow
def test_worlds_that_repeat_themselves_have_runs_that_are_known() -> None:
    lookups = hits = 0
    for seed in range(8):
        facts, contents = read_facts(stored(random_world(seed), None, None))
        derivation, _ = in_batches([again(facts, day) for day in range(10)], contents)
        lookups, hits = lookups + derivation.run_cache.lookups, hits + derivation.run_cache.hits
    assert hits > lookups // 20, "the cache is never used, so the comparison above proves nothing"


def test_a_version_of_a_dataset_makes_no_other_shape_and_stands_on_the_run() -> None:
    written = [
        run(number, 10 * number, {**x_from(A, B), "facets": {**x_from(A, B)["facets"], "version": version(number)}})
        for number in range(5)
    ]
    facts, contents = read_facts(deliver(written))
    derivation, store = in_batches([facts], contents)
    assert derivation.run_cache.hits == 4
    versions = {each.version for of_run in store.runs.values() for each in of_run.outputs.values()}
    assert versions == {"0", "1", "2", "3", "4"}


def version(number: int) -> object:
    return facet(datasetVersion=str(number))


def test_a_shape_is_forgotten_where_a_name_in_it_comes_to_mean_something_else() -> None:
    drop = run(9, 95, dataset(A, lifecycleStateChange=facet(lifecycleStateChange="DROP")), job="drop")
    facts, contents = read_facts(deliver([*(run(number, 10 * number, x_from(A, B)) for number in range(8)), drop]))
    derivation, _ = in_batches([facts[:8], facts[8:]], contents)
    before = derivation.run_cache.hits
    derivation.add_facts(again(facts[:1], 1))
    assert derivation.run_cache.hits == before
