"""Event Hubs as the log, with the real SDK and a server with faults: the hub has every acknowledged event."""

import asyncio
import gc
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from headwater.common.errors import LogUnavailable, WrongSetting
from headwater.intake.event_log import Record, RecordKind, partition_key_of
from headwater.intake.event_log.event_hub_clients import HubAddress
from headwater.intake.event_log.event_hub_log import EventHubLog
from headwater.intake.event_log.folder_claims import ClaimCheck, FolderClaims
from tests.support.servers.event_hub import SECRET, Fault, HubServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]  # when opening a link is interrupted, the SDK leaves its socket to the garbage collector

TIMEOUT_S = 20.0
SHORT_S = 0.7
"""Timeout for a hub that does not answer. The receiver's own timeout is 2.4 s."""
HANGS_S = 40.0
"""A request without an answer after this time counts as forgotten."""

KEYS = {
    name: next(str(n) for n in range(999) if partition_key_of(str(n)) == name) for name in (f"b{n}" for n in range(64))
}
"""A key for each bucket."""


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as started:
        yield started
    gc.collect()


@asynccontextmanager
async def opened(
    hub: HubServer, *, queued_bytes: int = 64 << 20, name: str = "openlineage"
) -> AsyncIterator[EventHubLog]:
    log = EventHubLog(
        HubAddress(name, connection=hub.connection_string), queued_bytes=queued_bytes, forget_claims=lambda: None
    )
    try:
        yield log
    finally:
        await log.aclose()


def tried(hub: HubServer, work: Callable[[EventHubLog], Awaitable[None]], *, queued_bytes: int = 64 << 20) -> None:
    """Run a function that uses a log, with a time limit."""

    async def run() -> None:
        async with asyncio.timeout(HANGS_S * 3), opened(hub, queued_bytes=queued_bytes) as log:
            await work(log)

    asyncio.run(run())


def record(body: str, key: str = "run") -> Record:
    return Record(RecordKind.EVENT, body.encode(), '{"key":"spark"}', key)


async def taken(log: EventHubLog | ClaimCheck, *records: Record, timeout_s: float = TIMEOUT_S) -> bool:
    """Append records and return whether they were acknowledged. Raises an error if no answer comes."""
    async with asyncio.timeout(HANGS_S):
        try:
            await log.append(records, timeout_s=timeout_s)
        except LogUnavailable:
            return False
    return True


async def until_well(log: EventHubLog) -> None:
    async with asyncio.timeout(HANGS_S):
        while log.unavailability_reason():
            await asyncio.sleep(0.02)  # the log announces no recovery, so poll


def bodies(hub: HubServer) -> set[str]:
    return {event.body.decode() for event in hub.stored()}


def test_what_is_acknowledged_is_in_the_hub_and_requests_of_one_moment_share_sends(hub: HubServer) -> None:
    async def work(log: EventHubLog) -> None:
        answers = await asyncio.gather(*(taken(log, record(f"{n}", f"run {n % 4}")) for n in range(400)))
        assert all(answers)

    tried(hub, work)
    assert sorted(map(int, (event.body for event in hub.stored()))) == list(range(400))
    assert len(hub.sends) < 100
    assert hub.stored()[0].properties == {b"k": 0, b"h": b'{"key":"spark"}'}
    assert {event.key for event in hub.stored()} == {partition_key_of(f"run {n}").encode() for n in range(4)}


WORDS = {
    Fault.THROTTLED: ["throttled", "Add units"],
    Fault.DROPS_BEFORE: ["closed the connection", "firewall"],
    Fault.DROPS_AFTER: ["closed the connection", "firewall"],
    Fault.SILENT: ["did not answer in time"],
    Fault.DETACHES: ["closed by the service"],
    Fault.DEAF: ["did not answer in time"],
    Fault.TOKEN_REFUSED: ["rejects the token", "Renew the key", "ExpiredToken"],
    Fault.NOT_ALLOWED: ["does not allow this identity to send", "Azure Event Hubs Data Sender"],
    Fault.NO_SUCH_HUB: ["There is no event hub 'openlineage'", "`hub_name`"],
    None: ["cannot be reached", "`hub_namespace`"],
}
"""Each fault, and the words in its one-line message. None: the hub does not listen."""


