"""The routes of the reading API: the questions about lineage, and what is asked of log and lake, declared here."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol, TypeVar

import msgspec

from headwater.access import Caller
from headwater.api import contract_routes, identity_routes, operation_lists, sink_routes
from headwater.api.freshness import FreshnessMeter
from headwater.api.overview import overview_of, window_of
from headwater.api.shapes import operations
from headwater.errors import LakeUnavailable
from headwater.eventlog import Readers
from headwater.events.position import Source
from headwater.events.times import iso
from headwater.index.stored.set_aside import SetAside
from headwater.lake.row_lists import list_rows
from headwater.paging import Cut, ListPage, RowOrder
from headwater.questions import declared
from headwater.questions import parameters as p
from headwater.questions.answers import list_answers
from headwater.questions.composed import NewestPage
from headwater.questions.declaring import Help, question, questions_in
from headwater.questions.moments import Microseconds
from headwater.tables import EVENTS, REFUSED, REJECTED

BASE = "/api/headwater/v1"

_A = TypeVar("_A", list_answers.Events, list_answers.RejectedEvents, list_answers.RefusedRequests)


class OperationSources(declared.QuestionSources, Protocol):
    """What is asked of log and lake is asked of these, too."""

    @property
    def readers(self) -> Readers:
        """The log."""

    @property
    def freshness(self) -> FreshnessMeter:
        """What questions cannot see yet."""

    @property
    def caller(self) -> Caller:
        """The caller of the API."""

    @property
    def settings(self) -> Sequence[Mapping[str, Any]]:
        """The settings as they are shown."""


From = Annotated[Microseconds | None, Help("From this moment on; one hour before `to` without it.")]
Buckets = Annotated[int, Help("Into so many parts of equal length the window is cut.", most=500)]
Job = Annotated[str | None, Help("A job's name, or namespace/name.")]
Resume = Annotated[
    str | None, Help("Go on behind the event of this id; the header Last-Event-ID goes before.", longest=40)
]


@question("overview", called=None, reads_lake=True)
def overview(
    sources: OperationSources, *, from_: From = None, to: p.To = None, buckets: Buckets = 60
) -> operations.Overview:
    """Tell what came in, what lags, how runs fare."""
    now_us = time.time_ns() // 1000
    window = window_of(from_, to, buckets, now_us)
    return overview_of(
        sources.readers(), sources.bronze, sources.open_views, sources.freshness, window=window, now_us=now_us
    )


@question("audit", reads_lake=True)
def audit(sources: OperationSources) -> operations.Audit:
    """Hold the log against the lake, and tell whether every acknowledged event is in exactly one table."""
    why = sources.freshness.troubles().get("parser")
    stopped = f"The parser cannot go on: {why}" if why else ""
    try:
        found = operation_lists.audit(sources.readers(), sources.bronze)
    except LakeUnavailable as error:  # it may read the same file that stops a station
        raise LakeUnavailable(stopped or str(error)) from error
    if found.trouble:
        return found  # what waits for the index nobody can tell without the log
    if found.pending and stopped:
        return msgspec.structs.replace(found, balanced=False, trouble=stopped)  # the index reads the same lake
    return msgspec.structs.replace(found, index=sources.freshness.index_lag())


@question("freshness", reads_lake=True)
def freshness(sources: OperationSources) -> operations.Freshness:
    """Tell the age of the oldest acknowledged event that questions cannot see yet."""
    return sources.freshness.answer()


@question("events", reads_lake=True)
def events(
    sources: OperationSources, *, run: p.RunOf = None, job: Job = None, since: p.Since = None, page: NewestPage
) -> list_answers.Events:
    """List stored events, newest first."""
    return _listed(list_answers.Events, list_rows(sources.bronze, EVENTS, page, run=run, job=job, since_us=since))


@question("rejected", reads_lake=True)
def rejected(sources: OperationSources, *, since: p.Since = None, page: NewestPage) -> list_answers.RejectedEvents:
    """List what was acknowledged but could not be stored, and why."""
    return _rejected(sources, since, page)


@question("rejected/index", called=None)
def set_aside(sources: OperationSources, *, since: p.Since = None, page: NewestPage) -> list_answers.SetAsideEvents:
    """List stored events that the index could not take, so that no question about lineage knows them, and why."""
    found = _SET_ASIDE.cut(sources.freshness.set_aside(since or 0), page)
    items = [
        list_answers.SetAsideEvent(
            each.event_id, source.epoch, source.partition, each.sequence, iso(each.received_us) or "",
            iso(each.at_us) or "", each.reason, each.message,
        )
        for source, each in found.rows
    ]  # fmt: skip
    return list_answers.SetAsideEvents(items, **found.told)


_SET_ASIDE = RowOrder[tuple[Source, SetAside]](
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


@question("rejected/retry", called=None, answer=operations.SentAgain, reads_lake=True, method="POST", role="admin")
def retried(sources: OperationSources, *, since: p.Since = None, limit: p.Listed = 100) -> list_answers.RejectedEvents:
    """Send rejected events again."""
    return _rejected(sources, since, ListPage(limit=limit))


@question("refused", reads_lake=True)
def refused(sources: OperationSources, *, since: p.Since = None, page: NewestPage) -> list_answers.RefusedRequests:
    """List requests and items that were not taken, counted by reason."""
    return _listed(list_answers.RefusedRequests, list_rows(sources.bronze, REFUSED, page, since_us=since))


@question("live", called=None)
def live(_: OperationSources, *, last_event_id: Resume = None) -> None:
    """Tell what happens now, as server-sent events: runs, edges, rejections."""


@question("settings", called=None)
def settings(sources: OperationSources) -> operations.SettingsAnswer:
    """Show the effective settings, without secrets; keys and their names to administrators alone."""
    shown = [
        {**each, "value": "***"}
        if each["setting"] == "keys" and each["value"] and not sources.caller.may("admin")
        else each
        for each in sources.settings
    ]
    return operations.SettingsAnswer([operations.Setting(**each) for each in shown])


def _rejected(sources: OperationSources, since_us: int | None, page: ListPage) -> list_answers.RejectedEvents:
    found = list_rows(sources.bronze, REJECTED, page, since_us=since_us)
    rows = [{**row, "origin": _origin(row["http"])} for row in found.rows]
    return _listed(list_answers.RejectedEvents, found._replace(rows=rows))


def _origin(http: str | None) -> str | None:
    """Return the file and line that who took files in has named."""
    try:
        return msgspec.json.decode(http or "{}", type=_Origin).origin
    except msgspec.MsgspecError:
        return None


class _Origin(msgspec.Struct):
    origin: str | None = None


def _listed(shape: type[_A], found: Cut[dict[str, Any]]) -> _A:
    """Return rows as an answer."""
    items = [{name: _shown(cell) for name, cell in row.items()} for row in found.rows]
    return msgspec.convert({"items": items, **found.told}, shape)


def _shown(cell: Any) -> Any:
    """Return a time as text, to the microsecond."""
    return cell.astimezone(UTC).isoformat().replace("+00:00", "Z") if isinstance(cell, datetime) else cell


LINEAGE_ROUTES = (
    *questions_in(vars(declared)),
    *questions_in(vars(contract_routes)),
)
SINK_ROUTES = questions_in(vars(sink_routes))
IDENTITY_ROUTES = questions_in(vars(identity_routes))
ROUTES = (*LINEAGE_ROUTES, *questions_in(globals()), *SINK_ROUTES, *IDENTITY_ROUTES)
