"""Health and metrics of `serve`: whether requests can be acknowledged, and how far the lake lags.

The metrics include the status that the process `sinks` writes for each sink, and the newest findings of
`headwater reconcile --save`.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import NamedTuple, get_args

import msgspec
from prometheus_client import Gauge
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.api.freshness import FreshnessMeter, log_age_s
from headwater.api.responses import json_response
from headwater.api.shapes import Freshness
from headwater.common.errors import HeadwaterError
from headwater.common.paging import ListPage
from headwater.events.times import parse_time
from headwater.intake.event_log import LogWriter, Readers, call_all_readers
from headwater.lake.bronze_tables import Bronze
from headwater.operations.runtime.metrics import metrics_response, set_trouble_metrics
from headwater.operations.runtime.sinks import STATUS_FILE
from headwater.operations.runtime.troubles import service_troubles
from headwater.operations.settings import Station
from headwater.questions.answer_types.reports import FindingKind
from headwater.questions.unreported import saved_findings
from headwater.sinks.interface.error_isolation import escape_control_characters

PENDING = Gauge("headwater_pending_events", "Acknowledged events that are not in the lake yet.")
FRESHNESS = Gauge("headwater_freshness_seconds", "Age of the oldest event that is not visible to questions.")
WAITING = Gauge("headwater_waiting_seconds", "Age of the oldest event that waits in the log or in bronze.", ["station"])
GOLD = Gauge("headwater_gold_freshness_seconds", "Age of the oldest event that gold lacks; NaN without gold.")
BEHIND = Gauge("headwater_behind_events", "Acknowledged events that are not visible to questions yet.")
SET_ASIDE = Gauge("headwater_index_set_aside_events", "Stored events that the index could not process.")
LOG_BYTES = Gauge("headwater_log_bytes", "Bytes of the event log on disk.")

FINDINGS = Gauge("headwater_findings", "Missing reports in the newest saved comparisons.", ["kind"])
COMPARED = Gauge("headwater_comparison_seconds", "Time since the end of a comparison's range.", ["comparison"])
_FINDINGS_EVERY_S = 60.0
"""Minimum seconds between two reads of the findings. Scrapes are frequent, but findings change rarely."""

SINK_BEHIND = Gauge("headwater_sink_behind_events", "Events of the lake that a sink has not taken.", ["sink"])
SINK_BEHIND_S = Gauge("headwater_sink_behind_seconds", "Age of the oldest event that a sink has not taken.", ["sink"])
SINK_DELIVERED = Gauge(
    "headwater_sink_delivered_events", "Events that a sink has delivered since it was created.", ["sink"]
)
SINK_FAILED = Gauge("headwater_sink_failed_events", "Events that a sink has given up since it was created.", ["sink"])
SINK_TROUBLE = Gauge("headwater_sink_in_trouble", "1 while a sink waits for its target, or for the lake.", ["sink"])


class HealthRoutes:
    """The routes of health checks and metrics. Only the state of the log decides whether events can be acknowledged.

    A process that runs only the receiver never reads the lake and needs no permission on it. The metrics of services
    that this process does not run are NaN.
    """

    def __init__(
        self,
        *,
        stations: Sequence[Station],
        log: LogWriter,
        readers: Readers,
        bronze: Bronze,
        freshness: FreshnessMeter,
        folder: Path,
    ):
        """stations: services of this machine. folder: data folder, to which other processes write their status."""
        self._receives, self._answers = "receiver" in stations, "api" in stations
        self._knows_lake = self._answers or "parser" in stations
        for gauge in () if self._answers else (BEHIND, SET_ASIDE) if self._knows_lake else (PENDING, BEHIND, SET_ASIDE):
            gauge.set(nan)
        self._began = time.time()
        self._caught_up = False
        self._folder = folder
        self._log = log
        self._readers = readers
        self._bronze = bronze
        self._freshness = freshness
        self._findings = FindingMeter(bronze)
        self._one_at_a_time = threading.Lock()

    def routes(self) -> list[Route]:
        """Return the routes, which need no key."""
        return [
            Route("/health/live", self._answer_live),
            Route("/health/ready", self._answer_ready),
            Route("/metrics", self._answer_metrics),
        ]

    def watermarks(self) -> dict[str, int]:
        """Return the lake's watermark of each partition: its newest parsed sequence number."""
        with self._one_at_a_time:
            passed = self._bronze.watermarks([reader.source for reader in self._readers()])
            return {source.partition: mark for source, mark in passed.items()}

    async def _answer_live(self, _: Request) -> Response:
        return json_response(200, {"live": True})

    async def _answer_ready(self, _: Request) -> Response:
        """Answer 200 if events can be acknowledged, even if the lake or the index lags or is unavailable.

        Without a receiver, answer 200 once answers include all events that were in the lake when this process started.
        """
        trouble = self._log.unavailability_reason()
        # do not ask an unavailable log service for its backlog, because the request may take very long
        is_asked = self._knows_lake and not trouble
        found = (
            await asyncio.to_thread(self._serving_state) if is_asked else _ServingState("not asked", "not asked", None)
        )
        components = {"log": trouble or "ok", "lake": found.lake_state, "index": found.index_state}
        components |= service_troubles(self._folder)  # for the index, the reason of a stop replaces its lag
        is_ready = not trouble if self._receives else self._has_caught_up(found.freshness)
        state = {"ready": is_ready, "components": components, "freshness": found.freshness}
        return json_response(200 if is_ready else 503, state)

    def _has_caught_up(self, found: Freshness | None) -> bool:
        """Return whether answers have included all events from before the start of this process at least once."""
        if found and found.bronze < time.time() - self._began:
            self._caught_up = True
        return self._caught_up or not self._answers

    async def _answer_metrics(self, _: Request) -> Response:
        await asyncio.to_thread(self._update_metrics)
        return metrics_response()

    def _serving_state(self) -> "_ServingState":
        try:
            if not self._answers:
                with self._one_at_a_time:
                    return _ServingState(_lag_text(log_age_s(self._readers, self._bronze), "lake"), "not here", None)
            found = self._freshness.freshness_answer()
        except HeadwaterError as error:
            return _ServingState(str(error), "not asked", None)
        return _ServingState(_lag_text(found.log, "lake"), _lag_text(found.bronze, "index"), found)

    def _update_metrics(self) -> None:
        measure_sinks(self._folder)
        if self._knows_lake:
            set_trouble_metrics(service_troubles(self._folder))
        found = Freshness(nan, nan, nan, 0, None)
        try:
            found = self._update_lake_metrics() if self._knows_lake else found
        except HeadwaterError:
            PENDING.set(nan)
            BEHIND.set(nan)
        FRESHNESS.set(found.seconds)
        WAITING.labels("log").set(found.log)
        WAITING.labels("bronze").set(found.bronze)
        GOLD.set(found.gold.seconds if found.gold else nan)

    def _update_lake_metrics(self) -> Freshness:
        with self._one_at_a_time:
            readers = self._readers()
            passed = self._bronze.watermarks([reader.source for reader in readers])
            PENDING.set(sum(call_all_readers(readers, lambda reader: reader.pending(passed[reader.source]))))
            LOG_BYTES.set(sum(reader.size_bytes() for reader in readers))
            self._findings.update_metrics()
            if not self._answers:
                return Freshness(nan, log_age_s(self._readers, self._bronze), nan, 0, None)
        found = self._freshness.freshness_answer()
        BEHIND.set(found.events)
        SET_ASIDE.set(len(self._freshness.set_aside_events(0)))
        return found