@pytest.mark.parametrize("fault", WORDS, ids=lambda fault: fault.name if fault else "DOWN")
def test_under_each_fault_nothing_is_acknowledged_and_afterwards_all_goes_on(
    hub: HubServer, fault: Fault | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    acknowledged: list[str] = []

    async def send(log: EventHubLog, name: str) -> bool:
        await until_well(log)
        answers = await asyncio.gather(*(taken(log, record(f"{name} {n}", KEYS[f"b{n}"])) for n in range(6)))
        acknowledged.extend(f"{name} {n}" for n, answer in enumerate(answers) if answer)
        return all(answers)

    async def work(log: EventHubLog) -> None:
        assert await send(log, "before")
        begin(hub, fault)
        timeout_s = SHORT_S if fault in (Fault.SILENT, Fault.DEAF) else TIMEOUT_S
        assert not any([await taken(log, record("lost", KEYS["b1"]), timeout_s=timeout_s) for _ in range(2)])
        assert log.unavailability_reason()
        if fault is None:
            hub.up()
        hub.switch(None)
        while not await taken(log, record("again", KEYS["b1"]), timeout_s=timeout_s):
            pass
        assert await send(log, "after")
        assert log.unavailability_reason() is None

    tried(hub, work)
    assert len(acknowledged) == 12
    assert bodies(hub) >= set(acknowledged)
    said = [line.message for line in caplog.records if line.levelno >= logging.WARNING]
    assert len(said) == len(set(said)), "the log must report each kind of fault only once"
    assert any(all(word in line for word in WORDS[fault]) for line in said), said
    assert SECRET not in caplog.text
    assert "sig=" not in caplog.text


def begin(hub: HubServer, fault: Fault | None) -> None:
    """Start a fault for open and new connections."""
    hub.switch(fault)
    if fault is None:
        hub.down()
    elif fault in (Fault.DEAF, Fault.TOKEN_REFUSED, Fault.NOT_ALLOWED, Fault.NO_SUCH_HUB):
        hub.hang_up()  # the fault takes effect when a link is opened


@pytest.mark.parametrize("fault", [Fault.NOT_ALLOWED, None], ids=["NOT_ALLOWED", "DOWN"])
def test_a_hub_that_is_no_good_at_the_start_is_named_and_found_well_later(hub: HubServer, fault: Fault | None) -> None:
    begin(hub, fault)

    async def work(log: EventHubLog) -> None:
        assert not await taken(log, record("too early"))
        assert log.unavailability_reason()
        if fault is None:
            hub.up()
        hub.switch(None)
        while not await taken(log, record("in time")):
            pass
        assert log.unavailability_reason() is None

    tried(hub, work)
    assert bodies(hub) == {"in time"}


@pytest.mark.parametrize("spoil", [HubServer.detach, HubServer.hang_up])
def test_a_link_that_the_hub_closed_while_it_was_idle_costs_no_event(
    hub: HubServer, spoil: Callable[[HubServer], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def work(log: EventHubLog) -> None:
        assert await taken(log, record("one"))
        spoil(hub)
        assert await taken(log, record("two"))

    tried(hub, work)
    assert bodies(hub) == {"one", "two"}
    assert not caplog.records, "this is not a fault"


def test_a_run_keeps_its_order_and_its_partition_also_when_links_break(hub: HubServer) -> None:
    async def one_run(log: EventHubLog, run: int) -> None:
        for step in range(30):
            while not await taken(log, record(f"{run} {step}", f"run {run}")):
                pass
            if run == 0 and step % 10 == 5:
                hub.detach()

    async def work(log: EventHubLog) -> None:
        await asyncio.gather(*(one_run(log, run) for run in range(8)))

    tried(hub, work)
    for run in range(8):
        places = {(number, event.sequence): event for number in range(2) for event in hub.stored(number)}
        mine = [
            (place, int(body[1])) for place, event in places.items() if (body := event.body.split())[0] == b"%d" % run
        ]
        assert len({partition for (partition, _), _ in mine}) == 1
        first = list(dict.fromkeys(step for _, step in mine))
        assert first == list(range(30))


def test_what_does_not_fit_into_one_send_goes_out_in_several_in_order() -> None:
    async def work(log: EventHubLog) -> None:
        assert await taken(log, *(record(f"{n:04d}" + "x" * 996) for n in range(200)))
        with pytest.raises(LogUnavailable, match="`claim_bytes`"):
            await log.append([record("y" * 70_000)], timeout_s=TIMEOUT_S)
        assert await taken(log, record("after"))

    with HubServer(max_message_bytes=64_000) as hub:
        tried(hub, work)
        found = [event.body[:4] for event in hub.stored()]
        assert found == [*(b"%04d" % n for n in range(200)), b"afte"]
        assert len(hub.sends) > 3


def test_more_bytes_than_may_wait_are_refused_at_once(hub: HubServer) -> None:
    async def work(log: EventHubLog) -> None:
        assert await taken(log, record("first"))
        hub.switch(Fault.SILENT)
        waiting = asyncio.create_task(taken(log, record("x" * 900)))
        await asyncio.sleep(0)
        with pytest.raises(LogUnavailable, match="Over capacity"):
            await log.append([record("x" * 200)], timeout_s=HANGS_S * 2)
        hub.switch(None)
        assert await waiting
        assert await taken(log, record("x" * 200))

    tried(hub, work, queued_bytes=1000)


def test_what_was_sent_before_a_stop_is_answered_by_it(hub: HubServer) -> None:
    async def run() -> None:
        async with opened(hub) as log:
            await until_well(log)
            sending = [asyncio.create_task(taken(log, record(f"{n}", KEYS[f"b{n % 64}"]))) for n in range(100)]
            await asyncio.sleep(0)
        assert all(await asyncio.gather(*sending))
        with pytest.raises(LogUnavailable, match="stopping"):
            await log.append([record("late")], timeout_s=1)

    asyncio.run(run())
    assert len(hub.stored()) == 100


def test_a_request_whose_client_has_gone_harms_nobody(hub: HubServer) -> None:
    async def work(log: EventHubLog) -> None:
        await until_well(log)
        hub.switch(Fault.DETACHES)
        gone = asyncio.create_task(log.append([record("gone")], timeout_s=TIMEOUT_S))
        await asyncio.sleep(0)
        gone.cancel()
        hub.switch(None)
        assert await taken(log, record("here"))

    tried(hub, work)
    assert "here" in bodies(hub)


def test_bodies_above_the_limit_are_kept_beside_the_hub(hub: HubServer, tmp_path: Path) -> None:
    claims = FolderClaims(tmp_path)

    async def work(log: EventHubLog) -> None:
        checked = ClaimCheck(log, claims, 1000)
        await until_well(log)
        assert await taken(checked, record("small", "run"), record("x" * 1001, "run"))
        hub.switch(Fault.THROTTLED)
        assert not await taken(checked, record("y" * 1001, "run"))

    tried(hub, work)
    small, large = hub.stored()
    assert (small.key, small.properties[b"k"], small.body) == (large.key, 0, b"small")
    assert large.properties[b"k"] == 1
    assert claims.get(large.body) == b"x" * 1001
    claims.delete_older_than(1)
    assert claims.get(large.body)
    claims.delete_older_than(-1)
    assert claims.size(large.body) == 0


class Identity(BaseHTTPRequestHandler):
    """The endpoint from which an app with a managed identity requests tokens, as on Azure."""

    token = "eyJ-token-of-an-identity"
    status = 200
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        found = {"access_token": self.token, "expires_on": str(int(time.time()) + 3600), "resource": "r"}
        refused = {"error": "invalid_request", "error_description": f"No managed identity found. {self.token}"}
        self.send_response(self.status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(found if self.status == 200 else refused).encode())

    def log_message(self, *_: object) -> None:
        """Do not log requests."""


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Identity]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Identity) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{server.server_port}/token")
        monkeypatch.setenv("IDENTITY_HEADER", "header")
        Identity.status = 200
        Identity.asked.clear()
        yield Identity
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("client_id", [None, "5f7c0f2e-0000-4000-8000-000000000001"])
def test_the_identity_of_the_app_is_what_the_hub_sees(
    hub: HubServer, identity: type[Identity], client_id: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    address = HubAddress("openlineage", f"127.0.0.1:{hub.port}", client_id=client_id, sdk={"use_tls": False})

    async def run() -> None:
        log = EventHubLog(address, queued_bytes=1 << 20, forget_claims=lambda: None)
        try:
            await until_well(log)
            assert await taken(log, record("one"))
            identity.status = 400
            hub.hang_up()
            assert not await taken(log, record("two"))
        finally:
            await log.aclose()

    asyncio.run(run())
    assert hub.tokens == {("jwt", identity.token)}
    assert any("eventhubs.azure.net" in asked for asked in identity.asked)
    assert all((client_id or "client_id") in asked for asked in identity.asked) is bool(client_id)
    assert "Assign a managed identity" in caplog.text
    assert identity.token not in caplog.text


@pytest.mark.parametrize(
    "text", [SECRET, f"Endpoint=;SharedAccessKey={SECRET}", f"Endpoint=sb://h/;SharedAccessKey={SECRET}"]
)
def test_a_connection_string_that_is_none_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(WrongSetting, match="hub_connection") as caught:
        _ = HubAddress("openlineage", connection=text).host
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(HubAddress("openlineage", connection=text))
