"""API and dashboard of one instance, with an index on its local disk that a thread builds from bronze.

A change is appended to the log as an event, in the same way as by this app's receiver.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from starlette.types import Receive, Scope, Send

from functions import open_readers
from functions.api.instance_health import InstanceHealth
from functions.receiver.intake import intake_of
from headwater.api.index_waiter import IndexWaiter
from headwater.api.marquez.changes import ChangeBackend
from headwater.auth.access import Caller
from headwater.common.errors import HeadwaterError
from headwater.operations.runtime.folders import prepare_folder
from headwater.operations.runtime.indexes import maintain_index
from headwater.operations.runtime.lake_troubles import LakeTroubles, is_shared
from headwater.operations.runtime.read_side import ReadSide
from headwater.operations.runtime.station_troubles import station_troubles
from headwater.operations.settings import Settings

log = logging.getLogger(__name__)


def open_troubles(settings: Settings, folder: Path) -> Callable[[], Mapping[str, str]]:
    """Return a function that lists the services that are stopped: of this instance, and the parser of all instances."""
    if not is_shared(settings):
        return partial(station_troubles, folder)
    in_lake = LakeTroubles(settings)
    return lambda: {**in_lake.read(), **station_troubles(folder)}


class Instance:
    """The ASGI application. Questions about lineage get 503 until the index has caught up for the first time."""

    def __init__(self, settings: Settings):
        """Connect to nothing yet."""
        self._settings = settings
        self._folder = prepare_folder(settings)
        troubles = open_troubles(settings, self._folder)
        side = ReadSide(settings, self._folder, partial(open_readers, settings, self._folder), troubles)
        self._index_waiter = IndexWaiter(side.freshness)
        health = InstanceHealth(settings, self._folder, side.bronze, troubles)
        self._app = side.app(writing=ChangeBackend(self._post, self._index_waiter), more=health.routes())
        self._index: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and start the thread of the index if it does not run."""
        self._loop = asyncio.get_running_loop()
        if self._index is None or not self._index.is_alive():
            self._index = threading.Thread(target=self._keep_index, name="index", daemon=True)
            self._index.start()
        await self._app(scope, receive, send)

    async def _post(self, body: bytes, headers: Mapping[str, str], caller: Caller) -> tuple[int, bytes]:
        """Append the event of a change. The first one connects to the log for writing."""
        try:
            intake = intake_of(self._settings)
        except HeadwaterError as error:
            return 503, str(error).encode()
        return await intake.post(body, headers, caller)

    def _tell(self) -> None:
        """Notify requests that wait for the index, from the index's thread in the loop of the requests."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._index_waiter.notify)

    def _keep_index(self) -> None:
        """Follow bronze until the process ends. Only one of several processes of an instance does so."""
        try:
            maintain_index(self._settings, self._folder, threading.Event(), on_change=self._tell)
        except HeadwaterError as error:
            log.critical("The index is no longer updated: %s", error)
