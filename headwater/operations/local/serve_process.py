"""The process `serve`: receiver and API on one port, and writer of the event log."""

import asyncio
import gc
import logging
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import uvloop
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headwater.api.freshness import INDEX_WAIT_S, STRICT_INDEX_WAIT_S, IndexWaiter, now_us
from headwater.api.marquez.changes import NOT_INDEXED_YET, ChangeBackend
from headwater.auth.access import Caller
from headwater.common.errors import HeadwaterError, LogUnavailable
from headwater.common.json_headers import ANSWER_HEADERS
from headwater.intake.event_log import Log
from headwater.intake.event_log.folder_claims import ClaimCheck
from headwater.intake.receiver import Answer, Refusal, Request
from headwater.intake.receiver.paths import BATCH, ONE, resolve_path
from headwater.intake.receiver.post_handling import Receiver, RequestLimits
from headwater.operations.local.child_process import NotificationPipe, call_when_parent_ends, child_process
from headwater.operations.local.health import HealthRoutes
from headwater.operations.local.http_server import serve_http
from headwater.operations.local.intake import Handler
from headwater.operations.local.request_guard import RequestGuard
from headwater.operations.runtime.api import ApiResources
from headwater.operations.runtime.event_log import open_log, reader_opener
from headwater.operations.runtime.sinks import open_sink_service
from headwater.operations.runtime.storage import claim_limit, open_claims
from headwater.operations.settings import Settings

log = logging.getLogger(__name__)

FLUSH_REFUSALS_S = 0.5
RETENTION_S = 30.0
_AT_ONCE = 100


class ServeApp:
    """The ASGI application: answers health checks and metrics, and passes all other requests to the API.

    It serves health checks and metrics with every value of the setting `stations`.
    """

    def __init__(self, settings: Settings, folder: Path, event_log: Log):
        """Create the receiver, the API and the health checks, and connect them."""
        self._settings = settings
        self._log = event_log
        reading = ApiResources(settings, folder, partial(reader_opener, settings, folder))
        claims = ClaimCheck(event_log, open_claims(settings), claim_limit(settings))
        self._access = reading.access
        limits = RequestLimits(max_body_bytes=settings.max_body_bytes)
        self.receiver = Receiver(claims, reading.access, limits, marquez_strict=settings.marquez_strict)
        self._guard = RequestGuard(
            settings.allowed_hosts, is_open=lambda: reading.access.is_open, read_only=settings.read_only
        )
        self.timeout_s = settings.request_timeout_s
        receives = "receiver" in settings.stations
        self._receives = receives
        self._intake: dict[str, Handler] = {
            ONE: self._receive_event if receives else _answer_no_receiver,
            BATCH: self.receiver.receive_batch if receives else _answer_no_receiver,
        }
        self._health = HealthRoutes(
            stations=settings.stations, log=event_log, readers=reading.readers, bronze=reading.bronze,
            freshness=reading.freshness, folder=folder,
        )  # fmt: skip
        self.live = reading.live_feed()
        self.index_waiter = IndexWaiter(reading.freshness)
        if "api" in settings.stations:
            within_s = STRICT_INDEX_WAIT_S if settings.marquez_strict else INDEX_WAIT_S
            writing, sinks = (
                ChangeBackend(self._accept_own_event, self.index_waiter, within_s),
                open_sink_service(settings, folder),
            )
            self._read = reading.build_app(self._resend_rejected, self.live, writing, sinks, self._health.routes())
        else:
            self._read = Starlette(routes=self._health.routes())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request that is not a posted event. The connection passes posted events directly to the receiver."""
        is_http = scope["type"] == "http"
        refusal = self._guard.refusal(scope["method"], scope["path"], Headers(scope=scope)) if is_http else None
        if refusal:
            self.count_refusal(refusal)
            answer = refusal.answer()
            response = Response(answer.body, answer.status, ANSWER_HEADERS, media_type="application/json")
            await response(scope, receive, send)
        else:
            await self._read(scope, receive, send)

    async def _accept_own_event(self, body: bytes, headers: Mapping[str, str], caller: Caller) -> tuple[int, bytes]:
        """Accept an event that the API creates for a change, on behalf of its authenticated caller."""
        answer = await self.receiver.receive_event(Request("POST", headers, "", body), caller)
        return answer.status, answer.body

    async def _receive_event(self, request: Request) -> Answer:
        """Accept an event. With `marquez_strict`, respond when answers include the event."""
        answer = await self.receiver.receive_event(request)
        if answer.status != 201 or "api" not in self._settings.stations:
            return answer
        is_seen = await self.index_waiter.wait_until_visible(now_us(), STRICT_INDEX_WAIT_S)
        return answer if is_seen else replace(answer, headers=NOT_INDEXED_YET)

    def find_handler(self, method: str, path: str, headers: Mapping[str, str]) -> Handler | None:
        """Return the receiver's handler for a path, None if the API handles it or the request is refused."""
        handler = self._intake.get(path) if method != "GET" or path not in _READ_TOO else None
        if handler is None and method == "POST":
            handler = self._find_handler_of_similar_path(path, headers)
        return handler if handler and self._guard.refusal(method, path, headers) is None else None

    def _find_handler_of_similar_path(self, path: str, headers: Mapping[str, str]) -> Handler | None:
        """Return the handler for an event posted to a path that is similar to a path of the protocol, else None."""
        if self._receives:
            return self.receiver.handler_of_inexact_path(path, headers.get("content-type", ""))
        return _answer_no_receiver if resolve_path(path) else None

    async def _resend_rejected(
        self, bodies: Sequence[bytes], headers: Mapping[str, str], caller: Caller
    ) -> Sequence[str | None]:
        """Append rejected events to the log again, on behalf of the authenticated caller.

        Returns None for each accepted body, and the reason for each refused body.
        """
        own = {"user-agent": headers.get("user-agent", "")}
        answers = [
            await asyncio.gather(
                *(self.receiver.receive_event(Request("POST", own, "", body), caller) for body in some)
            )
            for some in (bodies[at : at + _AT_ONCE] for at in range(0, len(bodies), _AT_ONCE))
        ]
        return [
            None if answer.status == 200 else msgspec.json.decode(answer.body)["error"]
            for some in answers
            for answer in some
        ]

    def on_index_change(self, index: NotificationPipe) -> None:
        """Wake the requests that wait for the index. index: the pipe that the index process notifies."""
        index.take_notes()
        self.index_waiter.notify()

    def count_refusal(self, refusal: Refusal) -> None:
        """Count a refusal of the connection. Such a request never reaches the receiver or the API."""
        self.receiver.refusals.add(refusal, "connection", None, None)

    async def run_housekeeping(self) -> None:
        """Write refusal counts to the log and apply its retention, repeatedly. Returns only if the log writer dies."""
        looked = 0.0
        while self._log.is_writing():
            await asyncio.sleep(FLUSH_REFUSALS_S)
            await self.receiver.flush_refusals()
            await self._access.save_key_uses()
            if time.monotonic() - looked > RETENTION_S:
                looked = time.monotonic()
                await asyncio.to_thread(self._apply_log_retention)

    def _apply_log_retention(self) -> None:
        try:
            self._log.retain(self._health.watermarks)
        except LogUnavailable as error:
            log.warning("Retention is postponed, and no record is deleted: %s", error)
        except HeadwaterError:
            pass  # there is no lake yet, or it is unavailable


