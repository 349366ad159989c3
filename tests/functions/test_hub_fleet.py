"""Several instances of the pipeline app on one hub: killed amid a commit, killed outright, replaced: exactly once."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.azurite import Storage
from tests.functions.hub_fleet import Fleet
from tests.made_events import body, run_event

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def fleet(package: Path, storage: Storage, tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(package, tmp_path, storage, partitions=4, renew_s=1.0, expire_s=6.0) as started:
        yield started


def events() -> Iterator[list[bytes]]:
    """Yield events, each of a run of its own, in lists of five."""
    return ([body(run_event()) for _ in range(5)] for _ in itertools.count())


def test_partitions_move_from_instances_that_die_or_are_replaced_and_every_event_is_there_once(fleet: Fleet) -> None:
    dies, stays = fleet.start(failpoint="parser.after_duplicates:2"), fleet.start()
    with fleet.load(events(), every_s=0.1):
        dies.wait_dead()  # amid a commit of its own, some tables written and the last one not
        stays.wait_delivered(*fleet.partitions)
        new = fleet.start()
        new.wait_delivered()
        stays.drain()
        new.wait_delivered(*fleet.partitions)
    found = fleet.reckon()
    assert all(member.delivered() for member in fleet.members)
    assert found["events"] == len(fleet.posted.acknowledged)
