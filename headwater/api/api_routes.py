"""The routes of the reading API: the questions about lineage, and what is asked of log and lake, declared here."""

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

import msgspec

from headwater.api import operation_lists
from headwater.api.freshness import FreshnessMeter
from headwater.api.operation_lists import list_events, list_refused, list_rejected
from headwater.api.overview import overview_of, window_of
from headwater.api.shapes import operations
from headwater.eventlog import Readers
from headwater.questions import declared
from headwater.questions import parameters as p
from headwater.questions.answers import list_answers
from headwater.questions.declaring import Help, Microseconds, question

BASE = "/api/headwater/v1"


class OperationSources(declared.QuestionSources, Protocol):
    """What is asked of log and lake is asked of these, too."""

    @property
    def readers(self) -> Readers:
        """The log."""

    @property
    def freshness(self) -> FreshnessMeter:
        """What questions cannot see yet."""

    @property
    def settings(self) -> Sequence[Mapping[str, Any]]:
        """The settings as they are shown."""


From = Annotated[Microseconds | None, Help("From this moment on; one hour before `to` without it.")]
Buckets = Annotated[int, Help("Into so many parts of equal length the window is cut.", most=500)]
RunOf = Annotated[str | None, Help("A run id.")]
Job = Annotated[str | None, Help("A job's name, or namespace/name.")]
Resume = Annotated[
    str | None, Help("Go on behind the event of this id; the header Last-Event-ID goes before.", longest=40)
]


@question("overview", reads_lake=True)
def overview(
    sources: OperationSources, *, from_: From = None, to: p.To = None, buckets: Buckets = 60
) -> operations.Overview:
    """What came in, what lags, how runs fare."""
    now_us = time.time_ns() // 1000
    window = window_of(from_, to, buckets, now_us)
    found = overview_of(
        sources.readers(), sources.bronze, sources.open_views, sources.freshness, window=window, now_us=now_us
    )
    return msgspec.convert(found, operations.Overview)


@question("audit", reads_lake=True)
def audit(sources: OperationSources) -> operations.Audit:
    """Whether every acknowledged event is in exactly one table."""
    return msgspec.convert(operation_lists.audit(sources.readers(), sources.bronze), operations.Audit)


@question("freshness", reads_lake=True)
def freshness(sources: OperationSources) -> operations.Freshness:
    """Age of the oldest acknowledged event that questions cannot see yet."""
    return msgspec.convert(sources.freshness.answer(), operations.Freshness)


@question("events", reads_lake=True)
def events(
    sources: OperationSources, *, run: RunOf = None, job: Job = None, since: p.Since = None, limit: p.Listed = 100
) -> list_answers.Events:
    """Stored events."""
    return list_events(sources.bronze, run=run, job=job, since_us=since, limit=limit)


@question("rejected", reads_lake=True)
def rejected(sources: OperationSources, *, since: p.Since = None, limit: p.Listed = 100) -> list_answers.RejectedEvents:
    """What was acknowledged but could not be stored."""
    return list_rejected(sources.bronze, since_us=since, limit=limit)


@question("rejected/retry", answer=operations.SentAgain, reads_lake=True, method="POST", role="admin")
def retried(sources: OperationSources, *, since: p.Since = None, limit: p.Listed = 100) -> list_answers.RejectedEvents:
    """Send rejected events again."""
    return list_rejected(sources.bronze, since_us=since, limit=limit)


@question("refused", reads_lake=True)
def refused(sources: OperationSources, *, since: p.Since = None, limit: p.Listed = 100) -> list_answers.RefusedRequests:
    """Requests and items that were not taken, counted by reason."""
    return list_refused(sources.bronze, since_us=since, limit=limit)


@question("live")
def live(_: OperationSources, *, last_event_id: Resume = None) -> None:
    """What happens now, as server-sent events: runs, edges, rejections."""


@question("settings")
def settings(sources: OperationSources) -> operations.SettingsAnswer:
    """The effective settings, without secrets."""
    return operations.SettingsAnswer([operations.Setting(**each) for each in sources.settings])


ROUTES = (
    declared.impact, declared.upstream, declared.path, declared.edge, declared.surface, declared.unused,
    declared.diff, declared.coverage, declared.run, declared.facets, declared.names, declared.rules, declared.search,
    declared.graph, declared.around, declared.timeline, overview, audit, freshness, events, rejected, retried,
    refused, live, settings,
)  # fmt: skip
