"""A posted event on its connection: from the parsed request to the receiver, without ASGI messages in between.

Of the CPU that uvicorn and ASGI spend on a request of 2 KB, this leaves a third (bench/receiver.py).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import lru_cache

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from headwater.answer_headers import ANSWER_HEADERS
from headwater.receiver import Answer, Refusal, Request

Take = Callable[[Request], Awaitable[Answer]]

DRAIN_S = 2.0

log = logging.getLogger(__name__)


class IntakeCycle:
    """One request and its answer; stands where a uvicorn connection keeps its own cycle.

    The connection fills `body` and sets `more_body`, `disconnected`, `keep_alive` and `message_event`.
    """

    def __init__(
        self,
        take: Take,
        connection: HttpToolsProtocol,
        headers: Mapping[str, str],
        query: str,
        *,
        keep_alive: bool,
        timeout_s: float,
    ):
        """Begin with the body still to come; it must be whole after `timeout_s` seconds."""
        self.body = bytearray()
        self.more_body = True
        self.message_event = asyncio.Event()
        self.disconnected = False
        self.keep_alive = keep_alive
        self.response_complete = False
        self._take = take
        self._connection = connection
        self._headers = headers
        self._query = query
        self._awaits_100 = headers.get("expect", "").lower() == "100-continue"
        self._deadline = connection.loop.time() + timeout_s
        self._timeout_s = timeout_s
        self._late = False
        self._method = connection.parser.get_method().decode("ascii")

    async def run_asgi(self, _: object) -> None:
        """Answer; uvicorn calls it by this name when the request's turn has come."""
        try:
            body = self._chunks() if self.more_body else bytes(self.body)
            answer = await self._take(Request(self._method, self._headers, self._query, body))
            if self.more_body:
                await self._drain()
            self._send(answer)
        except Exception:
            log.exception("A request could not be answered: nothing of it was acknowledged. Report this.")
            self._connection.transport.close()

    async def _chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes; one that does not end in time is refused with 408."""
        while True:
            more = self.more_body
            if self.body:
                part, self.body = bytes(self.body), bytearray()
                yield part
            if not more:
                return
            if self.more_body and not self.body:
                await self._wait()

    async def _wait(self) -> None:
        if self._awaits_100:
            self._awaits_100 = False
            self._connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._connection.flow.resume_reading()
        try:
            async with asyncio.timeout_at(self._deadline):
                await self.message_event.wait()
        except TimeoutError:
            self._late = True
            what = f"The body did not come within {self._timeout_s:g} s."
            raise Refusal(408, "slow_body", what, "Send it again, faster.") from None
        except asyncio.CancelledError:  # the server ends and has waited long enough
            self._late = True
            raise Refusal(503, "stopping", "Headwater is stopping.", "Send the event again in a moment.") from None
        self.message_event.clear()
        if self.disconnected:
            raise Refusal(400, "disconnected", "The client went away before the body ended.", "Send it whole.")

    async def _drain(self) -> None:
        """Read what is left of the body, so that the answer is not lost with the connection; not for ever."""
        if self._late or self._awaits_100:
            self.keep_alive = False
            return
        try:
            async with asyncio.timeout(DRAIN_S):
                while self.more_body and not self.disconnected:
                    self.body.clear()
                    self._connection.flow.resume_reading()
                    await self.message_event.wait()
                    self.message_event.clear()
        except TimeoutError:
            self.keep_alive = False

    def _send(self, answer: Answer) -> None:
        if self.disconnected or self._connection.transport.is_closing():
            return
        text = _encoded(answer.status, tuple(answer.headers.items()), answer.body, self.keep_alive)
        self._connection.transport.write(text[: -len(answer.body)] if self._method == "HEAD" else text)
        self.response_complete = True
        if not self.keep_alive:
            self._connection.transport.close()
        self._connection.on_response_complete()


@lru_cache(maxsize=64)
def _encoded(status: int, headers: tuple[tuple[str, str], ...], body: bytes, keep_alive: bool) -> bytes:
    """Return an answer as it goes over the wire; most of them are the same few bytes."""
    lines = [STATUS_LINE[status]]
    named = {**ANSWER_HEADERS, **dict(headers)}
    lines += [f"{name}: {value}\r\n".encode("latin-1") for name, value in named.items()]
    if body:
        lines.append(b"content-type: application/json\r\n")
    if status != 204:
        lines.append(b"content-length: %d\r\n" % len(body))
    if not keep_alive:
        lines.append(b"connection: close\r\n")
    return b"".join((*lines, b"\r\n", body))
