"""Faults of every kind against `headwater up` under load, drawn by Hypothesis; then the reckoning of each episode.

`python -m bench.campaign --kills 1000 --steps 20 --seed 1`; exit status 1 with the steps that led there if anything
acknowledged is missing, twice, or unbalanced, or a station does not go on by itself.
"""

import argparse
import random
import sys
import time

from tests.support.faults.campaign import Campaign, Chronicle, besiege

_EPISODES = 8
"""Drawn from one seed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=240, help="begin no episode after so long")
    parser.add_argument("--steps", type=int, default=20, help="faults of an episode at most")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    chosen = parser.parse_args()
    Campaign.chronicle = done = Chronicle()
    began, seed = time.monotonic(), chosen.seed
    while done.kills < chosen.kills and time.monotonic() - began < chosen.minutes * 60:
        besiege(seed, episodes=_EPISODES, steps=chosen.steps)
        print(
            f"seed {seed}: {done.episodes} episodes, {done.kills} kills, {done.acknowledged} acknowledged", flush=True
        )
        seed += 1
    print(
        f"campaign seed={chosen.seed}: {done.episodes} episodes, {done.faults.total()} faults, {done.kills} kills, "
        f"{done.acknowledged} events acknowledged, {done.stored} stored; lost 0, doubled 0"
    )
    for fault, count in sorted(done.faults.items()):
        print(f"  {count:4d} {fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