class _ServingState(NamedTuple):
    """The states of lake and index as text, `ok` or a reason, and the answer of the question `freshness`."""

    lake_state: str
    index_state: str
    freshness: Freshness | None


def _lag_text(waits_s: float, where: str) -> str:
    return "ok" if waits_s == 0 else f"the oldest event that is not in the {where} yet is {waits_s:.1f} s old"


class FindingMeter:
    """Sets the metrics of the saved findings of `headwater reconcile`. Not thread-safe, because it shares `bronze`."""

    def __init__(self, bronze: Bronze) -> None:
        self._bronze = bronze
        self._looked = float("-inf")
        self._until_us: dict[str, int] = {}

    def update_metrics(self) -> None:
        """Update the metrics. Raises LakeUnavailable."""
        if time.monotonic() >= self._looked + _FINDINGS_EVERY_S:
            self._count_findings()
            self._looked = time.monotonic()
        for name, until_us in self._until_us.items():
            COMPARED.labels(name).set(max(0.0, time.time() - until_us / 1e6))

    def _count_findings(self) -> None:
        """Read the findings, and set the number of findings of each kind. Kinds without findings become 0."""
        found = saved_findings(self._bronze, ListPage(limit=0)).comparisons
        FINDINGS.clear()
        COMPARED.clear()
        self._until_us = {escape_control_characters(each.name): parse_time(each.until)[0] or 0 for each in found}
        kinds = sum((Counter(each.kinds) for each in found), Counter[str]())
        for kind in get_args(FindingKind) if found else ():
            FINDINGS.labels(kind).set(kinds[kind])


class _SinkStatus(msgspec.Struct):
    delivered: int
    failed: int
    behind: int
    behind_us: int | None
    trouble: str | None


class _SinkStatuses(msgspec.Struct):
    sinks: dict[str, _SinkStatus]


def measure_sinks(folder: Path) -> None:
    """Update the metrics of the sinks from their status file. The metrics of removed sinks disappear."""
    try:
        found = msgspec.json.decode((folder / "run" / STATUS_FILE).read_bytes(), type=_SinkStatuses).sinks
    except (OSError, msgspec.DecodeError):
        found = {}
    for gauge in (SINK_BEHIND, SINK_BEHIND_S, SINK_DELIVERED, SINK_FAILED, SINK_TROUBLE):
        gauge.clear()
    for name, status in found.items():
        SINK_BEHIND.labels(name).set(status.behind)
        SINK_BEHIND_S.labels(name).set(max(0.0, time.time() - status.behind_us / 1e6) if status.behind_us else 0.0)
        SINK_DELIVERED.labels(name).set(status.delivered)
        SINK_FAILED.labels(name).set(status.failed)
        SINK_TROUBLE.labels(name).set(status.trouble is not None)
