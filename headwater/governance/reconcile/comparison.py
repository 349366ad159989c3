"""Compare job histories and tables with reported runs."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from headwater.events.times import iso_time
from headwater.governance.reconcile.commit_join import (
    TableHistory,
    TableWriter,
    WriteProof,
    prove_writes,
    unmatched_commits,
)
from headwater.governance.reconcile.commits import CommittedTable
from headwater.governance.reconcile.histories.entry import HistoryEntry, HistorySpan
from headwater.governance.reconcile.history_join import WaitTimes, unreported_executions
from headwater.governance.reconcile.run_index import RunIndex
from headwater.questions.answer_types.common import Dataset
from headwater.questions.answer_types.reports import Finding, ReportedRun, ReportedRuns, TransportLoss

_PAGE = 10_000
"""Runs per page; the number is large because each page reads the columns of the whole period again."""

Ask = Callable[[str, dict[str, str]], Any]
"""Asks a question by its path with HTTP parameters; returns the answer as JSON."""


class ReportedData(NamedTuple):
    """The reported runs, and the events that transports dropped (`losses`)."""

    runs: Sequence[ReportedRun]
    losses: Sequence[TransportLoss]


def request_reported(ask: Ask, read: Callable[[Any], ReportedRuns], since_us: int) -> ReportedData:
    """Request all runs received since a moment (us, UTC), page by page. read: converts an answer."""
    runs: list[ReportedRun] = []
    losses: list[TransportLoss] = []
    after: str | None = None
    while True:
        asked = {"from": str(iso_time(since_us)), "limit": str(_PAGE)} | ({"after": after} if after else {})
        page = read(ask("reported", asked))
        runs += page.runs
        losses += page.losses
        after = page.next
        if after is None:
            return ReportedData(runs, losses)


def dataset_of(ask: Ask, table: CommittedTable) -> Dataset:
    """Return the dataset of a table, with the canonical name by Headwater's naming rules."""
    found = ask("names", {"namespace": table.namespace, "name": table.name})["canonical"]
    return Dataset(found["namespace"], found["name"])


def compare_histories(
    entries: Sequence[HistoryEntry],
    tables: Sequence[tuple[Dataset, CommittedTable]],
    reported: ReportedData,
    span: HistorySpan,
    wait_times: WaitTimes,
) -> list[Finding]:
    """Return the findings in the period `span`, oldest first.

    entries: executions in job histories. tables: pairs of canonical name and table. wait_times: tolerances.
    """
    runs = RunIndex(reported.runs)
    found = [*unreported_executions(entries, runs, wait_times), *map(_dropped_events_finding, reported.losses)]
    known = frozenset(run.report.id for run in runs.all)
    silent = [run for run in runs.all if not run.report.writes and not run.report.reads]
    until = HistorySpan(span.since_us, wait_times.complete_until_us - wait_times.grace_us)
    for history in _table_histories(tables, runs):
        found += unmatched_commits(history, silent, known, until, wait_times.slack_us)
    return sorted(found, key=lambda each: (each.time, each.kind, each.name, each.version or 0, each.id or ""))


def write_proofs(
    tables: Sequence[tuple[Dataset, CommittedTable]], reported: ReportedData, span: HistorySpan, wait_times: WaitTimes
) -> list[WriteProof]:
    """Return what commits prove about the writes of runs (rule 6.7)."""
    until = HistorySpan(span.since_us, wait_times.complete_until_us - wait_times.grace_us)
    histories = _table_histories(tables, RunIndex(reported.runs))
    return [proof for history in histories for proof in prove_writes(history, until, wait_times.slack_us)]


def _table_histories(tables: Sequence[tuple[Dataset, CommittedTable]], runs: RunIndex) -> Iterator[TableHistory]:
    for dataset, table in tables:
        yield TableHistory(dataset, table.uri, table.commits, [*_writers_of(runs, dataset)])


def _writers_of(runs: RunIndex, dataset: Dataset) -> Iterator[TableWriter]:
    for run in runs.all:
        for output in run.report.writes:
            if dataset in output.names:
                version = int(output.version) if output.version and output.version.isdecimal() else None
                yield TableWriter(run, version, output.lifecycle, output.is_echo)


def _dropped_events_finding(loss: TransportLoss) -> Finding:
    between = f"between {loss.since} and {loss.until}" if loss.since else f"up to {loss.until}"
    return Finding(
        kind="dropped",
        certain=True,
        name=f"{loss.job.namespace}/{loss.job.name}",
        time=loss.until or loss.since or "1970-01-01T00:00:00.000Z",
        id=loss.application or None,
        count=loss.dropped,
        reason=f"Its transport ({loss.transport or 'unnamed'}) dropped {loss.dropped} events {between}.",
        advice="Increase the size of the transport's queue, or find out why its target was slow. Run the job again to "
        "get its lineage.",
    )
