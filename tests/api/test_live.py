"""`live`: server-sent events from a running `headwater up`, resuming after an event id, and many clients."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from headwater.api.live_feed import LIVE_EVENTS, LiveFeed, RejectedHappened
from headwater.index.home import IndexHome
from headwater.index.reading.feed import FeedReader
from headwater.index.writing.follower import IndexFollower
from headwater.lineage.names.canonical_names import default_rules
from tests.reference.small_events import CLEAR, made, run
from tests.reference.world_events import dataset, source, uuid
from tests.support.cleanup import until_end
from tests.support.data.parsing import World, event
from tests.support.data.shop import API, EVENTS, LAKE, SILVER, Asker, up
from tests.support.running import Running

pytestmark = pytest.mark.slow

REPLACED = run(30, 150, made(SILVER, {"email": [source((LAKE, "raw/mails"), "mail", CLEAR)]}, columns="email"),
               job="to_silver")  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with up(tmp_path_factory.mktemp("live") / "data") as started:
        yield started


@pytest.fixture(scope="module")
def shop(running: Running) -> Iterator[Asker]:
    with Asker(running.url) as asker:
        asker.post(*EVENTS)
        yield asker


class Listener:
    """One stream. `until` reads up to the first matching event."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()
        self.seen: list[tuple[str, str, Any]] = []
        self.hello = self.next()

    def next(self) -> tuple[str, str, Any]:
        found: dict[str, str] = {}
        for line in self._lines:
            name, _, value = line.partition(": ")
            if not line and found:
                event = (found["id"], found["event"], json.loads(found["data"]))
                if event[1] in LIVE_EVENTS:
                    msgspec.convert(event[2], LIVE_EVENTS[event[1]])
                self.seen.append(event)
                return event
            if name.strip(":"):
                found[name] = value
        raise AssertionError(f"The stream ended after {self.seen}")

    def until(self, kind: str, **said: Any) -> tuple[str, str, Any]:
        while True:
            event = self.next()
            if event[1] == kind and said.items() <= event[2].items():
                return event


@contextlib.contextmanager
def listening(shop: Asker, last_id: str | None = None, **parameters: str) -> Iterator[Listener]:
    headers = {"last-event-id": last_id} if last_id else {}
    with shop.client.stream("GET", f"{API}/live", headers=headers, params=parameters, timeout=60) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream"
        yield Listener(answer)


def test_runs_and_edges_are_told_and_a_client_goes_on_where_it_was(shop: Asker) -> None:
    with listening(shop) as first, listening(shop) as second:
        assert (first.hello[1], second.hello[1]) == ("hello", "hello")
        shop.post({**REPLACED, "eventType": "START"})
        started = first.until("run", run=uuid(30), state="RUNNING")
        assert started[2]["job"] == {"namespace": "jobs", "name": "to_silver"}
        shop.post(REPLACED, run(31, 160, reads=[dataset(SILVER)], job="other"))
        for listener in (first, second):
            listener.until("run", run=uuid(30), state="COMPLETE")
            edge = listener.until("edge", change="appeared")[2]
            assert (edge["from"]["dataset"], edge["to"]["dataset"], edge["columns"]) == (
                "raw/mails", "silver/customers", 1,
            )  # fmt: skip
            ended = listener.until("edge", change="ended")
            assert ended[2]["from"]["dataset"] == "bronze/customers"
    for again in ({"last_id": started[0]}, {"lastEventId": started[0]}):
        with listening(shop, **again) as third:
            assert third.hello[:2] == (started[0], "hello")
            third.until("edge", change="ended")
            assert ("run", "COMPLETE") in {(kind, value.get("state")) for _, kind, value in third.seen}
            assert not {value["run"] for _, kind, value in third.seen if value.get("state") == "RUNNING"}


@pytest.mark.parametrize("last_id", ["1-1", "nonsense", "-", "9" * 39])
def test_an_id_that_is_not_known_any_more_is_told_to_begin_anew(shop: Asker, last_id: str) -> None:
    with listening(shop, last_id) as listener:
        assert listener.hello[1] == "reset"


def test_a_client_that_goes_frees_its_place_and_others_go_on(shop: Asker, running: Running) -> None:
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(listening(shop)) for _ in range(40)]
        hang_up = socket.create_connection(("127.0.0.1", running.port))
        hang_up.sendall(f"GET {API}/live HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        hang_up.recv(64)
        hang_up.close()
        shop.post(run(40, 200, reads=[dataset(SILVER)], job="other"))
        for listener in many:
            listener.until("run", run=uuid(40))


def test_a_wrong_parameter_is_refused(shop: Asker) -> None:
    assert "does not take the parameter" in shop.refused("live", 400, since="x")["error"]


def test_rejections_are_told_once(tmp_path: Path) -> None:
    """Only events from older logs can be rejected, because the receiver refuses invalid events."""
    world, home = World(tmp_path), IndexHome(tmp_path / "index")
    follower, reader = until_end(IndexFollower(home, world.bronze)), until_end(FeedReader(home))
    for number in range(3):
        world.append(b"{}", event(number))
        world.parser().commit_next()
        while follower.process_batches(default_rules()):
            pass
    told, place = reader.read_changes(reader.end_of_feed()._replace(number=0))
    rejected = [happened.content for happened in told if happened.kind == "rejected"]
    assert [msgspec.convert(value, RejectedHappened).reason for value in rejected] == ["shape"] * 3
    assert reader.read_changes(place) == ([], place)
    assert reader.find_place(told[-1].id) == place
    reader.close()
    follower.close()


def test_a_client_that_takes_nothing_is_let_go(tmp_path: Path) -> None:
    world, home = World(tmp_path), IndexHome(tmp_path / "index")
    follower = IndexFollower(home, world.bronze)
    world.append(event(1))
    world.parser().commit_next()
    while follower.process_batches(default_rules()):
        pass
    follower.close()

    async def listen() -> None:
        live = LiveFeed(home, slow_s=0.01)
        stream = await live.add_client(None)
        assert live.client_count == 1

        async def take_the_head_only(message: Any) -> None:
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()

        async def stay() -> Any:
            await asyncio.Event().wait()

        await asyncio.wait_for(stream({}, stay, take_the_head_only), 30)
        assert live.client_count == 0

    asyncio.run(listen())


def test_streams_end_with_the_server(tmp_path_factory: pytest.TempPathFactory) -> None:
    with up(tmp_path_factory.mktemp("ending") / "data") as running, Asker(running.url) as shop:
        shop.post(*EVENTS[:1])
        with listening(shop) as listener:
            running.stop()
            with pytest.raises(AssertionError, match="The stream ended"):
                listener.next()
