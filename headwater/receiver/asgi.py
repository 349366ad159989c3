"""The receiver's routes as ASGI: bytes and headers in, status and body out, nothing in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from headwater.receiver import Answer, Refusal, Request
from headwater.receiver.station import Receiver

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

TIMEOUT_S = 30.0
DRAIN_S = 2.0


class _Body:
    """The rest of a request, read once, in time."""

    def __init__(self, receive: Receive, timeout_s: float):
        self._receive = receive
        self._timeout_s = timeout_s
        self._more = True
        self._late = False

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes; one that does not end in time is refused with 408."""
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        while self._more:
            message = await self._next(deadline)
            if message["type"] == "http.disconnect":
                self._more = False
                raise Refusal(400, "disconnected", "The client went away before the body ended.", "Send it whole.")
            self._more = message.get("more_body", False)
            yield message.get("body", b"")

    async def _next(self, deadline: float) -> Message:
        try:
            async with asyncio.timeout_at(deadline):
                return await self._receive()
        except TimeoutError:
            self._late = True
            raise Refusal(
                408, "slow_body", f"The body did not come within {self._timeout_s:g} s.", "Send it again, faster."
            ) from None
        except asyncio.CancelledError:  # the server ends and has waited long enough
            raise Refusal(503, "stopping", "Headwater is stopping.", "Send the event again in a moment.") from None

    async def drain(self) -> bool:
        """Read what is left, so that the answer is not lost with the connection; False if too much is left."""
        if self._late:
            return False
        try:
            async with asyncio.timeout(DRAIN_S):
                while self._more:
                    message = await self._receive()
                    self._more = message["type"] == "http.request" and message.get("more_body", False)
        except TimeoutError:
            return False
        return True


async def answer_intake(
    take: Callable[[Request], Awaitable[Answer]],
    scope: Scope,
    receive: Receive,
    send: Send,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Let the receiver answer one request; its body must come within `timeout_s` seconds."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    body = _Body(receive, timeout_s)
    request = Request(scope["method"], headers, scope["query_string"].decode("latin-1"), body.chunks())
    answer = await take(request)
    keep = await body.drain()
    lines = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    if answer.body:
        lines.append((b"content-type", b"application/json"))
    lines.append((b"content-length", str(len(answer.body)).encode()))
    if not keep:
        lines.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": lines})
    await send({"type": "http.response.body", "body": answer.body})


def intake_routes(receiver: Receiver) -> dict[str, Callable[[Request], Awaitable[Answer]]]:
    """Return the receiver's paths."""
    return {"/api/v1/lineage": receiver.one, "/api/v1/lineage/batch": receiver.batch}
