"""Check thousands of random worlds: rules against the reference, split batches against one, index against memory.

`python -m bench.worlds --worlds 2000` exits with status 1 if the reference, the order and repetition of events, or the
index makes a difference. It prints the seeds of these worlds.
"""

import argparse
import sys
from random import Random

from headwater.lineage.snapshots.as_of import AsOf
from tests.index.test_reference import compare, indexed
from tests.lineage.test_reference import differences, summary, torn
from tests.reference.records import Delivered, stored
from tests.reference.worlds import random_world
from tests.support.data.lineage_world import in_batches, read_facts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    worlds = parser.parse_args().worlds
    differ: dict[str, list[int]] = {"reference": [], "order": [], "index": []}
    for seed in range(worlds):
        world = random_world(seed)
        for name, failed in (
            ("reference", bool(differences(world))),
            ("order", not _is_same_in_any_order(world, Random(seed))),
            ("index", not _is_same_in_the_index(world, Random(seed))),
        ):
            if failed:
                differ[name].append(seed)
        print(f"\r{seed + 1} of {worlds} worlds", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    counts = ", ".join(f"{len(seeds)} by {name} (goal 0)" for name, seeds in differ.items())
    print(f"{worlds} worlds differ: {counts}")
    for name, seeds in differ.items():
        if seeds:
            print(f"  FAILED by {name}: {seeds}")
    return 1 if any(differ.values()) else 0


def _is_same_in_any_order(world: list[Delivered], chance: Random) -> bool:
    facts, contents = read_facts(stored(world, None, None))
    whole = summary(in_batches([facts], contents)[1])
    return all(summary(in_batches(torn(facts, chance), contents)[1]) == whole for _ in range(2))


def _is_same_in_the_index(world: list[Delivered], chance: Random) -> bool:
    try:
        with indexed(world, chance) as open_views:
            compare(open_views, world, AsOf())
    except AssertionError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
