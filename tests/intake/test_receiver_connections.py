"""Connections that break the rules get the documented status or are closed. They never hang, and others are served."""

import contextlib
import gzip
import json
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.data.made_events import body, run_event
from tests.support.http_client import Gateway, Wire, chunked, post, refused_by_metrics, running
from tests.support.lake_check import bronze_of

pytestmark = pytest.mark.slow  # starts three servers, and has slow clients

CHUNKED = "Transfer-Encoding: chunked"
GOOD = body(run_event())
"""An event that every test may send. It is stored once, and is a duplicate afterwards."""


@pytest.fixture(scope="module")
def running_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("connections") / "data") as started:
        yield started


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("hasty") / "data", request_timeout_s=1) as started:
        yield started


@pytest.fixture
def gateway(running_gateway: Gateway) -> Iterator[Gateway]:
    """Provide the gateway, and check after every test that the next valid request is accepted."""
    pid = running_gateway.serve_pid()
    yield running_gateway
    with Wire(running_gateway.port) as wire:
        assert wire.send(post(GOOD)).status() == 200
    assert running_gateway.serve_pid() == pid, "the process was restarted"


@pytest.fixture
def wire(gateway: Gateway) -> Iterator[Wire]:
    with Wire(gateway.port) as opened:
        yield opened


def refused(wire: Wire) -> int:
    """Read a refusal, check its form and return its status."""
    status, headers, answer = wire.reply()
    assert headers["content-type"] == "application/json"
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
    assert set(json.loads(answer)) == {"error", "field", "fix"}
    return status


