"""The process `serve`: receiver and reading API on one port, writer of the event log."""

import asyncio
import contextlib
import gc
import logging
import socket
import sys
import time
from functools import partial
from pathlib import Path
from typing import cast

import uvicorn
import uvloop

from headwater.access import Access
from headwater.api.app import ReadApi
from headwater.errors import HeadwaterError, Retry
from headwater.eventlog.claims import ClaimCheck
from headwater.eventlog.sqlite import SqliteLog
from headwater.local.health import Health
from headwater.local.lifeline import read_settings, when_parent_ends, write_pid
from headwater.local.short_way import ShortWay, Take
from headwater.receiver.asgi import Receive, Scope, Send, answer_intake, intake_routes
from headwater.receiver.station import Limits, Receiver
from headwater.runtime import folder_lock, open_bronze, open_claims, open_log, open_log_reader, prepare_folder
from headwater.settings import Settings

log = logging.getLogger(__name__)

FLUSH_REFUSALS_S = 0.5
RETENTION_S = 30.0


class Serve:
    """The ASGI application: hot paths first, everything else goes to the reading API."""

    def __init__(self, settings: Settings, folder: Path, event_log: SqliteLog):
        """Wire the stations of this process."""
        self._settings = settings
        self._log = event_log
        access = Access(settings.keys)
        claims = ClaimCheck(event_log, open_claims(folder), settings.claim_bytes)
        self.receiver = Receiver(claims, access, Limits(max_body_bytes=settings.max_body_bytes))
        self._intake = intake_routes(self.receiver)
        bronze, reader = open_bronze(folder), open_log_reader(folder)
        self._health = Health(event_log, reader, bronze)
        self._read = ReadApi(reader, bronze, access).app()
        self._read.routes.extend(self._health.routes())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._read(scope, receive, send)
        elif not self._host_fits(_host(scope)):
            await send(
                {"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"application/json")]}
            )
            await send({"type": "http.response.body", "body": _FOREIGN_HOST})
        elif take := self._intake.get(scope["path"]):
            await answer_intake(take, scope, receive, send)
        else:
            await self._read(scope, receive, send)

    def intake(self, path: str, host: str) -> Take | None:
        """Return which of the receiver's routes takes a request, None if another answer is due."""
        take = self._intake.get(path)
        return take if take and self._host_fits(host) else None

    def _host_fits(self, host: str) -> bool:
        """Check the Host header: without keys, no web page must reach us under a name of its own (DNS rebinding)."""
        if self._settings.keys:
            return True
        name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
        return name.lower() in self._settings.allowed_hosts

    async def housekeeping(self) -> None:
        """Flush notes of refusals and let retention look at the log, until cancelled."""
        looked = 0.0
        while True:
            await asyncio.sleep(FLUSH_REFUSALS_S)
            await self.receiver.flush_refusals()
            if time.monotonic() - looked > RETENTION_S:
                looked = time.monotonic()
                await asyncio.to_thread(self._request_retention)

    def _request_retention(self) -> None:
        with contextlib.suppress(HeadwaterError):  # no lake yet, or not now: nothing may be deleted
            oldest_us = (time.time() - self._settings.retain_hours * 3600) * 1e6
            self._log.request_retention(self._health.watermark(), oldest_us, self._settings.retain_bytes)


_FOREIGN_HOST = (
    b'{"error": "This Host header is not on the list.", "field": null, '
    b'"fix": "Use localhost, add the name to `allowed_hosts`, or set keys."}'
)


def _host(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")


async def run(settings: Settings, folder: Path, listener: socket.socket) -> None:
    """Serve until the supervisor ends; what was received is then answered and the log closed."""
    event_log = open_log(settings, folder, open_claims(folder))
    serve = Serve(settings, folder, event_log)
    config = uvicorn.Config(
        serve, http=cast("type[asyncio.Protocol]", partial(ShortWay, serve.intake)),
        loop="uvloop", lifespan="off", ws="none", proxy_headers=False, access_log=False, log_level="warning",
        timeout_keep_alive=75, timeout_graceful_shutdown=10, server_header=False, date_header=False, backlog=2048,
    )  # fmt: skip
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.call_soon_threadsafe(setattr, server, "should_exit", True)

    when_parent_ends(stop)
    housekeeping = asyncio.create_task(serve.housekeeping())
    gc.collect()
    gc.freeze()  # what start-up made stays: the collector need not look at it again and again
    try:
        await server.serve(sockets=[listener])
    finally:
        housekeeping.cancel()
        await serve.receiver.flush_refusals()
        await asyncio.to_thread(event_log.close)


def main() -> None:
    """Run as a child of `headwater up`; the listening socket is file descriptor 3's number in the first argument."""
    logging.basicConfig(level=logging.INFO, format="serve: %(message)s", stream=sys.stderr)
    settings = read_settings()
    try:
        folder = prepare_folder(settings)
        with folder_lock(folder, "serve", wait_s=15):
            write_pid(folder, "serve")
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(run(settings, folder, socket.socket(fileno=int(sys.argv[1]))))
    except HeadwaterError as error:
        log.error("%s", error)
        sys.exit(1 if isinstance(error, Retry) else 3)


if __name__ == "__main__":
    main()
