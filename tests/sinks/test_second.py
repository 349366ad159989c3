"""A second Headwater behind the first: random worlds that are forwarded or replayed have equal answers in both."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest

from headwater.lineage.snapshots.as_of import AsOf
from headwater.operations.runtime.sinks import open_replay
from headwater.sinks.control.replay_span import ReplaySpan
from tests.index.test_reference import compare, indexed
from tests.reference.records import Delivered
from tests.reference.world_events import START_US
from tests.reference.worlds import random_world, world_in_namespace
from tests.support.data.sink_world import SinkWorld, sink
from tests.support.lake_check import rows
from tests.support.running import Running
from tests.support.servers.sink_target import eventually

_WORLD = re.compile(r'"namespace": ?"(?:[^"]*://)?w(\d+)-')
SEEDS = range(12)


def lake_of_worlds(folder: Path, seeds: Iterable[int]) -> SinkWorld:
    """Create a lake with these worlds, each in its own namespaces."""
    world = SinkWorld(folder / "first")
    made = [each for seed in seeds for each in world_in_namespace(random_world(seed), f"w{seed}-")]
    world.store(*(json.dumps(each.event).encode() for each in made))
    return world


def stored_worlds(folder: Path) -> dict[int, list[Delivered]]:
    """Return a lake's events by world, in the order of their arrival."""
    found: dict[int, list[Delivered]] = defaultdict(list)
    named = ["sequence", "event_id", "received_at", "body"]
    for row in sorted(rows(folder, "events", named), key=lambda each: each["sequence"]):
        seed = _WORLD.search(row["body"])
        assert seed, row["body"]
        received_us = int(row["received_at"].timestamp() * 1e6)
        found[int(seed[1])].append(Delivered(json.loads(row["body"]), received_us, row["event_id"]))
    return found


def differing(first: Path, second: Path) -> list[int]:
    """Return the worlds for which the second lake's index differs from the rules applied to the first lake's events."""
    mine, theirs = stored_worlds(first), stored_worlds(second)
    assert mine.keys() == theirs.keys()
    return [seed for seed in mine if not _is_same(mine[seed], theirs[seed], seed)]


def _is_same(mine: list[Delivered], theirs: list[Delivered], seed: int) -> bool:
    try:
        with indexed(theirs, Random(seed)) as open_views:
            for as_of in (AsOf(), AsOf(as_of_us=START_US + 20_000_000)):
                compare(open_views, mine, as_of)
    except AssertionError:
        return False
    return _events(mine) == _events(theirs)


def _events(delivered: list[Delivered]) -> list[str]:
    """Return sorted events, because a replay orders events by event time."""
    return sorted(json.dumps(each.event) for each in delivered)


def fanned_out(world: SinkWorld, url: str) -> None:
    """Send all events of the lake with a sink."""
    world.settle(sink(type="openlineage", url=url, batch=100))


def replayed(world: SinkWorld, url: str) -> None:
    """Replay all events of the lake."""
    replay = open_replay(world.settings, world.folder, ReplaySpan(), url, rate=None, batch=100, key=None)
    assert replay.run(lambda *_: None)["refused"] == 0


def arrived(world: SinkWorld, second: Path) -> None:
    """Wait until a second lake has the same number of events."""
    count = len([*rows(world.folder, "events", ["event_id"])])
    eventually(lambda: len([*rows(second, "events", ["event_id"])]) == count)


@pytest.mark.slow
@pytest.mark.parametrize("sends", [fanned_out, replayed])
def test_a_second_headwater_answers_every_question_as_the_first(
    tmp_path: Path, sends: Callable[[SinkWorld, str], None]
) -> None:
    world, second = lake_of_worlds(tmp_path, SEEDS), tmp_path / "second"
    second.mkdir(mode=0o700)
    with Running(second, options=["--tick", "50ms"], cwd=tmp_path) as other:
        sends(world, other.url)
        arrived(world, second)
    assert differing(world.folder, second) == []


@pytest.mark.slow
def test_an_event_that_is_missing_makes_a_difference(tmp_path: Path) -> None:
    """The test checks that the comparison above would notice missing events."""
    worlds = {seed: random_world(seed) for seed in SEEDS}
    differ = [seed for seed, events in worlds.items() if len(events) > 3 and not _is_same(events, events[:-2], seed)]
    assert differ
