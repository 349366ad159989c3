"""Several instances of the pipeline app on one hub are killed or replaced: every event is stored exactly once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functions.hub_fleet import Fleet, new_contents
from tests.support.servers.azurite import Storage

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.fixture
def fleet(package: Path, storage: Storage, tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(package, tmp_path, storage, partitions=4, renew_s=1.0, expire_s=6.0) as started:
        yield started


def test_partitions_move_from_instances_that_die_or_are_replaced_and_every_event_is_there_once(fleet: Fleet) -> None:
    dies, stays = fleet.start(failpoint="parser.after_schemas:2"), fleet.start()
    with fleet.load(new_contents(), every_s=0.1):
        dies.wait_dead()  # it dies during a commit, after writing some tables but not the last one
        stays.wait_delivers(fleet.partitions)
        new = fleet.start()
        new.wait_delivered()
        stays.drain()
        new.wait_delivers(fleet.partitions)
    found = fleet.reckon()
    assert all(member.delivered() for member in fleet.members)
    assert found["events"] == len(fleet.posted.acknowledged)
