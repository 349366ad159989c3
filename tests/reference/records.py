"""Stored events as a set, and runs as the union of their events (docs/reference/lineage.md: events and runs, jobs)."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from tests.reference.job_names import canonical_job

Facets = dict[str, Any]

DAY_US = 24 * 3600 * 1_000_000
RANKS = {"START": 0, "RUNNING": 1, "COMPLETE": 2, "FAIL": 2, "ABORT": 2}
TERMINAL = {"COMPLETE": 0, "ABORT": 1, "FAIL": 2}  # among ends at the same time, the largest number wins
_HEX = "[0-9a-fA-F]"
_UUID = re.compile(f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}")
_SESSION = re.compile(f"(.+)[-_]{_HEX}{{8}}[-_]{_HEX}{{4}}[-_]{_HEX}{{4}}[-_]{_HEX}{{4}}[-_]{_HEX}{{12}}", re.DOTALL)


@dataclass(frozen=True)
class Delivered:
    """A received event. The same `event_id` means the same event again."""

    event: dict[str, Any]
    received_us: int
    event_id: str

    @property
    def time_us(self) -> int:
        try:
            return instant(self.event["eventTime"])
        except (ValueError, OverflowError):
            return self.received_us

    @property
    def rank(self) -> int:
        return RANKS.get(self.event.get("eventType") or "", 3)

    @property
    def is_ahead(self) -> bool:
        return self.time_us > self.received_us + DAY_US

    @property
    def order(self) -> tuple[bool, int, int, str]:
        """The sort key among the events of one run."""
        return (not self.is_ahead, self.time_us, self.rank, self.event_id)

    def datasets(self, *roles: str) -> list[dict[str, Any]]:
        """Return the datasets in the roles `inputs`, `outputs`, `dataset`."""
        found = (self.event.get(role) or [] for role in roles)
        return [each for value in found for each in (value if isinstance(value, list) else [value])]

    def facets(self, entity: str) -> Facets:
        found = facets_of(self.event.get(entity) or {})
        if entity == "run" and found.get("parentRun") and not found.get("parent"):
            return found | {"parent": found["parentRun"]}
        return found


@lru_cache(maxsize=10_000)  # the time of each event is requested very often
def instant(text: str) -> int:
    """Convert a time to microseconds since 1970."""
    moment = datetime.fromisoformat(text)
    utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (utc - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def facets_of(entity: dict[str, Any]) -> Facets:
    return entity.get("facets") or {}


def stored(delivered: Iterable[Delivered], as_of_us: int | None, known_at_us: int | None) -> list[Delivered]:
    """Return each event once, by its first receipt, within the two limits."""
    first: dict[str, Delivered] = {}
    for each in delivered:
        if each.event_id not in first or each.received_us < first[each.event_id].received_us:
            first[each.event_id] = each
    return [
        each
        for each in first.values()
        if (as_of_us is None or each.time_us <= as_of_us) and (known_at_us is None or each.received_us <= known_at_us)
    ]


def merged(said: Iterable[tuple[Facets, Delivered]]) -> dict[str, tuple[Facets, Delivered]]:
    """Return the newest value of each facet and its event. `said` is ordered oldest first."""
    newest: dict[str, tuple[Facets, Delivered]] = {}
    for facets, event in said:
        for name, value in facets.items():
            if value and (value.get("_deleted") or name not in CARRIES or CARRIES[name](value)):
                newest[name] = (value, event)
    return {name: said for name, said in newest.items() if not said[0].get("_deleted")}


def says_columns(facet: Facets) -> bool:
    """Return whether a `columnLineage` facet names an output field or a source of the whole dataset, even without
    inputs.
    """
    return bool(facet.get("dataset") or facet.get("fields"))


def says_lineage(facet: Facets) -> bool:
    """Return whether a `lineage` facet (with entries, or an entry itself) names a source or a field."""
    entries = facet.get("entries", [facet])
    sources = [source for entry in entries for source in entry.get("inputs") or []]
    return any(entry.get("fields") for entry in entries) or bool(sources)


CARRIES = {"columnLineage": says_columns, "lineage": says_lineage}


class Run:
    """A run: all its events, oldest first, and everything derived from them without dataset names."""

    def __init__(self, key: str, events: Iterable[Delivered]) -> None:
        self.key = key
        self.events = sorted(events, key=lambda event: event.order)
        self.facets = {name: value for name, (value, _) in merged((e.facets("run"), e) for e in self.events).items()}
        job_type = merged((e.facets("job"), e) for e in self.events).get("jobType", ({}, None))[0]
        self.is_streaming = (
            job_type.get("processingType") in {"STREAMING", "SERVICE"} or job_type.get("integration") == "FLINK"
        )
        mode = (job_type.get("emissionPattern") or {}).get("eventContentMode")
        attempts = [self.events] if self.is_streaming else attempts_of(self.events)
        last = terminal(attempts[-1])
        self.state = last.event["eventType"] if last else "RUNNING"
        ends = [(number, end) for number, each in enumerate(attempts) if (end := terminal(each))]
        completed = [(number, end) for number, end in ends if end.event["eventType"] == "COMPLETE"]
        self.completes = bool(completed)
        self.counts = self.is_streaming or self.completes
        telling = self._telling_event() if self.is_streaming else completed[-1][1] if completed else last
        self.time_us = (telling or self.events[-1]).time_us
        counted = attempts[: completed[-1][0] + 1] if completed else attempts
        self.counted = [event for attempt in counted for event in attempt]
        self._later = [event for attempt in attempts[len(counted) :] for event in attempt]
        self.telling = [
            e for e in self.counted if e is telling or not (self.is_streaming and mode == "COMPLETE_SNAPSHOT")
        ]

    @property
    def attempted(self) -> "Run | None":
        """The part that did not complete: the run itself, or its attempts after the newest completed one."""
        if not self.counts:
            return self
        return Run(self.key, self._later) if self._later else None

    @property
    def job_key(self) -> tuple[str, str]:
        properties = self.facets.get("spark_properties", {}).get("properties") or {}
        artifact = properties.get("trident.artifact.id") or properties.get("spark.trident.artifact.id")
        return job_key(self.events[-1].event["job"], artifact)

    @property
    def nominal_us(self) -> int | None:
        """The latest nominal time in the events: the end, else the start."""
        told = [each.facets("run").get("nominalTime") or {} for each in self.events]
        times = [each.get("nominalEndTime") or each.get("nominalStartTime") for each in told]
        return max((instant(each) for each in times if each), default=None)

    @property
    def root(self) -> str | None:
        return _run_named((self.facets.get("parent") or {}).get("root") or {}) or self.parent

    @property
    def first_us(self) -> int:
        return min(event.time_us for event in self.events)

    @property
    def last_us(self) -> int:
        """The time of the newest event. An event far in the future is the newest only if all events are."""
        return self.events[-1].time_us

    @property
    def parent(self) -> str | None:
        return _run_named(self.facets.get("parent") or {})

    @property
    def execution(self) -> str:
        return _run_named((self.facets.get("parent") or {}).get("root") or {}) or self.parent or self.key

    def _telling_event(self) -> Delivered | None:
        def lists(event: Delivered, role: str) -> bool:
            return any(not is_own_table(each["name"]) for each in event.datasets(role))

        part = [event for event in self.events if lists(event, "inputs") or lists(event, "outputs")]
        whole = [event for event in part if lists(event, "inputs") and lists(event, "outputs")]
        return next(reversed([e for e in self.events if event_has_lineage(e)] or whole or part), None)


def attempts_of(events: list[Delivered]) -> list[list[Delivered]]:
    """Return the events of a run in attempts: a START after an end begins a new attempt."""
    found: list[list[Delivered]] = [[]]
    for event in events:
        ended = [each.time_us for each in found[-1] if each.event.get("eventType") in TERMINAL]
        if event.event.get("eventType") == "START" and ended and event.time_us > min(ended):
            found.append([])
        found[-1].append(event)
    return found


def terminal(events: list[Delivered]) -> Delivered | None:
    """Return the event that ends an attempt."""
    ended = [event for event in events if event.event.get("eventType") in TERMINAL]
    return max(ended, key=lambda e: (*e.order[:2], TERMINAL[e.event["eventType"]]), default=None)


def is_own_table(name: str) -> bool:
    """Return whether a dataset is an internal table that Delta reads."""
    last = name.rpartition("/")[2]
    return last == "_delta_log" or last.startswith(("delta_source_snapshot_", "delta_table_state_"))


def event_has_lineage(event: Delivered) -> bool:
    places = [event.facets("run"), event.facets("job"), *map(facets_of, event.datasets("outputs"))]
    return any(CARRIES[name](place.get(name) or {}) for place in places for name in CARRIES)


def _run_named(entity: Facets) -> str | None:
    return run_key(entity["run"]["runId"], entity.get("job") or {}) if entity.get("run") else None


def runs_of(events: Iterable[Delivered]) -> list[Run]:
    by_key = defaultdict(list)
    for event in events:
        if "run" in event.event:
            by_key[run_key(event.event["run"]["runId"], event.event["job"])].append(event)
    return [Run(key, members) for key, members in by_key.items()]


def period_of(run: Run, runs: Mapping[str, Run]) -> int:
    """Return a run's nominal time, else that of its nearest ancestor or its root, but never later than the
    run's end.
    """
    above: list[str] = []
    key: str | None = run.key
    while key and key not in above:
        above.append(key)
        key = runs[key].parent if key in runs else None
    above += [run.root] if run.root else []
    times = [each.nominal_us for key in above if (each := runs.get(key))]
    return min(next((time_us for time_us in times if time_us is not None), run.time_us), run.time_us)


def run_key(run_id: str, job: dict[str, str]) -> str:
    return (
        run_id.lower()
        if _UUID.fullmatch(run_id)
        else json.dumps([run_id, job["namespace"], job["name"]], separators=(",", ":"))
    )


def job_key(job: dict[str, str], artifact: str | None = None) -> tuple[str, str]:
    head, dot, rest = canonical_job(job["name"]).partition(".")
    session = _SESSION.fullmatch(head)
    return job["namespace"], (artifact or (session[1] if session else head)) + dot + rest


def is_half(job: str) -> bool:
    """Return whether a job's name is that of a CREATE or REPLACE TABLE AS SELECT, whose rows another job writes."""
    return any(_STATEMENT.fullmatch(part) for part in job.split("."))


def is_rdd_step(job: str) -> bool:
    """Return whether a job's name is that of a Spark step that reports its inputs as outputs, too."""
    parts = job.split(".")
    return any(part.startswith(("scan_existing_rdd", "command_result")) or _OF_RDDS.search(part) for part in parts)


_OF_RDDS = re.compile("map_partitions|parallel_collection")
_STATEMENT = re.compile(r"(atomic_|execute_)?(create|replace)(_\w+)?_table_as_select(_command|_exec\w*)?")
