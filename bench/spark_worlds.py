"""Compare Spark's tables for thousands of random worlds with the reference implementation.

The events of each world are shuffled and some are repeated, and one Spark pass is killed. `python -m bench.spark_worlds
--worlds 2000` exits with status 1 if a world differs, and prints the seeds of these worlds.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

from headwater.spark.session import local_session
from tests.support.spark.spark_lake import Gold, References, SparkLake, bodies, world_of

AT_ONCE = 200
KILLED_AT = ("spark.after_edge_sets", "spark.after_runs", "spark.after_column_edges", "spark.before_state")
REPEATED = 0.1
CORES = 2
ASKED = (Gold.column_edges, Gold.table_edges, Gold.ended_edges, Gold.surface, Gold.verdicts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="worlds that share a lake")
    given = parser.parse_args()
    last = given.first + given.worlds
    differ: list[str] = []
    with local_session(CORES) as spark:
        for number, first in enumerate(range(given.first, last, given.at_once)):
            seeds = range(first, min(first + given.at_once, last))
            began = time.monotonic()
            found = sorted(differences(spark, seeds, KILLED_AT[number % len(KILLED_AT)]))
            print(f"worlds {seeds[0]}-{seeds[-1]}: {time.monotonic() - began:.0f} s, {len(found)} differences (goal 0)")
            print(*(f"  FAILED {each}\n" for each in found), sep="", end="", flush=True)
            differ += found
    return 1 if differ else 0


def differences(spark: SparkSession, seeds: Iterable[int], killed_at: str) -> list[str]:
    """Build worlds in two passes and kill the second pass once; returns the differences by world and question."""
    with tempfile.TemporaryDirectory(prefix="headwater-worlds-") as folder:
        lake = SparkLake(spark, Path(folder))
        worlds = [_shaken(world, Random(seed)) for seed, world in zip(seeds, bodies(seeds), strict=True)]
        lake.store([body for world in worlds for body in world[: len(world) // 2]])
        lake.build()
        lake.store([body for world in worlds for body in world[len(world) // 2 :]])
        lake.command(killed_at=killed_at)
        lake.build()
        gold = Gold(lake, References(lake.delivered()))
        return [f"{world} {ask.__name__}: {each}" for ask in ASKED for world, each in _unlike(*ask(gold))]


def _shaken(world: list[bytes], chance: Random) -> list[bytes]:
    """Return the events in random order, some of them twice."""
    again = [body for body in world if chance.random() < REPEATED]
    return chance.sample([*world, *again], len(world) + len(again))


def _unlike(found: Any, wanted: Any) -> Iterator[tuple[str, Any]]:
    lines = [set(each.items()) if isinstance(each, dict) else each for each in (found, wanted)]
    for sign, many in (("found", lines[0] - lines[1]), ("missing", lines[1] - lines[0])):
        for one in many:
            yield world_of(str(one)), (sign, one)


if __name__ == "__main__":
    sys.exit(main())
