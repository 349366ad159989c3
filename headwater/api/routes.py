"""The routes of the reading API. Questions about log and lake are declared here, others in their packages."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from headwater.api import audit as log_audit
from headwater.api import contract_routes, identity_routes, shapes, sink_routes
from headwater.api.freshness import FreshnessMeter
from headwater.api.live_feed import LIVE_EVENTS
from headwater.api.marquez.shapes import READ_BY_PAGE
from headwater.auth.access import Caller
from headwater.common.errors import LakeUnavailable, WrongQuestion
from headwater.common.paging import ListPage, ResultPage, RowOrder
from headwater.common.registry import Installed
from headwater.events.position import Source
from headwater.events.times import iso_time
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_lists import FailedOrLostRun, failed_runs, lost_runs, state_counts_by_bucket
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.stored.progress import SetAsideEvent
from headwater.intake.event_log import LogReader, Readers, call_all_readers
from headwater.lake.bronze_tables import Bronze
from headwater.lake.row_lists import counts_in_time, list_rows
from headwater.questions import definitions
from headwater.questions import parameters as p
from headwater.questions.answer_types import lists as list_answers
from headwater.questions.answer_types.common import Error, Job
from headwater.questions.declaring import Help, Question, question, questions_in
from headwater.questions.moments import Microseconds
from headwater.questions.parameter_groups import NewestPage
from headwater.questions.registry import QUESTIONS, collision_check
from headwater.tables import EVENTS, REFUSED, REJECTED

BASE = "/api/headwater/v1"

_A = TypeVar("_A", list_answers.Events, list_answers.RejectedEvents, list_answers.RefusedRequests)


class OperationSources(definitions.QuestionSources, Protocol):
    """Sources of answers about log and lake, in addition to those about lineage."""

    @property
    def log_readers(self) -> Readers:
        """Readers of the event log, one for each partition."""

    @property
    def freshness(self) -> FreshnessMeter:
        """Measures how far answers are behind."""

    @property
    def caller(self) -> Caller:
        """The caller of the API."""

    @property
    def settings(self) -> Sequence[Mapping[str, Any]]:
        """The settings for display, without secrets."""


From = Annotated[Microseconds | None, Help("Start of the window; default one hour before `to`.")]
Buckets = Annotated[int, Help("Number of equal parts of the window.", most=500)]
JobName = Annotated[str | None, Help("Name of a job, or namespace/name.")]
Resume = Annotated[
    str | None, Help("Continue after the event with this id. The header Last-Event-ID takes precedence.", longest=40)
]


@question("overview", called=None, reads_lake=True)
def overview(
    sources: OperationSources, *, from_: From = None, to: p.To = None, buckets: Buckets = 60
) -> shapes.Overview:
    """Summarize a window of time: received events, delays, and the states of runs."""
    now_us = time.time_ns() // 1000
    window = parse_window(from_, to, buckets, now_us)
    return overview_answer(
        sources.log_readers(), sources.bronze, sources.open_views, sources.freshness, window=window, now_us=now_us
    )


@question("audit", reads_lake=True)
def audit(sources: OperationSources) -> shapes.Audit:
    """Compare the log with the lake, and check that every acknowledged event is in exactly one table."""
    why = sources.freshness.troubles().get("parser")
    stopped = f"The parser has stopped: {why}" if why else ""
    try:
        found = log_audit.audit(sources.log_readers(), sources.bronze)
    except LakeUnavailable as error:  # the audit may read the same file that stopped the parser
        raise LakeUnavailable(stopped or str(error)) from error
    if found.trouble:
        return found  # without a usable log, the lag of the index is unknown
    if found.pending and stopped:
        return msgspec.structs.replace(found, balanced=False, trouble=stopped)  # the index reads the same lake
    return msgspec.structs.replace(found, index=sources.freshness.index_lag())


@question("freshness", reads_lake=True)
def freshness(sources: OperationSources) -> shapes.Freshness:
    """Return the age of the oldest acknowledged event that answers do not include yet."""
    return sources.freshness.freshness_answer()


@question("events", reads_lake=True)
def events(
    sources: OperationSources, *, run: p.RunOf = None, job: JobName = None, since: p.Since = None, page: NewestPage
) -> list_answers.Events:
    """List stored events, newest first."""
    return _to_list_answer(
        list_answers.Events, list_rows(sources.bronze, EVENTS, page, run=run, job=job, since_us=since)
    )


@question("rejected", reads_lake=True)
def rejected(sources: OperationSources, *, since: p.Since = None, page: NewestPage) -> list_answers.RejectedEvents:
    """List acknowledged events that could not be stored, with reasons."""
    return _rejected_page(sources, since, page)


@question("rejected/index", called=None)
def set_aside(sources: OperationSources, *, since: p.Since = None, page: NewestPage) -> list_answers.SetAsideEvents:
    """List stored events that the index could not process, with reasons. Lineage does not include them."""
    found = _SET_ASIDE.page(sources.freshness.set_aside_events(since or 0), page)
    items = [
        list_answers.SetAsideEvent(
            each.event_id, source.epoch, source.partition, each.sequence, iso_time(each.received_us) or "",
            iso_time(each.at_us) or "", each.reason, each.message,
        )
        for source, each in found.rows
    ]  # fmt: skip
    return list_answers.SetAsideEvents(items, **found.info)


_SET_ASIDE = RowOrder[tuple[Source, SetAsideEvent]](
    "rejected-index",
    {
        "received_at": lambda row: row[1].received_us, "set_aside_at": lambda row: row[1].at_us,
        "reason": lambda row: row[1].reason, "message": lambda row: row[1].message,
    },
    "-received_at",
    lambda row: (row[0].epoch, row[0].partition, row[1].sequence),
    ties=3,
    texts=lambda row: (row[1].event_id, row[1].reason, row[1].message),
)  # fmt: skip


@question("rejected/retry", called=None, answer=shapes.SentAgain, reads_lake=True, method="POST", role="admin")
def retried(sources: OperationSources, *, since: p.Since = None, limit: p.Listed = 100) -> list_answers.RejectedEvents:
    """Send rejected events again."""
    return _rejected_page(sources, since, ListPage(limit=limit))


@question("refused", reads_lake=True)
def refused(sources: OperationSources, *, since: p.Since = None, page: NewestPage) -> list_answers.RefusedRequests:
    """List refused requests and batch items, counted by reason."""
    return _to_list_answer(list_answers.RefusedRequests, list_rows(sources.bronze, REFUSED, page, since_us=since))


@question("live", called=None)
def live(_: OperationSources, *, last_event_id: Resume = None) -> None:
    """Stream live events as server-sent events: run states, edges, rejected events."""


@question("settings", called=None)
def settings(sources: OperationSources) -> shapes.SettingsAnswer:
    """List the effective settings without secrets. Only administrators see the names of keys."""
    shown = [
        {**each, "value": "***"}
        if each["setting"] == "keys" and each["value"] and not sources.caller.has_role("admin")
        else each
        for each in sources.settings
    ]
    return shapes.SettingsAnswer([shapes.Setting(**each) for each in shown])


def _rejected_page(sources: OperationSources, since_us: int | None, page: ListPage) -> list_answers.RejectedEvents:
    found = list_rows(sources.bronze, REJECTED, page, since_us=since_us)
    rows = [{**row, "origin": _file_origin(row["http"])} for row in found.rows]
    return _to_list_answer(list_answers.RejectedEvents, found._replace(rows=rows))


def _file_origin(http: str | None) -> str | None:
    """Return the file and line of an event that was ingested from a file."""
    try:
        return msgspec.json.decode(http or "{}", type=_Origin).origin
    except msgspec.MsgspecError:
        return None


class _Origin(msgspec.Struct):
    origin: str | None = None


def _to_list_answer(shape: type[_A], found: ResultPage[dict[str, Any]]) -> _A:
    """Return a page of rows as an answer."""
    items = [{name: _to_json_cell(cell) for name, cell in row.items()} for row in found.rows]
    return msgspec.convert({"items": items, **found.info}, shape)


def _to_json_cell(cell: Any) -> Any:
    """Return a cell for JSON; times are in ISO 8601 with microseconds."""
    return cell.astimezone(UTC).isoformat().replace("+00:00", "Z") if isinstance(cell, datetime) else cell


LINEAGE_ROUTES = (*QUESTIONS.load_built_in().values(), *questions_in(vars(contract_routes)))
SINK_ROUTES = questions_in(vars(sink_routes))
IDENTITY_ROUTES = questions_in(vars(identity_routes))
_LOG_ROUTES = questions_in(globals())
ROUTES = (*LINEAGE_ROUTES, *_LOG_ROUTES, *SINK_ROUTES, *IDENTITY_ROUTES)
"""The built-in routes."""


def topic_of(route: Question) -> Literal["lineage", "sinks", "operations"]:
    """Return the topic of a route. Routes of other packages are about lineage."""
    return "sinks" if route in SINK_ROUTES else "operations" if route in (*_LOG_ROUTES, *IDENTITY_ROUTES) else "lineage"


@cache
def installed_routes() -> Installed[Question]:
    """Return the questions that installed packages add, and a message for each that cannot be used."""
    other_shapes = [*LIVE_EVENTS.values(), *READ_BY_PAGE.values(), Error]
    return QUESTIONS.installed(collision_check(ROUTES, other_shapes))


_HOUR_US = 3600 * 1_000_000
_MAX_US = 366 * 24 * _HOUR_US
_LATEST_US = 7_030 * 366 * 24 * _HOUR_US


class TimeBuckets(NamedTuple):
    """A window of time in buckets of equal length (us, UTC)."""

    since_us: int
    bucket_us: int
    buckets: int

    @property
    def until_us(self) -> int:
        """End of the window, exclusive."""
        return self.since_us + self.bucket_us * self.buckets


def overview_answer(
    readers: Sequence[LogReader],
    bronze: Bronze,
    open_views: ViewOpener,
    freshness: FreshnessMeter,
    *,
    window: TimeBuckets,
    now_us: int,
) -> shapes.Overview:
    """Return series of events, rejections and refusals (by time of receipt) and of runs (by event time)."""
    passed = bronze.watermarks([reader.source for reader in readers])
    pending = sum(call_all_readers(readers, lambda reader: reader.pending(passed[reader.source])))
    return shapes.Overview(
        shapes.Window(iso_time(window.since_us) or "", iso_time(window.until_us) or "", window.bucket_us / 1e6),
        counts_in_time(bronze, EVENTS, *window).get("", [0] * window.buckets),
        counts_in_time(bronze, REJECTED, *window),
        counts_in_time(bronze, REFUSED, *window),
        open_views.query_current_index(lambda live, _: run_health(live, window, now_us)) if bronze.exists() else None,
        pending,
        freshness.freshness_answer(),
    )


def run_health(live: LiveGraph, window: TimeBuckets, now_us: int) -> shapes.RunHealth:
    """Return the number of runs by state and time of their end or newest event, and the failed and lost runs."""
    series: dict[str, list[int]] = {}
    for state, bucket, count in state_counts_by_bucket(live, window.since_us, window.bucket_us, window.until_us):
        series.setdefault(state, [0] * window.buckets)[bucket] = count
    lost, lost_count = lost_runs(live, now_us)
    return shapes.RunHealth(
        {state: sum(counts) for state, counts in series.items()},
        series,
        [_to_overview_run(run) for run in failed_runs(live, window.since_us, window.until_us)],
        [_to_overview_run(run) for run in lost],
        lost_count,
    )


def _to_overview_run(run: FailedOrLostRun) -> shapes.OverviewRun:
    times = iso_time(run.started_us), iso_time(run.ended_us), iso_time(run.time_us)
    return shapes.OverviewRun(run.run, Job(*run.job.parts), run.state, *times)


def parse_window(from_us: int | None, to_us: int | None, buckets: int, now_us: int) -> TimeBuckets:
    """Return the requested window; by default, the last hour. Raises WrongQuestion if it is empty or too long."""
    until_us = now_us if to_us is None else to_us
    since_us = until_us - _HOUR_US if from_us is None else from_us
    if not 0 < until_us - since_us <= _MAX_US:
        raise WrongQuestion(
            "The window from `from` to `to` is empty or longer than 366 days. Choose a later `to` or a shorter window."
        )
    if until_us > _LATEST_US:
        raise WrongQuestion("to= is after the year 9000. Choose an earlier time.")
    return TimeBuckets(since_us, max(1, -(-(until_us - since_us) // buckets)), buckets)
