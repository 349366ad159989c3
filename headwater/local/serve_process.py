"""The process `serve`: receiver and reading API on one port, writer of the event log."""

import asyncio
import gc
import logging
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headwater.access import Caller
from headwater.answer_headers import ANSWER_HEADERS
from headwater.api.index_news import STRICT_WITHIN_S, WITHIN_S, IndexNews, now_us
from headwater.api.marquez.marquez_writing import WAITS, Writing
from headwater.errors import HeadwaterError, LogUnavailable
from headwater.eventlog import Log
from headwater.eventlog.folder_claims import ClaimCheck
from headwater.local.child_process import child
from headwater.local.connection import connection_class
from headwater.local.foreign_requests import Doorkeeper
from headwater.local.health import Health
from headwater.local.intake import Take
from headwater.local.lifeline import when_parent_ends
from headwater.local.wake import Wake
from headwater.receiver import Answer, Refusal, Request
from headwater.receiver.paths import BATCH, ONE, meant
from headwater.receiver.station import Receiver, RequestLimits
from headwater.runtime.logs import log_readers, open_log
from headwater.runtime.read_side import ReadSide
from headwater.runtime.sink_opening import open_sink_desk
from headwater.runtime.storage import claim_limit, open_claims
from headwater.settings import Settings

log = logging.getLogger(__name__)

FLUSH_REFUSALS_S = 0.5
RETENTION_S = 30.0
_AT_ONCE = 100


class Serve:
    """The ASGI application: hot paths first, everything else goes to the reading API.

    Health and metrics are answered whichever stations run here.
    """

    def __init__(self, settings: Settings, folder: Path, event_log: Log):
        """Wire the stations of this process."""
        self._settings = settings
        self._log = event_log
        reading = ReadSide(settings, folder, partial(log_readers, settings, folder))
        claims = ClaimCheck(event_log, open_claims(settings), claim_limit(settings))
        self._access = reading.access
        limits = RequestLimits(max_body_bytes=settings.max_body_bytes)
        self.receiver = Receiver(claims, reading.access, limits, marquez_strict=settings.marquez_strict)
        self._door = Doorkeeper(settings.allowed_hosts, is_open=lambda: reading.access.is_open)
        self.timeout_s = settings.request_timeout_s
        receives = "receiver" in settings.stations
        self._receives = receives
        self._intake: dict[str, Take] = {
            ONE: self._one if receives else _takes_none,
            BATCH: self.receiver.batch if receives else _takes_none,
        }
        self._health = Health(
            stations=settings.stations, log=event_log, readers=reading.readers, bronze=reading.bronze,
            freshness=reading.freshness, folder=folder,
        )  # fmt: skip
        self.live = reading.live()
        self.news = IndexNews(reading.freshness)
        if "api" in settings.stations:
            within_s = STRICT_WITHIN_S if settings.marquez_strict else WITHIN_S
            writing, sinks = Writing(self._post, self.news, within_s), open_sink_desk(settings, folder)
            self._read = reading.app(self._send_again, self.live, writing, sinks, self._health.routes())
        else:
            self._read = Starlette(routes=self._health.routes())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is asked; what is posted goes its own way from the connection to the receiver."""
        refusal = self._door.refusal(scope["method"], Headers(scope=scope)) if scope["type"] == "http" else None
        if refusal:
            self.refuse(refusal)
            answer = refusal.answer()
            response = Response(answer.body, answer.status, ANSWER_HEADERS, media_type="application/json")
            await response(scope, receive, send)
        else:
            await self._read(scope, receive, send)

    async def _post(self, body: bytes, headers: Mapping[str, str], caller: Caller) -> tuple[int, bytes]:
        """Accept an event that the reading API makes of a change, in the name of its authenticated caller."""
        answer = await self.receiver.one(Request("POST", headers, "", body), caller)
        return answer.status, answer.body

    async def _one(self, request: Request) -> Answer:
        """Accept an event; with `marquez_strict` answer when questions see it."""
        answer = await self.receiver.one(request)
        if answer.status != 201 or "api" not in self._settings.stations:
            return answer
        is_seen = await self.news.shows(now_us(), STRICT_WITHIN_S)
        return answer if is_seen else replace(answer, headers=WAITS)

    def find(self, method: str, path: str, headers: Mapping[str, str]) -> Take | None:
        """Return the receiver's route of a path, None if the reading API has it or the request is not let in."""
        take = self._intake.get(path) if method != "GET" or path not in _READ_TOO else None
        if take is None and method == "POST":
            take = self._find_inexact(path, headers)
        return take if take and self._door.refusal(method, headers) is None else None

    def _find_inexact(self, path: str, headers: Mapping[str, str]) -> Take | None:
        """Return what takes, or refuses, an event that is posted to another path than the protocol's."""
        if self._receives:
            return self.receiver.find_inexact(path, headers.get("content-type", ""))
        return _takes_none if meant(path) else None

    async def _send_again(
        self, bodies: Sequence[bytes], headers: Mapping[str, str], caller: Caller
    ) -> Sequence[str | None]:
        """Accept rejected events once more, in the name of the authenticated caller who sends them again."""
        own = {"user-agent": headers.get("user-agent", "")}
        answers = [
            await asyncio.gather(*(self.receiver.one(Request("POST", own, "", body), caller) for body in some))
            for some in (bodies[at : at + _AT_ONCE] for at in range(0, len(bodies), _AT_ONCE))
        ]
        return [
            None if answer.status == 200 else msgspec.json.decode(answer.body)["error"]
            for some in answers
            for answer in some
        ]

    def index_moved(self, index: Wake) -> None:
        """Wake who waits for the index to take a change; index: rung by it."""
        index.take()
        self.news.tell()

    def refuse(self, refusal: Refusal) -> None:
        """Count a refusal of the connection, before any station sees the request."""
        self.receiver.refusals.add(refusal, "connection", None, None)

    async def housekeeping(self) -> None:
        """Flush notes of refusals and let retention look at the log; ends only when the log's writer has died."""
        looked = 0.0
        while self._log.is_writing():
            await asyncio.sleep(FLUSH_REFUSALS_S)
            await self.receiver.flush_refusals()
            await self._access.tell_uses()
            if time.monotonic() - looked > RETENTION_S:
                looked = time.monotonic()
                await asyncio.to_thread(self._retain)

    def _retain(self) -> None:
        try:
            self._log.retain(self._health.watermarks)
        except LogUnavailable as error:
            log.warning("Retention is put off, nothing is deleted: %s", error)
        except HeadwaterError:
            pass  # no lake yet, or not now


