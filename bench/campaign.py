"""Inject faults of every kind into `headwater up` under load, and check the stored events after each episode.

Hypothesis draws the faults. Usage: `python -m bench.campaign --kills 1000 --steps 20 --seed 1`. The exit status is 1,
and the failing steps are printed, if an acknowledged event is missing or duplicated, if the counts do not balance, or
if a process does not recover without help.
"""

import argparse
import random
import sys
import time

from tests.support.faults.campaign import Campaign, Chronicle, besiege

_EPISODES = 8
"""The number of episodes for each seed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=240, help="start no episode after this many minutes")
    parser.add_argument("--steps", type=int, default=20, help="maximum number of faults in an episode")
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
        f"{done.acknowledged} events acknowledged, {done.stored} stored; 0 lost, 0 duplicated"
    )
    for fault, count in sorted(done.faults.items()):
        print(f"  {count:4d} {fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
