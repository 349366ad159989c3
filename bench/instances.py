"""Measure several instances of the Function App on one hub: freshness, and how long a partition stops after a failure.

`python -m bench.instances` measures with four partitions and 200 events/s. `--kills 20 --seed 1` instead kills and
replaces random instances, half of them during a commit, and exits with status 1 if an event is missing or duplicated.
The goals and lease times are those of `host.json` and of the trigger's own processor. Azurite is the storage, and the
event hub is a local substitute.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median

import pyarrow as pa
from deltalake import write_deltalake

from bench.figures import Figure, percentile, show
from bench.freshness import known_events
from tests.functions.host import unpacked
from tests.functions.hub_fleet import Fleet, Member, new_contents
from tests.functions.hub_instance import Gathering
from tests.support.servers.azurite import KEY, Storage

PARTITIONS = 4
RATE = 200
GOAL_S = 5.0
RENEW_S, EXPIRE_S = 30.0, 120.0
"""How often the trigger renews the lease of a partition, and when an unrenewed lease expires: the defaults."""
POINTS = ("parser.after_column_lineage", "parser.after_schemas", "parser.after_events")
"""Where a commit of new contents is killed: between its tables, or after the last table but before the checkpoint."""
STEADY_S, QUICK_S = 60.0, 20.0
QUICK_LEASES_S = (2.0, 10.0)

_POST = 10
_LOOK_S = 0.1


class Follower:
    """Polls bronze and records when it first sees each new sequence number of a partition."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._events = fleet.table("events")
        self._over = threading.Event()
        self.seen: dict[str, list[tuple[float, int]]] = {name: [] for name in fleet.partitions}
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop polling."""
        self._over.set()
        self._thread.join()

    def waits_s(self, since: float, until: float) -> list[float]:
        """Return the seconds from post to row for each event posted in the given period."""
        return [there - posted for posted, there in self._landed() if since <= posted < until]

    def longest_still_s(self, since: float, until: float) -> float:
        """Return the longest stop (s) of a partition with waiting events, among stops that began in a given period."""
        found = 0.0
        for name in self._fleet.partitions:
            enqueued_s = [one.enqueued_ms / 1000 for one in self._fleet.hub.stored(int(name))]
            before = (since, 0)
            for there in self.seen[name]:
                if there[0] > since and before[1] < len(enqueued_s):
                    began = max(before[0], enqueued_s[before[1]], since)
                    found = max(found, there[0] - began if began < until else 0.0)
                before = there
        return found

    def _landed(self) -> Iterator[tuple[float, float]]:
        for name in self._fleet.partitions:
            moves = iter(self.seen[name])
            moment, there = 0.0, 0
            for one in self._fleet.hub.stored(int(name)):
                while there <= one.sequence:
                    moment, there = next(moves)
                yield self._fleet.begun(one.body), moment

    def _follow(self) -> None:
        while not self._over.wait(_LOOK_S):
            self._look()
        self._look()  # rows of the last interval

    def _look(self) -> None:
        self._events.update_incremental()
        now = time.time()
        for name, last in self._fleet.watermarks(self._events).items():
            if last and (not self.seen[name] or self.seen[name][-1][1] < last):
                self.seen[name].append((now, last))


def run(steady_s: float = STEADY_S, renew_s: float = RENEW_S, expire_s: float = EXPIRE_S) -> list[Figure]:
    """Measure freshness with two instances, kill one, then replace the other; check that each event is stored once."""
    with _fleet(renew_s, expire_s) as (fleet, floor_s):
        members = [fleet.start(), fleet.start()]
        with fleet.load(_posts(), _POST / RATE):
            _wait_shared(members, renew_s)
            fleet.wait_stored()  # process the backlog from the start of the instances
            follower = Follower(fleet)
            began = time.time()
            time.sleep(steady_s)  # the load continues
            steady = time.time()
            fleet.wait_stored()  # otherwise the last events would wait for the lease of the killed instance
            killed = time.time()
            members[0].kill()
            members[1].wait_delivers(fleet.partitions)
            new = fleet.start()
            _wait_shared([members[1], new], renew_s)
            fleet.wait_stored()
            replaced = time.time()
            members[1].drain()
            new.wait_delivers(fleet.partitions)
            ended = time.time()
        found = fleet.reckon()
        follower.stop()
        waits = follower.waits_s(began, steady)
        name = f"{PARTITIONS} partitions, {RATE} events/s, 2 instances"
        return [
            Figure(f"{name}: post to row, p50 of {len(waits)}", median(waits), "s", floor=floor_s),
            Figure(
                f"{name}: p99", percentile(waits, 0.99), "s", GOAL_S, "<=", floor_s, percentile(waits, 0.99) / floor_s
            ),
            Figure(
                "an instance is killed: a partition stopped",
                follower.longest_still_s(killed, replaced),
                "s",
                floor=expire_s,
            ),
            Figure(
                "an instance is replaced: a partition stopped",
                follower.longest_still_s(replaced, ended),
                "s",
                floor=renew_s,
            ),
            Figure(f"{found.total():,} records: missing or duplicated", 0, "", 0),
        ]


def run_quick() -> list[Figure]:
    """Measure for 20 s, with leases of 2 and 10 s."""
    return run(QUICK_S, *QUICK_LEASES_S)


def torture(kills: int, seed: int, renew_s: float, expire_s: float) -> int:
    """Repeatedly kill or replace one of three instances, then check the stored events; prints one line."""
    draw, verdict, outcome = random.Random(seed), 0, ""
    with _fleet(renew_s, expire_s) as (fleet, _):
        running = [fleet.start() for _ in range(3)]
        with fleet.load(new_contents(), 0.05):
            for number in range(kills):
                leaving = running.pop(draw.randrange(3))
                leaving.wait_delivered()
                running.append(_replaced(fleet, leaving, number, draw))
        try:
            outcome = f"{fleet.reckon().total()} records, none missing, none duplicated"
        except AssertionError as error:
            outcome, verdict = f"FAILED: {error}", 1
    print(f"instances seed={seed}: {kills} killed or replaced; {outcome}")
    return verdict


def _replaced(fleet: Fleet, leaving: Member, number: int, draw: random.Random) -> Member:
    """Replace an instance after a kill, after a drain, or after a kill whose first replacement dies at a fail point."""
    time.sleep(draw.uniform(0.0, 2.0))  # stop it at a random moment
    match number % 3:
        case 0:
            leaving.kill()
        case 1:
            leaving.drain()
        case _:
            leaving.kill()
            fleet.start(failpoint=f"{draw.choice(POINTS)}:{draw.randint(1, 3)}").wait_dead()
    return fleet.start()


def _wait_shared(members: list[Member], renew_s: float) -> None:
    """Wait until each instance owns half of the partitions and no partition moves for 1.5 lease renewals."""
    for member in members:
        member.wait_delivered(PARTITIONS // 2)
    taken = -1
    while taken != (taken := _taken(members)):
        time.sleep(1.5 * renew_s)  # an instance claims at most one partition per renewal


def _taken(members: list[Member]) -> int:
    """Return how often the instances have claimed a partition."""
    return sum("owns" in line for member in members for line in member.said)


def _posts() -> Iterator[list[bytes]]:
    """Yield batches of events of recurring jobs."""
    events = known_events()
    while True:
        yield list(islice(events, _POST))


@contextmanager
def _fleet(renew_s: float, expire_s: float) -> Iterator[tuple[Fleet, float]]:
    """Yield a fleet without instances and its freshness floor (s): the batching delay of the host plus one commit."""
    with tempfile.TemporaryDirectory(prefix="headwater-instances-") as name, Storage() as storage:
        package = unpacked(Path(name))
        with Fleet(package, Path(name), storage, partitions=PARTITIONS, renew_s=renew_s, expire_s=expire_s) as fleet:
            yield fleet, Gathering.of(package).wait_s + _commit_s(storage)


def _commit_s(storage: Storage) -> float:
    """Return the time (s) of one commit with as many rows as the host gathers for a partition."""
    lake = storage.lake(account_key=KEY)
    rows = pa.table({"body": ["x" * 8192] * (RATE * 2 // PARTITIONS)})
    took = []
    for _ in range(5):
        began = time.perf_counter()
        write_deltalake(f"{lake['lake']}/floor", rows, mode="append", storage_options=lake["lake_options"])
        took.append(time.perf_counter() - began)
    return median(took)


def main() -> int:
    """Run the benchmark, or the kill test, from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 s, and leases of 2 and 10 s")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    chosen = parser.parse_args()
    if chosen.kills:
        return torture(chosen.kills, chosen.seed, *QUICK_LEASES_S)
    show("Several instances", run_quick() if chosen.quick else run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
