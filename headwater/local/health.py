"""Health and metrics of a running Headwater: can it acknowledge, and how far is the lake."""

import asyncio
import threading

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Gauge, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.api.questions import freshness
from headwater.api.refusing import json_response
from headwater.errors import HeadwaterError
from headwater.eventlog import LogWriter, Readers, each
from headwater.lake.bronze import Bronze

PENDING = Gauge("headwater_pending_events", "Acknowledged events that are not in the lake yet.")
FRESHNESS = Gauge("headwater_freshness_seconds", "Age of the oldest event that is not in the lake yet.")
LOG_BYTES = Gauge("headwater_log_bytes", "Bytes of the event log on disk.")


class Health:
    """Answers health checks and scrapes; the log alone decides whether requests can be acknowledged."""

    def __init__(self, log: LogWriter, readers: Readers, bronze: Bronze):
        """Open nothing."""
        self._log = log
        self._readers = readers
        self._bronze = bronze
        self._one_at_a_time = threading.Lock()

    def routes(self) -> list[Route]:
        """Return the routes, which ask for no key."""
        return [
            Route("/health/live", self._live),
            Route("/health/ready", self._ready),
            Route("/metrics", self._metrics),
        ]

    def watermarks(self) -> dict[str, int]:
        """Return the newest sequence number in the lake, by partition."""
        with self._one_at_a_time:
            sources = [reader.source for reader in self._readers()]
            return {source.partition: self._bronze.watermark(source) for source in sources}

    async def _live(self, _: Request) -> Response:
        return json_response(200, {"live": True})

    async def _ready(self, _: Request) -> Response:
        """Answer 200 if events can be acknowledged; a lake that lags or is down does not change that."""
        trouble = self._log.trouble()
        # a log that is a service is not asked what waits in it while it does not answer: that takes as long as it likes
        lake = "not asked" if trouble else await asyncio.to_thread(self._lake_state)
        components = {"log": trouble or "ok", "lake": lake}
        return json_response(503 if trouble else 200, {"ready": not trouble, "components": components})

    async def _metrics(self, _: Request) -> Response:
        await asyncio.to_thread(self._measure)
        return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)

    def _lake_state(self) -> str:
        try:
            with self._one_at_a_time:
                seconds = freshness(self._readers(), self._bronze)["seconds"]
        except HeadwaterError as error:
            return str(error)
        return "ok" if seconds == 0 else f"oldest pending event is {seconds:.1f} s old"

    def _measure(self) -> None:
        try:
            with self._one_at_a_time:
                readers = self._readers()
                passed = {reader.source: self._bronze.watermark(reader.source) for reader in readers}
                PENDING.set(sum(each(readers, lambda reader: reader.pending(passed[reader.source]))))
                FRESHNESS.set(freshness(readers, self._bronze)["seconds"])
                LOG_BYTES.set(sum(reader.size_bytes() for reader in readers))
        except HeadwaterError:
            PENDING.set(float("nan"))
            FRESHNESS.set(float("nan"))
