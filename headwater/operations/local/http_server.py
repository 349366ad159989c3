"""The HTTP server of `serve`: accepts connections on a socket until it is asked to stop, then ends them in order."""

import asyncio
import logging
import socket

from headwater.operations.local.connection import Connection, ConnectionHost, ServerActivity

BACKLOG = 2048

GRACE_S = 10.0
"""Seconds after which requests in progress are cancelled when the server stops."""

_CANCEL_S = 1.0

log = logging.getLogger(__name__)


async def serve_http(host: ConnectionHost, listener: socket.socket, stop: asyncio.Event) -> None:
    """Serve until `stop` is set; then respond to requests in progress, and cancel those that take too long."""
    loop, activity = asyncio.get_running_loop(), ServerActivity()
    server = await loop.create_server(lambda: Connection(host, activity, loop), sock=listener, backlog=BACKLOG)
    await stop.wait()
    server.close()
    activity.stop_connections()
    try:
        async with asyncio.timeout(GRACE_S):
            await activity.ended.wait()
    except TimeoutError:
        log.error("%d requests took longer than %g s after the stop and are cancelled.", len(activity.tasks), GRACE_S)
        for task in activity.tasks:
            task.cancel()
        await asyncio.wait([asyncio.create_task(activity.ended.wait())], timeout=_CANCEL_S)
