"""The HTTP server for ASGI applications: framing of responses, failures, disconnects, and the order of shutdown."""

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from starlette.types import Message, Receive, Scope, Send

from headwater.intake.receiver import Refusal
from headwater.operations.local.http_server import serve_http
from headwater.operations.local.intake import Handler
from tests.support.http_client import Wire


def start(*headers: tuple[bytes, bytes], status: int = 200) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def part(body: bytes = b"", *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


RESPONSES: dict[str, list[Message]] = {
    "/parts": [start(), part(b"one ", more=True), part(more=True), part(b"two", more=True), part()],
    "/split": [start((b"location", b"/a\r\nset-cookie: stolen=1"))],
    "/short": [start((b"content-length", b"9")), part(b"four")],
    "/long": [start((b"content-length", b"1")), part(b"four")],
    "/empty": [start(status=204), part()],
    "/silent": [],
}


class Application:
    """An application that responds by path, and records request bodies and disconnected clients."""

    timeout_s = 30.0

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.scopes: list[Scope] = []
        self.disconnected = threading.Event()
        self.started = threading.Event()
        self.release = asyncio.Event()

    def find_handler(self, *_: object) -> Handler | None:
        return None

    def count_refusal(self, refusal: Refusal) -> None:
        raise AssertionError(refusal)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        path = scope["path"]
        if path == "/fails":
            raise ValueError("a fault of the application")
        if path in RESPONSES:
            for message in RESPONSES[path]:
                await send(message)
        elif path == "/wait":
            self.started.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            self.disconnected.set()
        else:
            await self._read_body(receive)
            if path == "/held":
                self.started.set()
                await self.release.wait()
            await send(start((b"content-length", b"2")))
            await send(part(b"ok"))

    async def _read_body(self, receive: Receive) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        self.bodies.append(body)


class Served:
    """A server in its own thread."""

    def __init__(self) -> None:
        self.application = Application()
        self.loop = asyncio.new_event_loop()
        self.stop = asyncio.Event()
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        run = serve_http(self.application, listener, self.stop)
        self.thread = threading.Thread(target=lambda: self.loop.run_until_complete(run))
        self.thread.start()

    def call(self, event: asyncio.Event) -> None:
        self.loop.call_soon_threadsafe(event.set)


@contextmanager
def served() -> Iterator[Served]:
    server = Served()
    yield server
    server.call(server.stop)
    server.thread.join(30)
    assert not server.thread.is_alive()
    server.loop.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as started:
        yield started


def asked(path: str, method: str = "GET", *headers: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


def rest(wire: Wire) -> bytes:
    return b"".join(iter(lambda: wire.socket.recv(65536), b""))


def test_a_body_without_a_length_is_sent_in_chunks_and_the_connection_goes_on(server: Served) -> None:
    with Wire(server.port) as wire:
        wire.send(asked("/parts") + asked("/parts", "GET", "Connection: close"))
        body = b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"
        assert rest(wire) == (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + body +
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n" + body
        )  # fmt: skip


def test_head_and_204_have_no_body(server: Served) -> None:
    with Wire(server.port) as wire:
        wire.send(asked("/parts", "HEAD") + asked("/empty") + asked("/empty", "GET", "Connection: close"))
        assert rest(wire) == (
            b"HTTP/1.1 200 OK\r\n\r\n"
            b"HTTP/1.1 204 No Content\r\n\r\n"
            b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"
        )  # fmt: skip


@pytest.mark.parametrize("path", ["/split", "/fails", "/silent"])
def test_an_application_that_fails_before_its_response_gives_500_and_no_header_of_its_own(
    server: Served, path: str
) -> None:
    with Wire(server.port) as wire:
        status, headers, body = wire.send(asked(path)).reply()
        assert (status, headers["connection"], body) == (500, "close", b"Internal Server Error")
        assert "set-cookie" not in headers
        assert wire.closed()


@pytest.mark.parametrize("path", ["/short", "/long"])
def test_a_body_of_another_length_than_announced_ends_the_connection(server: Served, path: str) -> None:
    with Wire(server.port) as wire:
        wire.send(asked(path) + asked("/parts"))
        assert rest(wire).partition(b"\r\n\r\n")[2] == b""


def test_the_scope_names_target_client_and_headers(server: Served) -> None:
    with Wire(server.port) as wire:
        assert wire.send(asked("/caf%C3%A9/%2F?a=%20b", "GET", "X-Two: 1")).status() == 200
        client = wire.socket.getsockname()
    scope = server.application.scopes[-1]
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == ("/café//", b"/caf%C3%A9/%2F", b"a=%20b")
    assert (scope["client"], scope["server"]) == (client, ("127.0.0.1", server.port))
    assert scope["headers"] == [(b"host", b"localhost"), (b"x-two", b"1")]


def test_a_body_comes_whole_and_100_continue_when_it_is_asked_for(server: Served) -> None:
    body = bytes(range(256)) * 2_000
    with Wire(server.port) as wire:
        head = asked("/", "PUT", f"Content-Length: {len(body)}", "Expect: 100-continue")
        assert wire.send(head).status() == 100
        assert wire.send(body).status() == 200
    assert server.application.bodies[-1] == body


def test_an_application_learns_that_its_client_has_reset_the_connection() -> None:
    with served() as own:
        with Wire(own.port) as wire:
            wire.send(asked("/wait"))
            assert own.application.started.wait(30)
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert own.application.disconnected.wait(30)


def test_a_stop_waits_for_responses_and_closes_idle_connections() -> None:
    with served() as own, Wire(own.port) as busy, Wire(own.port) as idle:
        assert idle.send(asked("/")[:-2] + b"Content-Length: 0\r\n\r\n").status() == 200
        busy.send(asked("/held"))
        assert own.application.started.wait(30)
        own.call(own.stop)
        assert idle.closed()
        own.call(own.application.release)
        status, headers, body = busy.reply()
        assert (status, headers["connection"], body) == (200, "close", b"ok")
        assert busy.closed()
