"""New data is processed as soon as it arrives. A tick limits the commit rate, and the delay after a lost wake-up."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from deltalake import DeltaTable

from headwater.events.position import Source
from headwater.index.reading.status import published_progress
from headwater.index.writing.follower import IndexFollower
from headwater.operations.local.child_process import NotificationPipe, decode_positions, encode_position
from headwater.operations.local.parser_process import ParserLoop
from headwater.operations.runtime.index import open_index_home, open_rules
from tests.reference.small_events import CLEAR, made, run
from tests.reference.world_events import Json, source
from tests.support.cleanup import until_end
from tests.support.data.parsing import World, event
from tests.support.data.shop import LAKE, Asker
from tests.support.running import TIMEOUT_S, Running, headwater
from tests.support.waiting import rest

NEVER_S = 3600.0
SOURCE = Source("local", "life", "0")


def lineage(number: int) -> Json:
    return run(number, number, made((LAKE, f"out/{number}"), {"x": [source((LAKE, "in"), "x", CLEAR)]}))


def test_a_wake_waits_for_who_is_to_be_woken_and_one_look_answers_any_number() -> None:
    wake = NotificationPipe.create()
    for number in range(20_000):  # more than the pipe can hold
        wake.notify(encode_position(SOURCE, number))
    wake.wait(NEVER_S)
    assert decode_positions(wake.take_notes()).keys() == {SOURCE}
    assert wake.take_notes() == []


def test_who_waits_is_woken_by_another_thread() -> None:
    wake = NotificationPipe.create()
    ringing = threading.Thread(target=wake.notify)
    ringing.start()
    wake.wait(NEVER_S)
    assert decode_positions(wake.take_notes()) == {}
    ringing.join()


class Woken:
    """A folder's parser in a thread, its wake pipe, and the pipe with which it wakes the index."""

    def __init__(self, folder: Path, tick_s: float) -> None:
        self.world = World(folder, tick_s=tick_s)
        self.wake, self.index = NotificationPipe.create(), NotificationPipe.create()

    def post(self, *bodies: bytes) -> None:
        self.world.append(*bodies)
        self.wake.notify()

    def reached(self) -> int:
        """Wait for the next commit announced to the index. Returns the last record in it."""
        self.index.wait(TIMEOUT_S)
        (last,) = decode_positions(self.index.take_notes()).values()
        return last

    @contextmanager
    def parsing(self) -> Iterator[None]:
        stop = threading.Event()
        loop = ParserLoop(self.world.settings, self.world.folder, stop, self.wake, self.index)
        thread = threading.Thread(target=loop.run)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            self.wake.notify()
            thread.join(TIMEOUT_S)
            assert not thread.is_alive()


def test_the_first_event_after_a_quiet_moment_is_committed_at_once_and_the_index_is_told_how_far_that_goes(
    tmp_path: Path,
) -> None:
    woken = Woken(tmp_path, NEVER_S)
    woken.world.append()
    with woken.parsing():
        while not woken.world.bronze.exists():
            rest()
        woken.post(event(1), event(2), event(1))
        assert woken.reached() == 3
    assert woken.world.sequences("events") == [1, 2]


@pytest.mark.slow
def test_under_load_a_tick_lies_between_two_commits(tmp_path: Path) -> None:
    tick_s, events = 0.25, 60
    woken = Woken(tmp_path, tick_s)
    began = time.monotonic()
    with woken.parsing():
        for number in range(events):
            woken.post(event(number))
        while woken.reached() < events:
            rest()
        took_s = time.monotonic() - began
    commits = [entry for entry in DeltaTable(woken.world.bronze.events.uri).history() if entry["operation"] == "WRITE"]
    assert 1 < len(commits) <= 1 + took_s / tick_s
    assert woken.world.placed() == list(range(1, events + 1))


@pytest.mark.slow
def test_an_event_is_answered_though_no_tick_ever_comes(tmp_path: Path) -> None:
    with Running(tmp_path, options=["--tick", f"{NEVER_S:.0f}s"]) as running, Asker(running.url) as asker:
        while not (tmp_path / "lake" / "bronze" / "events" / "_delta_log").exists():
            running.wait_pid("parser")  # from now on the parser waits for a wake-up
            rest()

        assert asker.client.post("/api/v1/lineage", json=lineage(1)).status_code == 200
        asker.wait_for("upstream", namespace=LAKE, dataset="out/1")


@pytest.mark.slow
@pytest.mark.parametrize("point", ["log.after_sync", "parser.after_column_lineage", "parser.after_events"])
def test_a_process_killed_before_it_wakes_the_next_costs_a_tick_and_nothing_else(tmp_path: Path, point: str) -> None:
    environment = {"HEADWATER_FAILPOINT": point, "HEADWATER_TICK_S": "0.5"}
    with Running(tmp_path, environment=environment) as running, Asker(running.url) as asker:
        with suppress(httpx.TransportError):  # `serve` may be killed after it stored the event
            asker.client.post("/api/v1/lineage", json=lineage(1))
        running.wait_line("exited with status -9")
        asker.wait_for("upstream", namespace=LAKE, dataset="out/1")
        audit = json.loads(headwater("audit", "--json", "--data", tmp_path).stdout)
    assert audit | {"received": 1, "stored": 1, "pending": 0, "balanced": True} == audit


class Followed:
    """A lake and the index that follows it, with or without notifications."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self._home = open_index_home(self.world.folder)
        self._names = open_rules(self.world.settings).current_rules().names
        self._follower = until_end(IndexFollower(self._home, self.world.bronze))

    def store(self, *runs: object) -> Source:
        self.world.append(*map(event, runs))
        self.world.parser().commit_next()
        return self.world.reader().source

    def step(self, told: dict[Source, int]) -> int:
        return self._follower.process_batches(self._names, told)

    def place(self) -> list[int]:
        return list(published_progress(self._home).values())


def test_told_how_far_bronze_is_the_index_is_there_after_one_step(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    told = followed.store(1)
    while followed.step({}):
        pass
    assert followed.place() == [1]
    followed.store(2, 3)
    assert followed.step({told: 3}) == 2
    assert followed.place() == [3]


@pytest.mark.slow
@pytest.mark.parametrize("head", [1, 2, 7, 1_000_000])
def test_wrongly_told_the_index_passes_over_nothing(tmp_path: Path, head: int) -> None:
    followed = Followed(tmp_path)
    told = followed.store(1)
    stranger = Source(told.log, "another life", told.partition)
    while followed.step({told: head, stranger: head}):
        pass
    assert followed.place() == [1]
    followed.store(2, 3)
    while followed.step({told: head, stranger: head}):
        pass
    assert followed.place() == [3]
    assert followed.store(4)
    while followed.step({told: head}):
        pass
    assert followed.place() == [4]
