"""Kill `headwater up` hundreds of times under load, then compare the producers' list of events with the lake.

`python -m bench.torture --kills 500 --minutes 40 --seed 1` exits with status 1 if an event is missing or duplicated, or
if the audit does not balance.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.support.faults.killing import Siege, points_of


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=40, help="stop killing after this time; the check follows")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-torture-") as folder:
        return torture(Path(folder), chosen.kills, chosen.minutes, chosen.seed)


def torture(folder: Path, kills: int, minutes: float, seed: int) -> int:
    """Kill the processes repeatedly, check the stored events, and print one summary line."""
    siege, started, session = Siege(folder, seed), time.monotonic(), 0
    while siege.kills.total() < kills and time.monotonic() - started < minutes * 60:
        siege.run(*points_of(session))
        session += 1
        print(f"\r{siege.kills.total()} of {kills} kills", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    verdict = 0
    try:
        found, rate = siege.reckon()
        outcome = f"{len(found.positions)} records, none missing, none duplicated, {rate:.0f} acknowledged/s"
    except AssertionError as error:
        outcome, verdict = f"FAILED: {error}", 1
    done = siege.kills
    print(
        f"torture seed={seed}: {done.total()} kills ({done.at_random()} at random) in "
        f"{(time.monotonic() - started) / 60:.1f} min, in flight at least {min(done.in_flight)}, "
        f"slowest restart {max(done.restarts_s):.1f} s; {outcome}"
    )
    for place, count in sorted(done.places.items()):
        print(f"  {count:4d} {place}")
    return verdict


if __name__ == "__main__":
    sys.exit(main())
