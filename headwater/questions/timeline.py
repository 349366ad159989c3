"""When the lineage of a dataset changed: which edges appeared and ended, at what time, and by which job."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from headwater.events.times import iso
from headwater.index.reading.run_history import LOOKED_AT, RunHistory
from headwater.lineage.edges.current_candidates import Candidate
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.snapshot import Snapshot
from headwater.lineage.time.validity import ValidityHistory, ValidityInterval
from headwater.questions.answers.answer_parts import Dataset, Job
from headwater.questions.answers.lineage_answers import Timeline, TimelineItem
from headwater.questions.showing import shown_column
from headwater.questions.subjects import Subject, find_dataset

_Line = tuple[Name, str | None, str | None]
"""Source, its column, and the column it goes into; None between whole tables, and where it shapes all columns."""


class _Change(NamedTuple):
    time_us: int
    change: Literal["appeared", "ended", "dropped"]
    job: Name
    line: _Line | None


def timeline(
    now: Snapshot, runs: RunHistory, rules: NameRules, asked: Subject, *, since_us: int | None, limit: int
) -> Timeline:
    """Answer what changed in what feeds a dataset, newest first; raises NotKnown for a dataset nobody knows."""
    dataset = find_dataset(now, rules, asked)
    found: list[_Change] = []
    cut = False
    for layer, job, candidates in runs.candidates(dataset):
        whole = len(candidates) <= LOOKED_AT
        cut = cut or not whole
        found.extend(_changes(runs, job, layer, candidates[:LOOKED_AT], whole=whole))
    found.extend(_drops(now, runs, dataset))
    shown = [change for change in found if since_us is None or change.time_us >= since_us]
    shown.sort(key=lambda change: (-change.time_us, change.change, change.job, _sortable(change.line)))
    items = [_item(now, dataset, change) for change in shown[:limit]]
    return Timeline(Dataset(*dataset.parts), items, len(shown), cut or len(shown) > limit)


def _changes(
    runs: RunHistory, job: Name, layer: str, candidates: list[Candidate[Sequence[int]]], *, whole: bool
) -> Iterator[_Change]:
    """Yield what changed between one run and the next; what the oldest says is new only if no run was left out."""
    history: ValidityHistory[int] = ValidityHistory(layer)
    history.add(candidates)
    intervals = [*history.ended, *history.standing]
    times = sorted(
        {time for interval in intervals for time in (interval.since_us, interval.until_us) if time is not None}
    )
    before: set[_Line] = set()
    lines: dict[int, frozenset[_Line]] = {}
    for number, time_us in enumerate(times):
        after = _lines(runs, (interval for interval in intervals if _counts(interval, time_us)), lines)
        if number or whole:
            yield from (_Change(time_us, "appeared", job, line) for line in after - before)
            yield from (_Change(time_us, "ended", job, line) for line in before - after)
        before = after


def _drops(now: Snapshot, runs: RunHistory, dataset: Name) -> Iterator[_Change]:
    for time_us, run in now.naming.generations.ends(dataset):
        job = runs.job_of(run)
        if job and now.naming.generations.changed_by(run, dataset, "DROP") == time_us:
            yield _Change(time_us, "dropped", job, None)


def _counts(interval: ValidityInterval[int], time_us: int) -> bool:
    return interval.since_us <= time_us and (interval.until_us is None or time_us < interval.until_us)


def _lines(
    runs: RunHistory, intervals: Iterable[ValidityInterval[int]], known: dict[int, frozenset[_Line]]
) -> set[_Line]:
    found: set[_Line] = set()
    for interval in intervals:
        if interval.edge not in known:
            known[interval.edge] = frozenset(_lines_of(runs.said(interval.edge)))
        found |= known[interval.edge]
    return found


def _lines_of(said: OutputLineage) -> Iterator[_Line]:
    if said.carries:
        return ((edge.source, edge.column, edge.target) for edge in said.edges)
    return ((source, None, None) for source in said.tables)


def _sortable(line: _Line | None) -> tuple[Name, str, str]:
    return (line[0], line[1] or "", line[2] or "") if line else (Name("", ""), "", "")


def _item(now: Snapshot, dataset: Name, change: _Change) -> TimelineItem:
    source, column, target = change.line or (None, None, None)
    return TimelineItem(
        iso(change.time_us) or "",
        change.change,
        Job(*now.job(change.job).parts),
        None if source is None else shown_column(now, source, column),
        shown_column(now, dataset, target),
    )
