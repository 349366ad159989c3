"""Health and metrics of one instance of the API: whether it can answer, and when the index fills its disk."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from math import nan
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Gauge, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.api.error_responses import json_response
from headwater.common.answer_headers import ANSWER_HEADERS
from headwater.common.errors import HeadwaterError
from headwater.index.reading.status import IndexGrowth, index_growth
from headwater.lake.bronze_tables import Bronze
from headwater.operations.runtime.indexes import open_index_home
from headwater.operations.runtime.trouble_metrics import INDEX_TROUBLE, PARSER_TROUBLE
from headwater.operations.settings import Settings

BYTES = Gauge("headwater_index_bytes", "Bytes of the index on this instance's disk.")
LIMIT = Gauge("headwater_index_disk_bytes", "Bytes of temporary storage that an instance has.")
DAYS_LEFT = Gauge("headwater_index_days_left", "Days until index and snapshot copy fill the disk; NaN if unknown.")
SNAPSHOT_TROUBLE = Gauge("headwater_snapshot_in_trouble", "1 while no snapshot of the index can be made.")

_MEASURE_EVERY_S = 600.0


class InstanceHealth:
    """Answers readiness checks and scrapes of one instance, without a key."""

    def __init__(self, settings: Settings, folder: Path, bronze: Bronze, troubles: Callable[[], Mapping[str, str]]):
        """Open nothing yet. bronze: only checked for existence; troubles: returns why services are stopped."""
        self._bronze, self._troubles = bronze, troubles
        self._home = open_index_home(folder)
        self._limit_bytes = settings.index_disk_bytes
        self._room_bytes = settings.index_disk_bytes / (2 if settings.lake else 1)
        """Half of the disk if the lake has an address: its snapshots are made from a copy of the index on this disk."""
        self._one_at_a_time = threading.Lock()
        self._measured_at = -_MEASURE_EVERY_S
        self._bytes_per_day: float | None = None

    def routes(self) -> list[Route]:
        """Return the routes, which need no key."""
        return [Route("/health/ready", self._ready), Route("/metrics", self._metrics)]

    async def _ready(self, _: Request) -> Response:
        """Answer 200 if questions can be answered or there is no lake yet; otherwise 503 with the reason."""
        troubles = await asyncio.to_thread(self._troubles)
        growth = await asyncio.to_thread(self._growth)
        waits = "" if self._home.is_published() else await asyncio.to_thread(self._why_unpublished)
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
        growth = await asyncio.to_thread(self._growth)
        days, troubles = growth.days_until(self._room_bytes), await asyncio.to_thread(self._troubles)
        BYTES.set(growth.bytes)
        LIMIT.set(self._limit_bytes)
        DAYS_LEFT.set(nan if days is None else days)
        INDEX_TROUBLE.set("index" in troubles)
        PARSER_TROUBLE.set("parser" in troubles)
        SNAPSHOT_TROUBLE.set("snapshot" in troubles)
        return Response(generate_latest(REGISTRY), headers=ANSWER_HEADERS, media_type=CONTENT_TYPE_LATEST)

    def _growth(self) -> IndexGrowth:
        """Measure the size at each call, but the rate every ten minutes, because it reads one row for each event."""
        with self._one_at_a_time:
            is_due = time.monotonic() >= self._measured_at + _MEASURE_EVERY_S
            found = index_growth(self._home, time.time_ns() // 1000, with_rate=is_due)
            if is_due and found.bytes_per_day is not None:
                self._measured_at, self._bytes_per_day = time.monotonic(), found.bytes_per_day
            return found._replace(bytes_per_day=self._bytes_per_day)

    def _why_unpublished(self) -> str:
        """Return why questions cannot be answered; empty if there is no lake yet to answer from."""
        try:
            with self._one_at_a_time:
                return "the index is being built from the lake" if self._bronze.exists() else ""
        except HeadwaterError as error:
            return str(error)
