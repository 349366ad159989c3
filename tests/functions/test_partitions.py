"""The partitions of one process on a real log and a real lake: their order, and batches that kill the process."""

import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from headwater.common.errors import LogUnavailable
from headwater.intake.parser.partitions import Partition, Partitions
from headwater.lake.attempts import MAX_DEATHS, UnfinishedAttempts
from headwater.operations.runtime.parser_trouble import ParserTrouble
from headwater.operations.runtime.troubles import service_troubles
from tests.support.data.made_events import body, run_event
from tests.support.data.parsing import World

pytestmark = pytest.mark.slow


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.append(*(body(run_event()) for _ in range(6)))
    return world


def partition(world: World, deaths: int = 0) -> Partition:
    """Open the partition as after `deaths` failed attempts at the watermark."""
    attempts = world.folder / "run" / "attempts-0.json"
    attempts.write_text(f"[0, {deaths - 1}]")
    return Partition(world.reader(), world.parser(), UnfinishedAttempts(attempts))


def test_two_deliveries_are_as_far_apart_as_asked(world: World) -> None:
    partitions = Partitions(lambda _: partition(world), 0.3, ParserTrouble(world.folder, world.bronze))
    began = time.monotonic()
    for last in (2, 4, 6):
        partitions.commit_delivery("0", world.records(last - 1, last))
    assert time.monotonic() - began >= 0.6
    assert world.placed() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("deaths", "commits"), [(0, 1), (5, 2)])
def test_a_delivery_that_was_a_process_s_death_is_tried_in_smaller_parts(
    world: World, deaths: int, commits: int
) -> None:
    before = DeltaTable(world.bronze.events.uri).version() if world.bronze.exists() else 0
    partition(world, deaths).commit_delivery(world.records(1, 6))
    assert DeltaTable(world.bronze.events.uri).version() - before == commits
    assert world.placed() == [1, 2, 3, 4, 5, 6]


def test_a_record_that_kills_again_and_again_is_rejected_unread(world: World) -> None:
    partition(world, MAX_DEATHS + 1).commit_delivery(world.records(1, 6))
    assert world.reasons() == {1: "kills_parser"}
    assert world.placed() == [1, 2, 3, 4, 5, 6]


def test_a_partition_that_cannot_be_opened_is_opened_again_next_time(world: World) -> None:
    found = iter([LogUnavailable("The hub does not answer. It is tried again."), partition(world)])

    def opening(_: str) -> Partition:
        if isinstance(opened := next(found), LogUnavailable):
            raise opened
        assert isinstance(opened, Partition)
        return opened

    partitions = Partitions(opening, 0, ParserTrouble(world.folder, world.bronze))
    with pytest.raises(LogUnavailable):
        partitions.commit_delivery("0", world.records(1, 6))
    assert service_troubles(world.folder)["parser"] == "Partition 0: The hub does not answer. It is tried again."
    partitions.commit_delivery("0", world.records(1, 6))
    assert service_troubles(world.folder) == {}
    assert world.placed() == [1, 2, 3, 4, 5, 6]
