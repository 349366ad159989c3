"""The whole comparison: histories, tables and what landed in, findings out."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from headwater.events.times import iso
from headwater.questions.answers.answer_parts import Dataset
from headwater.questions.answers.report_answers import Finding, ReportedRun, ReportedRuns, TransportLoss
from headwater.reconcile.committed_table import CommittedTable
from headwater.reconcile.histories.history_entry import HistoryEntry, HistorySpan
from headwater.reconcile.joining.commit_join import TableHistory, TableWriter, WriteProof, proven, uncommitted
from headwater.reconcile.joining.history_join import Patience, unreported
from headwater.reconcile.joining.landed_runs import LandedRuns

_PAGE = 10_000
"""Each page reads the columns of the whole time once more."""

Ask = Callable[[str, dict[str, str]], Any]
"""Asks Headwater a question by its path, with parameters as HTTP has them; answers as JSON has them."""


class Landed(NamedTuple):
    """What Headwater knows."""

    runs: Sequence[ReportedRun]
    losses: Sequence[TransportLoss]


def ask_landed(ask: Ask, read: Callable[[Any], ReportedRuns], since_us: int) -> Landed:
    """Ask for all that was received since a moment, page by page. read: makes the shape of an answer."""
    runs: list[ReportedRun] = []
    losses: list[TransportLoss] = []
    after: str | None = None
    while True:
        asked = {"from": str(iso(since_us)), "limit": str(_PAGE)} | ({"after": after} if after else {})
        page = read(ask("reported", asked))
        runs += page.runs
        losses += page.losses
        after = page.next
        if after is None:
            return Landed(runs, losses)


def dataset_of(ask: Ask, table: CommittedTable) -> Dataset:
    """Return the dataset that a table is by the rules for names that Headwater has."""
    found = ask("names", {"namespace": table.namespace, "name": table.name})["canonical"]
    return Dataset(found["namespace"], found["name"])


def findings(
    entries: Sequence[HistoryEntry],
    tables: Sequence[tuple[Dataset, CommittedTable]],
    landed: Landed,
    span: HistorySpan,
    by: Patience,
) -> list[Finding]:
    """Return who did not report, oldest first; the same for the same, in whatever order."""
    runs = LandedRuns(landed.runs)
    found = [*unreported(entries, runs, by), *map(_dropped, landed.losses)]
    known = frozenset(run.said.id for run in runs.all)
    silent = [run for run in runs.all if not run.said.writes and not run.said.reads]
    until = HistorySpan(span.since_us, by.now_us - by.grace_us)
    for history in _histories(tables, runs):
        found += uncommitted(history, silent, known, until, by.slack_us)
    return sorted(found, key=lambda each: (each.time, each.kind, each.name, each.version or 0, each.id or ""))


def write_proofs(
    tables: Sequence[tuple[Dataset, CommittedTable]], landed: Landed, span: HistorySpan, by: Patience
) -> list[WriteProof]:
    """Return what commits prove about the writes of runs (rule 6.7)."""
    until = HistorySpan(span.since_us, by.now_us - by.grace_us)
    histories = _histories(tables, LandedRuns(landed.runs))
    return [proof for history in histories for proof in proven(history, until, by.slack_us)]


def _histories(tables: Sequence[tuple[Dataset, CommittedTable]], runs: LandedRuns) -> Iterator[TableHistory]:
    for dataset, table in tables:
        yield TableHistory(dataset, table.uri, table.commits, [*_writers(runs, dataset)])


def _writers(runs: LandedRuns, dataset: Dataset) -> Iterator[TableWriter]:
    for run in runs.all:
        for output in run.said.writes:
            if dataset in output.names:
                version = int(output.version) if output.version and output.version.isdecimal() else None
                yield TableWriter(run, version, output.lifecycle, output.is_echo)


def _dropped(loss: TransportLoss) -> Finding:
    between = f"between {loss.since} and {loss.until}" if loss.since else f"up to {loss.until}"
    return Finding(
        kind="dropped",
        certain=True,
        name=f"{loss.job.namespace}/{loss.job.name}",
        time=loss.until or loss.since or "1970-01-01T00:00:00.000Z",
        id=loss.application or None,
        count=loss.dropped,
        reason=f"Its transport ({loss.transport or 'unnamed'}) dropped {loss.dropped} events {between}.",
        advice="Raise the transport's queue, or find out why its store was slow; run it again to have its lineage.",
    )
