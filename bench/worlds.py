"""Thousands of random worlds: the rules against the reference, torn batches against one, the index against memory.

`python -m bench.worlds --worlds 2000`; exit status 1 if orders, repetition or the index make a difference. Worlds
in which the reference reads docs/lineage.md otherwise than the rules are counted and named.
"""

import argparse
import sys
from random import Random

from headwater.index.lens import Lens
from tests.lineage_world import in_batches, read_parts
from tests.reference.records import Delivered, stored
from tests.reference.worlds import random_world
from tests.test_index_reference import compare, indexed
from tests.test_lineage_reference import differences, summary, torn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    worlds = parser.parse_args().worlds
    read_otherwise: list[int] = []
    order: list[int] = []
    index: list[int] = []
    for seed in range(worlds):
        world = random_world(seed)
        for failed, seeds in (
            (bool(differences(world)), read_otherwise),
            (not _is_same_in_any_order(world, Random(seed)), order),
            (not _is_same_in_the_index(world, Random(seed)), index),
        ):
            if failed:
                seeds.append(seed)
        print(f"\r{seed + 1} of {worlds} worlds", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    print(f"{worlds} worlds: {len(order)} differ by order or repetition (0), {len(index)} in the index (0)")
    print(f"  {len(read_otherwise)} are read otherwise by the reference: {read_otherwise}")
    for name, seeds in (("order", order), ("index", index)):
        if seeds:
            print(f"  FAILED by {name}: {seeds}")
    return 1 if order or index else 0


def _is_same_in_any_order(world: list[Delivered], chance: Random) -> bool:
    parts, contents = read_parts(stored(world, None, None))
    whole = summary(in_batches([parts], contents)[1])
    return all(summary(in_batches(torn(parts, chance), contents)[1]) == whole for _ in range(2))


def _is_same_in_the_index(world: list[Delivered], chance: Random) -> bool:
    try:
        with indexed(world, chance) as lenses:
            compare(lenses, world, Lens())
    except AssertionError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