async def _takes_none(_: Request) -> Answer:
    fix = "Post to an instance whose `stations` has the receiver."
    return Refusal(404, "no_receiver", "This instance takes no events.", fix).answer()


_READ_TOO = (ONE,)
"""Marquez has two things at this address: posted events, and the lineage of a node."""


async def run(settings: Settings, folder: Path, listener: socket.socket, parser: Wake, index: Wake) -> None:
    """Serve until the supervisor ends; what was received is then answered and the log closed.

    parser: rung with each append; index: rung by the index with each of its commits.
    """
    event_log = open_log(settings, folder, open_claims(settings), parser.ring)
    serve = Serve(settings, folder, event_log)
    config = uvicorn.Config(
        serve, http=connection_class(serve), loop="uvloop", lifespan="off", ws="none", proxy_headers=False,
        access_log=False, log_level="warning",
        timeout_keep_alive=75, timeout_graceful_shutdown=10, server_header=False, date_header=False, backlog=2048,
    )  # fmt: skip
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    loop.add_reader(index.descriptors[0], serve.index_moved, index)

    def stop() -> None:
        server.should_exit = True
        serve.live.close()  # streams have no end of their own, and the server waits for answers to end

    def stop_soon() -> None:
        loop.call_soon_threadsafe(stop)

    when_parent_ends(stop_soon)
    housekeeping = asyncio.create_task(serve.housekeeping())
    housekeeping.add_done_callback(lambda _: stop())  # a fault of ours: start anew
    gc.collect()
    gc.freeze()  # what start-up made stays: the collector need not look at it again and again
    try:
        await server.serve(sockets=[listener])
    finally:
        await serve.receiver.flush_refusals(
            is_last=True
        )  # behind the one that housekeeping may be at: cancelled, it would be lost
        housekeeping.cancel()
        await event_log.aclose()


def main() -> None:
    """Run as a child of `headwater up`; the arguments: listening socket, pipes to the parser and from the index."""
    listener, *wakes = map(int, sys.argv[1:])
    with child("serve") as (settings, folder), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings, folder, socket.socket(fileno=listener), Wake(*wakes[:2]), Wake(*wakes[2:])))


if __name__ == "__main__":
    main()
