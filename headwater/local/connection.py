"""A connection of `serve`: uvicorn's, with the limits it lacks and our form of refusing.

uvicorn waits for ever for headers that trickle, keeps headers of any size, and hangs up on a client that has closed
its half; each lets a client do harm or lose an answer.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headwater.receiver import Refusal

MAX_SILENT_BYTES = 64 << 10
"""Bytes that may come without a request, or a part of a body, coming out of them."""


def connection_class(timeout_s: float, refused: Callable[[Refusal], None]) -> type[HttpToolsProtocol]:
    """Return the connections of one server.

    timeout_s: from connecting, or from a request's first byte, to the end of its headers; refused: called for what
    never becomes a request.
    """
    return type("Connection", (_Connection,), {"timeout_s": timeout_s, "refused": staticmethod(refused)})


class _Connection(HttpToolsProtocol):
    timeout_s: float
    refused: Callable[[Refusal], None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._silent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.timeout_s, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._silent += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._silent > MAX_SILENT_BYTES:
            self._refuse(431, "headers_too_large", f"More than {MAX_SILENT_BYTES} bytes of headers.", "Send fewer.")
        elif self._timer is None and self._between_requests():
            self._timer = self.loop.call_later(self.timeout_s, self._too_slow)

    def eof_received(self) -> bool:  # type: ignore[override] # asyncio: true keeps our half open
        """Answer what was asked before the client closed its half, then close."""
        if self._between_requests():
            if self._silent:
                self._refuse(400, "cut_off", "The connection ended before the headers did.", "Send the request whole.")
            return False
        if self.cycle.more_body:
            self._refuse(400, "cut_off", "The connection ended before the body did.", "Send the request whole.")
            return False
        self.cycle.keep_alive = False
        return True

    def on_headers_complete(self) -> None:
        self._silent = 0
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._silent = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._silent = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "not_http", msg, "Send HTTP/1.1 as RFC 9112 says.")

    def _between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self._silent:
            what = f"The headers did not come within {self.timeout_s:g} s."
            self._refuse(408, "slow_headers", what, "Send them at once.")
        else:
            self.transport.close()

    def _refuse(self, status: int, reason: str, what: str, fix: str) -> None:
        """Answer on the bare connection and close it: there is no request that could be answered."""
        if self.transport.is_closing():
            return
        refusal = Refusal(status, reason, what, fix)
        self.refused(refusal)
        answer = refusal.answer()
        self.transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
            % (status, _PHRASES[status], len(answer.body), answer.body)
        )
        self.transport.close()


_PHRASES = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}