async def _answer_no_receiver(_: Request) -> Answer:
    fix = "Post to an instance whose `stations` include `receiver`."
    return Refusal(404, "no_receiver", "This instance does not receive events.", fix).answer()


_READ_TOO = (ONE,)
"""Marquez uses this path for two things: posting events, and the lineage of a node."""


async def run_server(
    settings: Settings, folder: Path, listener: socket.socket, parser: NotificationPipe, index: NotificationPipe
) -> None:
    """Serve until the supervisor stops it; then respond to received requests and close the log.

    parser: the pipe to notify after each append to the log. index: the pipe that the index process notifies after each
    update.
    """
    event_log = open_log(settings, folder, open_claims(settings), parser.notify)
    serve = ServeApp(settings, folder, event_log)
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(index.descriptors[0], serve.on_index_change, index)

    def stop() -> None:
        stopping.set()
        serve.live.close()  # the server waits for all responses, and live streams never end by themselves

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)

    def stop_soon() -> None:
        loop.call_soon_threadsafe(stop)

    call_when_parent_ends(stop_soon)
    housekeeping = asyncio.create_task(serve.run_housekeeping())
    housekeeping.add_done_callback(lambda _: stop())  # housekeeping ends only after a fault, so restart the process
    gc.collect()
    gc.freeze()  # exclude what start-up created from garbage collection
    try:
        await serve_http(serve, listener, stopping)
    finally:
        await serve.receiver.flush_refusals(
            is_last=True
        )  # before housekeeping is cancelled, because cancelling a flush would lose its counts
        housekeeping.cancel()
        await event_log.aclose()


def main() -> None:
    """Run as a child of `headwater up`.

    The arguments are the descriptors of the listening socket, the pipe to the parser and the pipe from the index.
    """
    listener, *wakes = map(int, sys.argv[1:])
    with child_process("serve") as (settings, folder), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(
            run_server(
                settings,
                folder,
                socket.socket(fileno=listener),
                NotificationPipe(*wakes[:2]),
                NotificationPipe(*wakes[2:]),
            )
        )


if __name__ == "__main__":
    main()
