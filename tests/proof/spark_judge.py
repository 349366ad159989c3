"""Use silver and gold as a judge for many worlds in one lake, each with prefixed namespaces."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import Row

from headwater.lineage.snapshots.snapshot import Window
from headwater.spark.gold.snapshot_of_rows import RowSnapshot
from headwater.spark.gold.snapshot_rows import sorted_rows
from headwater.spark.silver.silver_names import BatchNaming
from headwater.tables import BINDINGS, DATASETS
from tests.proof.campaign import Tally, Variant, Violation
from tests.proof.judges import SURFACE_FIRST, USE_FIRST, exposure_of, folded, reached, spelt
from tests.proof.placing import bodies_in, by_world, plain, portable_variants, prefixed
from tests.proof.ranks import TAG, Answers, Asked, Reached, unsafe_answers
from tests.reference.worlds import prefix
from tests.support.spark.spark_lake import RULES, SparkLake

FIRST = 7_000
"""Number of the first world. Other tests' worlds share the lake."""


def placed_variants(numbers: Iterable[int]) -> list[tuple[int, Variant]]:
    """Return variants, each with its number in the lake. The number after it is for the world after the operator."""
    return [(FIRST + 2 * at, variant) for at, variant in enumerate(portable_variants(numbers))]


def bodies(placed: Iterable[tuple[int, Variant]]) -> Iterator[list[bytes]]:
    """Yield the events of each world before and after an operator."""
    for number, variant in placed:
        yield bodies_in(variant.stream.events, prefix(number))
        yield bodies_in(variant.mutation.after, prefix(number + 1))


class SparkJudge:
    """The answers of gold, and a graph of silver's open candidates."""

    def __init__(self, lake: SparkLake) -> None:
        rows = sorted_rows(lake.candidates(), lake.read("silver", DATASETS)).collect()
        naming = BatchNaming(lake.read("silver", BINDINGS).collect()).naming
        position = lake.position()
        self._now = RowSnapshot(RULES, naming, (tuple(row) for row in rows), position.partitioned_names)
        self._now.newest_us = position.newest_us
        self._counted = self._now.counted_edges_with_earlier(Window())
        self._surface = by_world(Row(**row) for row in lake.surface() if row["tag"] == TAG)
        self._unused = by_world(Row(**row) for row in lake.unused())

    def answers(self, number: int, asked: Asked) -> Answers:
        world = prefix(number)
        used = ((plain(spelt(row), world), row.verdict) for row in self._unused.get(world, ()))
        shown = ((plain(spelt(row), world), exposure_of(row)) for row in self._surface.get(world, ()))
        return Answers(
            folded(used, USE_FIRST),
            folded(shown, SURFACE_FIRST),
            [self._reached(column, world, asked, forward=True) for column in asked.impact],
            [self._reached(column, world, asked, forward=False) for column in asked.upstream],
        )

    def campaign(self, placed: Sequence[tuple[int, Variant]]) -> Tally:
        tally = Tally()
        for number, variant in placed:
            before = self.answers(number, variant.asked)
            after = self.answers(number + 1, variant.asked_after)
            unsafe = unsafe_answers(variant.asked, before, after, variant.stream.events, variant.mutation)
            tally.add(variant, [Violation(variant, each) for each in unsafe], is_effective=before != after)
        return tally

    def _reached(self, column: Any, world: str, asked: Asked, *, forward: bool) -> Reached:
        there = (prefixed(column[0], world), *column[1:])
        found = reached(self._now, self._counted, there, asked.mode, forward=forward)
        return Reached(
            frozenset(plain(each, world) for each in found.columns),
            frozenset(plain(each, world) for each in found.stops),
        )
