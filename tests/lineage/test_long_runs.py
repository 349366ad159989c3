"""For a run of many events, the deciding events give the same result as all events."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random

import pytest
from msgspec.structs import replace

from headwater.lineage.edges.facet_contents import FacetContents
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.derivation import Derivation
from headwater.lineage.runs.event_order import event_order
from headwater.lineage.runs.memory_store import MemoryStore
from headwater.lineage.runs.run_facts import DecidingFactsSelector, RunFacts
from tests.lineage.test_reference import summary, torn
from tests.reference.small_events import SECOND, STREAM, A, B, C, changed, run, x_from
from tests.reference.world_events import deliver, facet
from tests.reference.worlds import random_world
from tests.support.data.lineage_world import in_batches, read_facts

AHEAD_US = 3 * 24 * 3600 * SECOND


class StoreOfFew(MemoryStore):
    """A store that returns only the deciding events of every run, even if the run has few events."""

    asked_for_all = 0

    def all_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        self.asked_for_all += 1
        return super().all_facts(run_keys)

    def deciding_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        return {
            key: DecidingFactsSelector(facts).deciding_facts() for key, facts in super().all_facts(run_keys).items()
        }


def few_in_batches(batches: Iterable[list[RunFacts]], contents: FacetContents) -> StoreOfFew:
    store = StoreOfFew()
    derivation = Derivation(store, contents, NameResolver())
    for batch in batches:
        derivation.add_facts(batch)
    return store


@pytest.mark.slow
def test_worlds_of_few_long_runs_are_the_same_by_those_that_suffice() -> None:
    """This includes clocks in the future, dropped and renamed datasets, and names that change their meaning."""
    spared = 0
    for seed in range(150):
        chance = Random(seed)
        facts, contents = read_facts(random_world(seed))
        batches = torn(long_runs(facts, chance), chance)
        _, whole = in_batches(batches, contents)
        few = few_in_batches(batches, contents)
        assert summary(few) == summary(whole), seed
        spared += not few.asked_for_all
    assert spared > 10, "most worlds rename datasets, which needs all events, but some must do without"


def long_runs(facts: Sequence[RunFacts], chance: Random) -> list[RunFacts]:
    """Distribute the facts over two runs, with repetitions at random times."""
    keys = sorted({fact.run_key for fact in facts if fact.kind == "RUN"})[:2]
    found = []
    for number, fact in enumerate(facts):
        key = chance.choice(keys) if fact.kind == "RUN" else fact.run_key
        for again in range(chance.choice((1, 1, 5))):
            event_id = f"{number:032x}" if not again else f"{chance.getrandbits(128):032x}"
            time_us = fact.time_us + again * chance.choice((0, SECOND, 7 * SECOND, AHEAD_US))
            order = event_order(event_id, fact.type, time_us, fact.received_us)
            found.append(replace(fact, run_key=key, order=order))
    return found


def test_a_thousand_updates_are_a_few_facts_whatever_order_they_come_in() -> None:
    updates = [
        run(1, second, x_from((A, B)[second % 2], C), kind="RUNNING", job_facets=STREAM) for second in range(1000)
    ]
    facts, _ = read_facts(deliver(updates))
    forward, backward = (DecidingFactsSelector(order).deciding_facts() for order in (facts, facts[::-1]))
    assert len(forward) == 4
    assert sorted(fact.event_id for fact in forward) == sorted(fact.event_id for fact in backward)
    kept = {fact.event_id for fact in forward}
    assert {
        min(facts, key=lambda fact: fact.time_us).event_id,
        max(facts, key=lambda fact: fact.order).event_id,
    } <= kept


def test_what_adds_up_or_ends_a_dataset_counts_each_time_it_was_said() -> None:
    told = facet(
        entries=[{"namespace": C[0], "name": C[1], "type": "DATASET", "inputs": [{**_named(A), "type": "DATASET"}]}]
    )
    explicit = [run(1, second, kind="RUNNING", run_facets={"lineage": told}) for second in range(6)]
    dropped = [run(2, second, changed(C, "DROP"), kind="COMPLETE") for second in range(6)]
    for events in (explicit, dropped):
        facts, _ = read_facts(deliver(events))
        assert len(DecidingFactsSelector(facts).deciding_facts()) == 6


def _named(named: tuple[str, str]) -> dict[str, str]:
    return {"namespace": named[0], "name": named[1]}
