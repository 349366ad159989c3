"""Columns that become readable: the sink reports each once, and reports nothing after incomplete answers."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.common.errors import WrongSetting
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.control.service import redrive_failures
from headwater.sinks.interface.support import support_for
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.running.runner import SinkRunner
from headwater.sinks.targets.webhook.target import support_table
from tests.reference.small_events import CLEAR, HASHED, made, run
from tests.reference.world_events import Json, dataset, facet, schema, source
from tests.sinks.test_webhook import SECRET, verify
from tests.support.data.made_events import body, run_event
from tests.support.data.shop import LAKE, Asker, up
from tests.support.data.sink_world import SinkWorld, no_token, sink
from tests.support.running import Running
from tests.support.servers.sink_target import Asked, Said, SinkServer, eventually, sink_server

pytestmark = pytest.mark.slow

RAW, SAFE, SHARED = ((LAKE, f"exposed/{name}") for name in ("raw", "safe", "shared"))
ENVIRONMENT = {"HOOK": SECRET, "READER": "key-of-a-reader"}

BEHIND = b'{"error": "no tag", "field": null, "fix": "ask again", "behind": 1.5, "nearest": []}'

TICK = ["--tick", "50ms"]
KILLED = {"HEADWATER_FAILPOINT": "sinks.looked:2"}
"""The first check after the baseline, which leads to a notice."""


def wrote(number: int, name: tuple[str, str], how: Json, job: str = "mask") -> Json:
    """Return a run that writes the tagged column, in the clear or masked."""
    tags = facet(tags=[{"key": "pii", "value": "true", "field": "email"}])
    reads = [dataset(RAW, schema=schema(["email"]), tags=tags)]
    return run(500 + number, 10 * number, made(name, {"Email": [source(RAW, "email", how)]}, columns="Email"),
               reads=reads, job=job)  # fmt: skip


@pytest.fixture(scope="module")
def headwater(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with up(tmp_path_factory.mktemp("asked") / "data") as running:
        yield running


class Door:
    """A proxy for a Headwater that returns its answers, unless a test makes it fail."""

    def __init__(self, inner: str, server: SinkServer) -> None:
        self.url = server.url
        self.server = server
        self.fails: Said | None = None
        self.most: int | None = None
        """The limit for columns in an answer, whatever the sink asks for."""
        self.is_older = False
        """Answer like an older version that did not list tagged columns."""
        self.inner = inner
        server.answer = self._answer

    def _answer(self, asked: Asked) -> Said:
        if self.fails:
            return self.fails
        path = asked.path if self.most is None else asked.path.replace("limit=10000", f"limit={self.most}")
        try:
            said = httpx.get(self.inner + path, timeout=60)
        except httpx.TransportError:
            return Said(hang_up=True)
        if self.is_older and said.status_code == 200:
            answer = said.json()
            items = [each for each in answer["items"] if not each.pop("tagged")]
            return Said(200, json.dumps(answer | {"items": items}).encode())
        return Said(said.status_code, said.content)

    def look_twice(self) -> None:
        """Wait for two more checks, so that the result of the first one is stored."""
        before = len(self.server.asked)
        self.server.wait(lambda: len(self.server.asked) >= before + 3)


@contextmanager
def a_door(running: Running) -> Iterator[Door]:
    with sink_server() as server:
        yield Door(running.url, server)


def hook_to(url: str, **options: Any) -> Any:
    return sink(**{"type": "webhook", "url": url, "secret": {"env": "HOOK"}, "every": "1ms"} | options)


def hook(server: SinkServer, asked: str, **options: Any) -> Any:
    where = {"url": asked, "key": {"env": "READER"}, "every": "1m"}
    return hook_to(server.url, **{"headwater": where} | options)


def looked(world: SinkWorld, runner: SinkRunner, door: Door) -> None:
    """Advance the clock by a minute, and wait until the sink has checked and is caught up."""
    before = len(door.server.asked)
    world.later_us += 60_000_000
    eventually(lambda: len(door.server.asked) > before)
    eventually(lambda: runner.status.state == "caught up")


def in_trouble(runner: SinkRunner, words: str) -> None:
    eventually(lambda: words in (runner.status.trouble or ""))


def test_a_column_is_told_once_when_it_becomes_readable_and_again_when_it_comes_back(
    headwater: Running, tmp_path: Path
) -> None:
    world = SinkWorld(tmp_path)
    with Asker(headwater.url) as asker, sink_server() as server, a_door(headwater) as door:
        out = hook(server, door.url)
        asker.post(wrote(0, SHARED, CLEAR, "share"), wrote(1, SAFE, HASHED))
        world.settle(out, ENVIRONMENT)
        assert server.taken == []  # columns that are readable from the beginning belong to the baseline
        asker.post(wrote(2, SAFE, CLEAR))
        with world.running(out, ENVIRONMENT) as runner:
            server.wait(lambda: len(server.taken) == 1)
            looked(world, runner, door)
        world.settle(out, ENVIRONMENT)  # a restart
        world.ledger.reset("out", {})
        world.settle(out, ENVIRONMENT)  # history is sent again
        (asked,) = server.asked
        (notice,) = server.taken
        assert (notice["type"], notice["id"][:4], notice["timestamp"][-1]) == ("column.exposed", "msg_", "Z")
        raw = {"namespace": LAKE, "dataset": RAW[1], "column": "email"}
        assert notice["data"] == {
            "tag": "pii", "namespace": LAKE, "dataset": SAFE[1], "column": "Email", "source": raw,
            "via": raw | {
                "job": {"namespace": "jobs", "name": "mask"},
                "transformation": {"type": "DIRECT", "subtype": "", "masking": False, "description": None},
            },
        }  # fmt: skip
        assert verify(json.dumps(asked.events[0], separators=(",", ":")).encode(), {**asked.headers}, SECRET)
        assert {each.headers.get("authorization") for each in door.server.asked} == {"Bearer key-of-a-reader"}
        with world.running(out, ENVIRONMENT) as runner:
            asker.post(wrote(3, SAFE, HASHED))
            looked(world, runner, door)
            asker.post(wrote(4, SAFE, CLEAR))
            looked(world, runner, door)
            server.wait(lambda: len(server.taken) == 2)
        assert server.taken[0]["data"] == server.taken[1]["data"]
        assert server.taken[0]["id"] != server.taken[1]["id"]


def test_a_column_that_has_the_tag_itself_is_never_told(headwater: Running, tmp_path: Path) -> None:
    """This holds after an upgrade of the Headwater behind the sink, and when more columns are tagged."""
    world, copy = SinkWorld(tmp_path), (LAKE, "exposed/copied")
    tags = facet(tags=[{"key": "pii", "value": "true", "field": "mail"}])
    more = [dataset((LAKE, f"exposed/own/{n}"), schema=schema(["mail"]), tags=tags) for n in range(3)]
    with Asker(headwater.url) as asker, sink_server() as server, a_door(headwater) as door:
        out = hook(server, door.url)
        asker.post(wrote(20, copy, HASHED, "copy"))
        door.is_older = True
        world.settle(out, ENVIRONMENT)
        kept = world.ledger.poll_state("out")
        door.is_older = False
        with world.running(out, ENVIRONMENT) as runner:
            looked(world, runner, door)
            asker.post(run(521, 521, made((LAKE, "exposed/opaque"), {}, tags=tags, columns="mail"), reads=more))
            own = asker.ask("surface", tag="pii", exposure="tagged")["items"]
            assert {(each["exposure"], each["dataset"]) for each in own} >= {
                ("exposed", name) for name in (RAW[1], "exposed/own/0", "exposed/opaque")
            }
            looked(world, runner, door)
            assert world.ledger.poll_state("out") == kept
            asker.post(wrote(22, copy, CLEAR, "copy"))
            looked(world, runner, door)
            server.wait(lambda: len(server.taken) == 1)
            assert runner.status.trouble is None
        assert server.taken[0]["data"]["dataset"] == copy[1]


def test_an_answer_that_is_not_whole_changes_nothing_and_holds_no_event_up(headwater: Running, tmp_path: Path) -> None:
    world, names = SinkWorld(tmp_path), [(LAKE, f"exposed/whole/{each}") for each in range(3)]
    with Asker(headwater.url) as asker, sink_server() as server, a_door(headwater) as door:
        out = hook(server, door.url)
        asker.post(wrote(10, names[0], CLEAR, "whole0"), wrote(11, names[1], CLEAR, "whole1"))
        world.settle(out, ENVIRONMENT)
        kept = world.ledger.poll_state("out")
        with world.running(out, ENVIRONMENT) as runner:
            for fault, words in (
                (Said(503, BEHIND), "status 503"), (Said(404, b'{"error": "no such route"}'), "status 404"),
                (Said(401), "status 401"), (Said(hang_up=True), "No response"),
                (Said(200, b"<html>log in</html>"), "log in"),
                (Said(200, b'{"items": [', {"content-length": "1000"}), "No response"),
            ):  # fmt: skip
                door.fails = fault
                looked(world, runner, door)
                in_trouble(runner, words)
                assert door.url in (runner.status.trouble or "")
                assert "key-of-a-reader" not in (runner.status.trouble or "")
            door.fails, door.most = None, 1
            looked(world, runner, door)
            in_trouble(runner, "more than 10000")
            world.store(body(run_event(eventType="FAIL")))
            server.wait(lambda: [each["type"] for each in server.taken] == ["run.failed"])
            assert world.ledger.poll_state("out") == kept
            asker.post(wrote(12, names[2], CLEAR, "whole2"))
            door.most = None
            looked(world, runner, door)
            server.wait(lambda: len(server.taken) == 2)
            eventually(lambda: runner.status.trouble is None)
        assert server.taken[1]["data"]["dataset"] == names[2][1]


def test_a_contract_is_told_once_when_it_breaks(headwater: Running, tmp_path: Path) -> None:
    world, name = SinkWorld(tmp_path), (LAKE, "exposed/contract")
    file = headwater.folder / "contracts" / "contract.yml"
    file.parent.mkdir()
    try:
        with Asker(headwater.url) as asker, sink_server() as server, a_door(headwater) as door:
            asker.post(wrote(60, name, HASHED, "agreed"))
            file.write_text(asker.get("contract.yml", dataset=name[1]).text)
            out = hook(server, door.url, notices=["contract.broken"])
            world.settle(out, ENVIRONMENT)
            assert server.taken == []  # the contract is not broken
            asker.post(broke := wrote(61, name, CLEAR, "agreed"))
            world.settle(out, ENVIRONMENT)
            world.settle(out, ENVIRONMENT)
            (notice,) = server.taken
            (found,) = notice["data"]["breaks"]
            (listed,) = asker.ask("contracts")["items"]
        assert (notice["type"], notice["data"]["file"]) == ("contract.broken", "contract.yml")
        assert (found["kind"], found["run"]) == ("mask.removed", broke["run"]["runId"])
        assert (listed["state"], listed["breaks"]) == ("broken", [found])
    finally:
        file.unlink(missing_ok=True)


def test_a_kill_before_a_look_is_kept_repeats_its_notices_with_their_ids(headwater: Running, tmp_path: Path) -> None:
    world, name = SinkWorld(tmp_path), (LAKE, "exposed/killed")
    with Asker(headwater.url) as asker, sink_server() as server:
        out = hook(server, headwater.url)
        asker.post(wrote(20, SHARED, CLEAR, "share"))
        world.settle(out, ENVIRONMENT)
        before = world.ledger.poll_state("out")
        asker.post(wrote(21, name, CLEAR, "killed"))
        world.settle(out, ENVIRONMENT)
        world.ledger.set_poll_state("out", before)  # as a kill after the delivery leaves the state
        world.settle(out, ENVIRONMENT)
        world.settle(out, ENVIRONMENT)
    first, again = server.taken
    assert (first["id"], first["data"]) == (again["id"], again["data"])


def test_a_tag_that_nobody_knows_yet_has_an_empty_baseline_and_only_keeps_back_jobs(
    headwater: Running, tmp_path: Path
) -> None:
    world, names = SinkWorld(tmp_path), [(LAKE, f"exposed/late/{each}") for each in range(2)]
    late = facet(tags=[{"key": "salary", "value": "true", "field": "pay"}])
    reads = [dataset((LAKE, "exposed/late/raw"), schema=schema(["pay"]), tags=late)]
    events = [
        run(
            630 + number,
            300,
            made(name, {"pay": [source((LAKE, "exposed/late/raw"), "pay", CLEAR)]}),
            reads=reads,
            job=job,
        )
        for number, (name, job) in enumerate(zip(names, ("wanted", "other"), strict=True))
    ]
    with Asker(headwater.url) as asker, sink_server() as server:
        where = {"url": headwater.url, "tags": ["salary"]}
        out = hook(server, "", headwater=where, only={"jobs": ["want*"]}, notices=["column.exposed"])
        asker.post(wrote(30, SHARED, CLEAR, "share"))
        with world.running(out, ENVIRONMENT):
            eventually(lambda: world.ledger.poll_state("out").turn)
        asker.post(*events)
        world.settle(out, ENVIRONMENT)
    assert [each["data"]["dataset"] for each in server.taken] == [names[0][1]]
    assert len(world.ledger.poll_state("out").seen["salary"]) == 2


def test_a_refused_notice_is_a_dead_letter_and_is_redriven_while_the_column_is_exposed(
    headwater: Running, tmp_path: Path
) -> None:
    world, name = SinkWorld(tmp_path), (LAKE, "exposed/refused")
    with Asker(headwater.url) as asker, sink_server() as server:
        out = hook(server, headwater.url)
        asker.post(wrote(40, SHARED, CLEAR, "share"))
        world.settle(out, ENVIRONMENT)
        server.answer = lambda _: Said(410)
        asker.post(wrote(41, name, CLEAR, "refused"))
        world.settle(out, ENVIRONMENT)
        world.settle(out, ENVIRONMENT)
        assert [row["reason"] for row in world.ledger.failures("out", 10)] == ["status 410: {}"]
        server.answer = lambda _: Said()
        with closing(open_sink(out, Secrets(no_token, ENVIRONMENT).reveal)) as target:
            counted = redrive_failures(world.bronze, world.ledger, out, target)
        assert counted == {"delivered": 1, "refused": 0, "gone": 0}
    assert [each["data"]["dataset"] for each in server.taken] == [name[1]]
    assert world.ledger.failures("out", 10) == []


def test_what_notices_hold_of_lineage_depends_on_whether_headwater_is_asked() -> None:
    asked = hook_to("http://127.0.0.1:1", headwater={"url": "http://127.0.0.1:1"})
    for out, held in ((asked, "part"), (hook_to("http://127.0.0.1:1"), "not")):
        declared = support_table(out.options)
        assert {support_for(declared, *thing).held for thing in (("value edge", ""), ("dataset facet", "tags"))} == {
            held
        }


def test_whom_to_ask_is_named_and_checked(headwater: Running) -> None:
    with pytest.raises(WrongSetting, match=r"column\.exposed.*headwater"):
        hook_to("http://127.0.0.1:1", notices=["column.exposed"])
    with pytest.raises(WrongSetting, match=r"every.*1"):
        hook_to("http://127.0.0.1:1", headwater={"url": "http://127.0.0.1:1", "every": "1ms"})
    with pytest.raises(WrongSetting, match=r"the file must not contain a secret"):
        hook_to("http://127.0.0.1:1", headwater={"url": "http://127.0.0.1:1", "key": "bare"})
    with Asker(headwater.url) as asker, sink_server() as server:
        asker.post(wrote(50, SHARED, CLEAR, "share"))
        with closing(open_sink(hook(server, headwater.url), Secrets(no_token, ENVIRONMENT).reveal)) as target:
            assert "columns with the tag 'pii' are exposed" in target.check()


def test_the_process_of_sinks_asks_its_own_headwater_and_is_killed_before_it_keeps_what_it_told(tmp_path: Path) -> None:
    data, name = tmp_path / "data", (LAKE, "exposed/up")
    with sink_server() as server, sink_server() as between:
        with Running(data, options=TICK, cwd=tmp_path, environment=ENVIRONMENT | KILLED) as running:
            door = Door(running.url, between)
            where = {"url": door.url, "every": "1s"}
            out = {"type": "webhook", "url": server.url, "secret": {"env": "HOOK"}, "headwater": where}
            with Asker(running.url) as asker:
                asker.post(wrote(60, SHARED, CLEAR, "share"))
                (data / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": {"out": out}}))
                door.look_twice()
                asker.post(wrote(61, name, CLEAR, "up"))
            server.wait(lambda: len(server.taken) == 2)
            door.look_twice()
            running.kill_all()
        with Running(data, options=TICK, cwd=tmp_path, environment=ENVIRONMENT) as running:
            door.inner = running.url
            with Asker(running.url) as asker:
                asker.wait_for("surface", exposure="exposed")
            door.look_twice()
    assert [each["data"]["dataset"] for each in server.taken] == [name[1]] * 2
    assert len({each["id"] for each in server.taken}) == 1
