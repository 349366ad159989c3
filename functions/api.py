"""Triggers of API and dashboard: a route for the ASGI application of `headwater up`, and a timer for index snapshots.

Each instance has an index on its local disk, which a thread builds from bronze. A change through the API is appended to
the log as an event, as if the receiver had received it.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from math import nan
from pathlib import Path

import azure.functions as func
from prometheus_client import Gauge
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from functions import open_readers
from functions.receiver.intake import process_intake
from headwater.api.freshness import IndexWaiter
from headwater.api.marquez.changes import ChangeBackend
from headwater.api.responses import json_response
from headwater.auth.access import Caller
from headwater.common.errors import HeadwaterError
from headwater.index.reading.status import IndexGrowth, index_growth
from headwater.lake.bronze_tables import Bronze
from headwater.operations.runtime.api import ApiResources
from headwater.operations.runtime.azure_files import SharedTroubles, supports_lake_files
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.index import maintain_index, make_snapshot_if_due, open_index_home
from headwater.operations.runtime.metrics import metrics_response, set_trouble_metrics
from headwater.operations.runtime.troubles import service_troubles
from headwater.operations.settings import Settings

log = logging.getLogger(__name__)

BYTES = Gauge("headwater_index_bytes", "Bytes of the index on this instance's disk.")
LIMIT = Gauge("headwater_index_disk_bytes", "Bytes of temporary storage that an instance has.")
DAYS_LEFT = Gauge("headwater_index_days_left", "Days until index and snapshot copy fill the disk; NaN if unknown.")
SNAPSHOT_TROUBLE = Gauge("headwater_snapshot_in_trouble", "1 while no snapshot of the index can be made.")
_MEASURE_EVERY_S = 600.0


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the triggers. The first request starts the thread that builds the index of this instance."""
    bp = func.Blueprint()
    middleware = func.AsgiMiddleware(ApiInstance(settings))
    intake = process_intake(settings) if "receiver" in settings.triggers else None

    @bp.function_name("api")
    @bp.route("{*route}", methods=["GET", "HEAD", "POST", "PUT", "DELETE"], auth_level=func.AuthLevel.ANONYMOUS)
    async def read(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
        if intake and req.method == "POST" and (found := await intake.receive_inexact_path(req)):
            return found
        answer: func.HttpResponse = await middleware.handle_async(req, context)
        return answer

    @bp.function_name("snapshot")
    @bp.timer_trigger(arg_name="timer", schedule="0 35 * * * *")
    def make_index_snapshot(timer: func.TimerRequest) -> None:
        try:
            make_snapshot_if_due(settings, prepare_folder(settings))
        except Exception as error:  # raised again, so that the host counts a failed invocation
            log.error("No snapshot of the index was made: %s", error)
            raise

    return bp


def open_trouble_reader(settings: Settings, folder: Path) -> Callable[[], Mapping[str, str]]:
    """Return a function that returns the reasons of stopped services by service.

    The reasons include the services of this instance, and the parser on any instance.
    """
    if not supports_lake_files(settings):
        return partial(service_troubles, folder)
    in_lake = SharedTroubles(settings)
    return lambda: {**in_lake.read_troubles(), **service_troubles(folder)}


class ApiInstance:
    """The ASGI application. It answers questions about lineage with 503 until the index has caught up once."""

    def __init__(self, settings: Settings):
        """Prepare the application. It connects to log and lake with the first request."""
        self._settings = settings
        self._folder = prepare_folder(settings)
        troubles = open_trouble_reader(settings, self._folder)
        side = ApiResources(settings, self._folder, partial(open_readers, settings, self._folder), troubles)
        self._index_waiter = IndexWaiter(side.freshness)
        health = InstanceHealth(settings, self._folder, side.bronze, troubles)
        self._app = side.build_app(writing=ChangeBackend(self._post_event, self._index_waiter), more=health.routes())
        self._index: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and start the thread of the index if the thread does not run."""
        self._loop = asyncio.get_running_loop()
        if self._index is None or not self._index.is_alive():
            self._index = threading.Thread(target=self._follow_bronze, name="index", daemon=True)
            self._index.start()
        await self._app(scope, receive, send)

    async def _post_event(self, body: bytes, headers: Mapping[str, str], caller: Caller) -> tuple[int, bytes]:
        """Append the event of a change to the log. The first change opens the log for writing."""
        try:
            intake = process_intake(self._settings)
        except HeadwaterError as error:
            return 503, str(error).encode()
        return await intake.post_event(body, headers, caller)

    def _log_status(self) -> None:
        """Wake the requests that wait for the index, in their event loop. The thread of the index calls this."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._index_waiter.notify)

    def _follow_bronze(self) -> None:
        """Update the index from bronze until the process ends. Only one process of an instance does this."""
        try:
            maintain_index(self._settings, self._folder, threading.Event(), on_change=self._log_status)
        except HeadwaterError as error:
            log.critical("The index is no longer updated: %s", error)


class InstanceHealth:
    """Answers readiness checks and scrapes of metrics for one instance. Requests need no key."""

    def __init__(self, settings: Settings, folder: Path, bronze: Bronze, troubles: Callable[[], Mapping[str, str]]):
        """bronze: used only to check whether the lake exists. troubles: returns the reasons of stopped services."""
        self._bronze, self._troubles = bronze, troubles
        self._home = open_index_home(folder)
        self._limit_bytes = settings.index_disk_bytes
        self._room_bytes = settings.index_disk_bytes / (2 if settings.lake else 1)
        """Maximum size of the index. With a remote lake, a snapshot needs a copy of the index on the same disk."""
        self._one_at_a_time = threading.Lock()
        self._measured_at = -_MEASURE_EVERY_S
        self._bytes_per_day: float | None = None

    def routes(self) -> list[Route]:
        """Return the routes of readiness and metrics. They need no key."""
        return [Route("/health/ready", self._ready), Route("/metrics", self._metrics)]

    async def _ready(self, _: Request) -> Response:
        """Answer 200 if questions can be answered or there is no lake yet; otherwise 503 with the reason."""
        troubles = await asyncio.to_thread(self._troubles)
        growth = await asyncio.to_thread(self._index_growth)
        waits = "" if self._home.has_published_file() else await asyncio.to_thread(self._unpublished_reason)
        components = {"index": waits or "ok", "snapshot": "ok", **troubles}
        days = growth.days_until(self._room_bytes)
        answer = {
            "ready": not waits,
            "components": components,
            "index": {
                "bytes": growth.bytes,
                "disk_bytes": self._limit_bytes,
                "days_left": None if days is None else round(days, 1),
            },
        }
        return json_response(503 if waits else 200, answer)

    async def _metrics(self, _: Request) -> Response:
        growth = await asyncio.to_thread(self._index_growth)
        days, troubles = growth.days_until(self._room_bytes), await asyncio.to_thread(self._troubles)
        BYTES.set(growth.bytes)
        LIMIT.set(self._limit_bytes)
        DAYS_LEFT.set(nan if days is None else days)
        set_trouble_metrics(troubles)
        SNAPSHOT_TROUBLE.set("snapshot" in troubles)
        return metrics_response()

    def _index_growth(self) -> IndexGrowth:
        """Return the size and growth of the index. Growth is measured every ten minutes: this reads a row per event."""
        with self._one_at_a_time:
            is_due = time.monotonic() >= self._measured_at + _MEASURE_EVERY_S
            found = index_growth(self._home, time.time_ns() // 1000, with_rate=is_due)
            if is_due and found.bytes_per_day is not None:
                self._measured_at, self._bytes_per_day = time.monotonic(), found.bytes_per_day
            return found._replace(bytes_per_day=self._bytes_per_day)

    def _unpublished_reason(self) -> str:
        """Return why questions cannot be answered; empty if there is no lake yet to answer from."""
        try:
            with self._one_at_a_time:
                return "the index is being built from the lake" if self._bronze.exists() else ""
        except HeadwaterError as error:
            return str(error)