NO_HTTP: dict[str, bytes] = {
    "words": b"hello, is anybody there?\r\n\r\n",
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an unknown method": b"BREW /api/v1/lineage HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an unknown version": b"POST /api/v1/lineage HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "a space before the colon": b"POST /api/v1/lineage HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "a header without a colon": b"POST /api/v1/lineage HTTP/1.1\r\nHost localhost\r\n\r\n",
    "a NUL in a header": b"POST /api/v1/lineage HTTP/1.1\r\nHost: local\0host\r\n\r\n",
    "a length of letters": post(GOOD, "Content-Length: abc", length=-1),
    "a negative length": post(GOOD, length=-5),
    "two lengths": post(GOOD, "Content-Length: 5"),
    "an endless length": post(GOOD, "Content-Length: " + "9" * 30, length=-1),
    "length and chunks": post(chunked(GOOD), CHUNKED),
    "a chunk size of letters": post(b"xyz\r\n" + GOOD, CHUNKED, length=-1),
    "a negative chunk size": post(b"-5\r\n" + GOOD, CHUNKED, length=-1),
    "an endless chunk size": post(b"f" * 40 + b"\r\n" + GOOD, CHUNKED, length=-1),
    "a chunk longer than its size": post(b"3\r\nabcdef\r\n0\r\n\r\n", CHUNKED, length=-1),
    "a header on two lines": post(GOOD, "X-Long: one\r\n two"),
    "codings that do not end in chunks": post(chunked(GOOD), CHUNKED, "Transfer-Encoding: identity", length=-1),
    "a raw path beyond ASCII": b"POST /api/v1/line\xe4ge HTTP/1.1\r\nHost: localhost\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("data", NO_HTTP.values(), ids=NO_HTTP.keys())
def test_what_is_no_http_is_400_in_our_words_and_the_connection_ends(wire: Wire, data: bytes) -> None:
    assert refused(wire.send(data)) == 400
    assert wire.closed()


@pytest.mark.parametrize(
    "path",
    ["/", "/api/v1/lineage/", "//api/v1/lineage", "/api/v1/api/v1/lineage", "/api/v1/lineage/api/v1/lineage", "//"],
)
def test_a_path_that_can_mean_only_one_address_takes_the_event(wire: Wire, path: str) -> None:
    assert wire.send(post(GOOD, path=path)).status() == 200
    assert wire.send(post(b"[]", path="/api/v1//lineage/batch/")).status() == 204


def test_json_on_a_wrong_path_is_404_names_the_right_one_and_is_counted(hasty: Gateway) -> None:
    as_json = "Content-Type: application/json"
    with Wire(hasty.port) as wire, hasty.client() as client:
        before = refused_by_metrics(client)
        for path in [f"/p{number}" for number in range(200)] + ["/lineage", "/api/v1/lineage/x", "/api/v1"] * 20:
            status, _, answer = wire.send(post(GOOD, as_json, path=path)).reply()
            assert status == 404
            assert "/api/v1/lineage" in json.loads(answer)["fix"]
        assert refused_by_metrics(client) == before + 260
        assert wire.send(post(GOOD, as_json, path="/api/headwater/v1/none")).status() == 404
        assert refused_by_metrics(client) == before + 260


def test_a_length_beyond_the_body_is_408_in_time(hasty: Gateway) -> None:
    with Wire(hasty.port) as wire:
        assert refused(wire.send(post(GOOD, length=len(GOOD) + 1))) == 408
        assert wire.closed()


def test_a_length_short_of_the_body_is_400_and_its_rest_no_request(wire: Wire) -> None:
    assert refused(wire.send(post(GOOD, length=len(GOOD) - 5))) == 400
    assert wire.closed()


def test_an_endless_length_within_64_bits_is_413(wire: Wire) -> None:
    assert refused(wire.send(post(b"", length=2**63 - 1))) == 413


def test_headers_that_never_end_are_431_however_they_come(gateway: Gateway) -> None:
    start = b"POST /api/v1/lineage HTTP/1.1\r\nHost: localhost\r\n"
    floods = [b"X-Long: " + b"x" * 300_000, b"X-Many: 1\r\n" * 30_000]
    for flood in floods:
        with Wire(gateway.port) as wire:
            assert refused(wire.send(start + flood)) == 431
            assert wire.closed()
    with Wire(gateway.port) as wire:
        assert refused(wire.send(b"POST /" + b"x" * 300_000)) == 431


def test_trailers_and_chunk_extensions_that_never_end_are_431(gateway: Gateway) -> None:
    start = post(b"", CHUNKED, length=-1)
    for flood in (b"0\r\n" + b"X-Trailer: 1\r\n" * 30_000, b"5;" + b"x" * 300_000):
        with Wire(gateway.port) as wire:
            assert refused(wire.send(start + flood)) == 431


def test_many_headers_of_sober_size_are_taken(wire: Wire) -> None:
    many = [f"X-Number-{number}: {'x' * 100}" for number in range(300)]
    assert wire.send(post(GOOD, *many)).status() == 200


def test_headers_that_trickle_are_408_and_a_silent_connection_is_closed(hasty: Gateway) -> None:
    with Wire(hasty.port) as trickling, Wire(hasty.port) as silent, Wire(hasty.port) as blank:
        trickling.send(b"POST /api/v1/line")
        blank.send(b"\r\n")
        assert refused(trickling) == 408
        assert refused(blank) == 408
        assert trickling.closed()
        assert silent.closed()


def test_a_connection_that_was_used_is_not_kept_by_half_a_request(hasty: Gateway) -> None:
    with Wire(hasty.port) as wire:
        assert wire.send(post(GOOD)).status() == 200
        assert refused(wire.send(b"POST /api/v1/line")) == 408
        assert wire.closed()


def test_a_body_that_comes_byte_by_byte_is_408_in_time_and_delays_nobody(hasty: Gateway) -> None:
    data, sent = post(GOOD, length=10_000_000), 0
    with Wire(hasty.port) as slow, Wire(hasty.port) as quick:
        slow.send(data[:-20])
        slow.socket.setblocking(False)
        while not _answered(slow):
            assert quick.send(post(GOOD)).status() == 200
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                sent += slow.socket.send(b" ")
        slow.socket.settimeout(10)
        assert refused(slow) == 408
    assert sent > 10


def test_a_body_in_single_bytes_that_ends_in_time_is_taken(wire: Wire) -> None:
    wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in post(GOOD):
        wire.send(bytes([byte]))
    assert wire.status() == 200


def test_who_closes_half_the_connection_still_gets_the_answer(gateway: Gateway) -> None:
    packed = gzip.compress(GOOD)
    for request in (post(GOOD), post(chunked(packed), CHUNKED, "Content-Encoding: gzip", length=-1)):
        with Wire(gateway.port) as wire:
            assert wire.send(request).end().status() == 200
            assert wire.closed()
    with Wire(gateway.port) as wire:
        assert wire.send(post(GOOD) * 3).end().status() == 200
        assert [wire.status(), wire.status(), wire.closed()] == [200, 200, True]


@pytest.mark.parametrize(
    "part", [post(GOOD)[:20], post(GOOD)[:-1], post(b"5\r\nab", CHUNKED, length=-1), post(b"", length=7)]
)
def test_who_closes_half_the_connection_within_a_request_is_400(wire: Wire, part: bytes) -> None:
    assert refused(wire.send(part).end()) == 400
    assert wire.closed()


def test_a_connection_closed_unused_is_closed_without_a_word(wire: Wire) -> None:
    assert wire.end().closed()


def test_pipelined_requests_are_answered_in_order(wire: Wire) -> None:
    requests = [
        post(GOOD),
        post(b"{"),
        post(GOOD, "Content-Type: text/plain"),
        post(b"[]", path="/api/v1/lineage/batch"),
    ]
    wire.send(b"".join(requests * 50))
    assert [wire.status() for _ in range(200)] == [200, 400, 415, 204] * 50


def test_one_connection_goes_on_after_every_refusal(wire: Wire) -> None:
    for request, status in (
        (post(b"{"), 400), (post(GOOD, "Content-Encoding: br"), 415), (post(GOOD, path="/nowhere"), 404),
        (post(b"x" * (33 << 20)), 413), (post(chunked(GOOD), CHUNKED, "Content-Encoding: gzip", length=-1), 400),
        (post(GOOD), 200),
    ):  # fmt: skip
        assert wire.send(request).status() == status


def test_expect_100_continue_is_answered_before_the_body_comes(wire: Wire) -> None:
    head, _, data = post(GOOD, "Expect: 100-continue").partition(b"\r\n\r\n")
    assert wire.send(head + b"\r\n\r\n").status() == 100
    assert wire.send(data).status() == 200


@pytest.mark.parametrize("upgrade", ["h2c", "websocket", "TLS/1.2"])
def test_an_offer_to_upgrade_is_passed_over_and_the_request_taken(gateway: Gateway, upgrade: str) -> None:
    headers = ("Connection: Upgrade, HTTP2-Settings", f"Upgrade: {upgrade}", "HTTP2-Settings: AAEAAEAA")
    for request in (post(GOOD, *headers), post(chunked(GOOD), CHUNKED, *headers, length=-1)):
        with Wire(gateway.port) as wire:
            assert wire.send(request).status() == 200
            assert wire.send(post(GOOD)).status() == 200, "the connection must stay open"


def asked(path: str, *headers: str) -> bytes:
    return post(b"", *headers, path=path, length=-1).replace(b"POST", b"GET")


@contextlib.contextmanager
def sending(wire: Wire, data: bytes) -> Iterator[None]:
    """Send in the background, because the server stops reading while it cannot send answers."""
    sender = threading.Thread(target=wire.send, args=(data,))
    sender.start()
    yield
    sender.join()


def test_three_thousand_offers_to_upgrade_in_one_go_are_answered_each(gateway: Gateway, wire: Wire) -> None:
    offer = asked("/health/live", "Connection: Upgrade", "Upgrade: h2c")
    with sending(wire, offer * 3_000):
        assert {wire.status() for _ in range(3_000)} == {200}


def test_requests_that_come_before_their_answers_wait_with_the_client_and_not_in_memory(
    gateway: Gateway, wire: Wire
) -> None:
    assert wire.send(asked("/health/live")).status() == 200
    before = gateway.peak_kib()
    with sending(wire, asked("/health/live") * 20_000):
        assert {wire.status() for _ in range(20_000)} == {200}
    assert gateway.peak_kib() - before < 8 << 10


def test_of_who_takes_no_answers_nothing_more_is_taken_until_it_does(gateway: Gateway) -> None:
    """The answer to this batch of a thousand wrong items is fifty times as long as the batch."""
    items, count = 1_000, 200
    batch = post(b"[" + b",".join([b"1"] * items) + b"]", path="/api/v1/lineage/batch")
    with Wire(gateway.port) as deaf, gateway.client() as client:
        assert len(deaf.send(batch).reply()[2]) * count > 24 << 20
        before = told = refused_by_metrics(client)
        with sending(deaf, batch * count):
            while (now := refused_by_metrics(client)) > told or now == before:  # until the count stops growing
                told = now
            assert before < told < before + items * count // 2
            assert {deaf.status() for _ in range(count)} == {200}
        assert refused_by_metrics(client) == before + items * count


@pytest.mark.parametrize("path", ["/health/live", "/api/v1/lineage"])
def test_two_hosts_are_400_whichever_is_ours_and_the_connection_goes_on(wire: Wire, path: str) -> None:
    for hosts in (("localhost", "localhost"), ("localhost", "evil.example"), ("evil.example", "localhost")):
        request = post(GOOD, f"host: {hosts[1]}", path=path).replace(b"Host: localhost", f"Host: {hosts[0]}".encode())
        assert refused(wire.send(request)) == 400
    assert wire.send(post(GOOD)).status() == 200


def test_a_body_that_never_comes_is_not_waited_for_where_something_else_than_an_event_is_changed(
    hasty: Gateway,
) -> None:
    with Wire(hasty.port) as wire:
        assert wire.send(post(b"{", path="/api/v1/tags/a", length=2).replace(b"POST", b"PUT")).closed()


def test_requests_cut_off_at_every_place_leave_no_trace(gateway: Gateway) -> None:
    whole = post(body(run_event(job={"namespace": "cut", "name": "off"})))
    for place in range(0, len(whole), 23):
        with Wire(gateway.port) as wire:
            wire.send(whole[:place])
            _reset(wire)
    gateway.settled()
    found = bronze_of(gateway.folder).events.run_query("SELECT count(*) AS n FROM t WHERE job_namespace = 'cut'")
    assert found.to_pylist() == [{"n": 0}]


def test_three_hundred_idle_connections_keep_nobody_out(gateway: Gateway) -> None:
    with contextlib.ExitStack() as stack:
        fresh = [stack.enter_context(Wire(gateway.port)) for _ in range(300)]
        used = [stack.enter_context(Wire(gateway.port)) for _ in range(300)]
        for wire in (*used, *used, *fresh):
            assert wire.send(post(GOOD)).status() == 200


def test_a_client_that_never_reads_its_answers_delays_nobody(gateway: Gateway) -> None:
    with Wire(gateway.port) as deaf, Wire(gateway.port) as other:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.socket.settimeout(1)
        with contextlib.suppress(TimeoutError):  # the server stops reading while it cannot send answers
            for _ in range(300):
                deaf.send(post(b"{" * 300) * 100)
        assert other.send(post(GOOD)).status() == 200


def test_at_the_end_everything_acknowledged_is_there_and_every_refusal_counted(gateway: Gateway) -> None:
    audit = gateway.settled()
    assert audit["balanced"]
    assert audit["received"] == audit["stored"] + audit["duplicates"]
    assert (audit["rejected"], audit["pending"]) == (0, 0)
    assert audit["stored"] == 1, "all requests contained the same event"
    assert audit["refused"] > 0
    said = gateway.said()
    assert "Traceback" not in said
    assert "Invalid HTTP request" not in said, "one log line per bad request would fill a disk"
    assert not list(Path(gateway.folder, "claims").iterdir())


def _answered(wire: Wire) -> bool:
    try:
        return wire.socket.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return False


def _reset(wire: Wire) -> None:
    """Close the connection with a reset."""
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
