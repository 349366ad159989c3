"""Handle a posted event on its connection, from the parsed request to the receiver, without ASGI messages."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import lru_cache

from headwater.common.json_headers import ANSWER_HEADERS
from headwater.intake.receiver import Answer, Refusal, Request
from headwater.operations.local.exchange import Exchange, ExchangeConnection, status_line

Handler = Callable[[Request], Awaitable[Answer]]

DRAIN_S = 2.0

log = logging.getLogger(__name__)


class IntakeExchange(Exchange):
    """A request that the receiver handles."""

    def __init__(
        self,
        handler: Handler,
        wire: ExchangeConnection,
        method: str,
        headers: Mapping[str, str],
        query: str,
        *,
        keep_alive: bool,
        expects_100: bool,
        timeout_s: float,
    ):
        """timeout_s: time limit for receiving the whole body."""
        super().__init__(wire, method, keep_alive=keep_alive, expects_100=expects_100)
        self._handler = handler
        self._headers = headers
        self._query = query
        self._deadline = wire.loop.time() + timeout_s
        self._timeout_s = timeout_s
        self._late = False

    async def run(self) -> None:
        """Let the receiver handle the request, and send its answer."""
        try:
            body = self._body_chunks() if self.more_body else bytes(self.body)
            answer = await self._handler(Request(self._method, self._headers, self._query, body))
            if self.more_body:
                await self._read_rest()
            self._send(answer)
        except Exception:
            log.exception("Could not respond to a request; nothing in it was acknowledged. Report this.")
            self._wire.transport.close()

    async def _body_chunks(self) -> AsyncIterator[bytes]:
        """Yield the parts of the body as they arrive. Refuse the request with 408 if the body takes too long."""
        while True:
            more = self.more_body
            if self.body:
                part, self.body = bytes(self.body), bytearray()
                yield part
            if not more:
                return
            if self.more_body and not self.body:
                await self._wait_in_time()

    async def _wait_in_time(self) -> None:
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._wait_for_body_part()
        except TimeoutError:
            self._late = True
            what = f"The body did not arrive within {self._timeout_s:g} s."
            raise Refusal(408, "slow_body", what, "Send it again, without pauses.") from None
        except asyncio.CancelledError:  # the server stops, and its grace period is over
            self._late = True
            raise Refusal(503, "stopping", "Headwater is stopping.", "Send the event again in a moment.") from None
        if self.disconnected:
            raise Refusal(400, "disconnected", "The client disconnected before the end of the body.", "Send it whole.")

    async def _read_rest(self) -> None:
        """Read the rest of the body for a limited time, so that closing the connection does not lose the response."""
        if self._late or self._expects_100:
            self.keep_alive = False
            return
        try:
            async with asyncio.timeout(DRAIN_S):
                while self.more_body and not self.disconnected:
                    self.body.clear()
                    await self._wait_for_body_part()
        except TimeoutError:
            self.keep_alive = False

    def _send(self, answer: Answer) -> None:
        if self.disconnected or self._wire.transport.is_closing():
            return
        text = _encode_response(answer.status, tuple(answer.headers.items()), answer.body, self.keep_alive)
        self._wire.transport.write(text[: len(text) - len(answer.body)] if self._method == "HEAD" else text)
        self._complete_response()


@lru_cache(maxsize=64)
def _encode_response(status: int, headers: tuple[tuple[str, str], ...], body: bytes, keep_alive: bool) -> bytes:
    """Encode a response. Results are cached, because most responses are equal."""
    lines = [status_line(status)]
    named = {**ANSWER_HEADERS, **dict(headers)}
    lines += [f"{name}: {value}\r\n".encode("latin-1") for name, value in named.items()]
    if body:
        lines.append(b"content-type: application/json\r\n")
    if status != 204:
        lines.append(b"content-length: %d\r\n" % len(body))
    if not keep_alive:
        lines.append(b"connection: close\r\n")
    return b"".join((*lines, b"\r\n", body))
