"""The question `timeline`: when edges into a dataset appeared and ended, and by which job."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from headwater.common.paging import ListPage, RowOrder
from headwater.events.times import iso_time
from headwater.index.reading.run_history import SCAN_LIMIT, RunHistory
from headwater.lineage.edges.candidates import Candidate, JobOutput
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.applied_rules import apply_masking_rules
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.snapshots.validity import ValidityHistory, ValidityInterval
from headwater.questions.answer_types.common import Dataset, Job
from headwater.questions.answer_types.lineage import Timeline, TimelineItem
from headwater.questions.conversions import column_for_answer
from headwater.questions.subjects import Subject, find_dataset

_Line = tuple[Name, str | None, str | None]
"""(source dataset, source column, target column).

Both columns are None for a step between whole tables. The target column is None for a step into all columns.
"""


class _Change(NamedTuple):
    """A change of lineage. line: the changed column pair, or None if the dataset was dropped.

    masked: whether all steps of the job between the two columns mask values.
    """

    time_us: int
    change: Literal["appeared", "ended", "changed", "dropped"]
    job: Name
    line: _Line | None
    masked: bool = False


def timeline_answer(
    now: Snapshot, runs: RunHistory, rules: UserRules, asked: Subject, *, since_us: int | None, page: ListPage
) -> Timeline:
    """Answer the changes of lineage into a dataset, newest first. Raises NotKnown for an unknown dataset."""
    dataset = find_dataset(now, rules.names, asked, in_events=True)
    found: list[_Change] = []
    cut = False
    for layer, job, candidates in runs.dataset_candidates(dataset):
        whole = len(candidates) <= SCAN_LIMIT
        cut = cut or not whole
        step = _JobChanges(runs, rules, JobOutput(layer, job, dataset))
        found.extend(_changes_of_job(step, candidates[:SCAN_LIMIT], whole=whole))
    found.extend(_drop_changes(now, runs, dataset))
    shown = [change for change in found if since_us is None or change.time_us >= since_us]
    listed = _ORDER.page(shown, page)
    items = [_to_timeline_item(now, dataset, change) for change in listed.rows]
    return Timeline(Dataset(*dataset.parts), items, **listed._replace(is_partial=cut).info)


class _JobChanges(NamedTuple):
    runs: RunHistory
    rules: UserRules
    job_output: JobOutput

    def column_pairs(self, edge_set: int) -> dict[_Line, bool]:
        """Map each column pair of an edge set to whether it is masked, including masking by the masking file."""
        lineage = apply_masking_rules(self.rules, self.job_output, self.runs.output_lineage(edge_set))
        return _masked_by_pair(_column_pairs_of(lineage))


def _changes_of_job(step: _JobChanges, candidates: list[Candidate[Sequence[int]]], *, whole: bool) -> Iterator[_Change]:
    """Yield the changes between successive runs of a job.

    whole: whether `candidates` contains all runs. Only then the lineage of the first run counts as appeared.
    """
    history: ValidityHistory[int] = ValidityHistory(step.job_output.layer)
    history.add(candidates)
    intervals = [*history.ended, *history.open_intervals]
    times = sorted(
        {time for interval in intervals for time in (interval.since_us, interval.until_us) if time is not None}
    )
    job = step.job_output.job
    before: dict[_Line, bool] = {}
    lines: dict[int, dict[_Line, bool]] = {}
    for number, time_us in enumerate(times):
        after = _column_pairs_of_intervals(
            step, (interval for interval in intervals if _is_counted_at(interval, time_us)), lines
        )
        if number or whole:
            yield from (_Change(time_us, "appeared", job, line, after[line]) for line in after.keys() - before.keys())
            yield from (_Change(time_us, "ended", job, line, before[line]) for line in before.keys() - after.keys())
            both = (line for line in after.keys() & before.keys() if after[line] != before[line])
            yield from (_Change(time_us, "changed", job, line, after[line]) for line in both)
        before = after


def _drop_changes(now: Snapshot, runs: RunHistory, dataset: Name) -> Iterator[_Change]:
    for time_us, run in now.naming.generations.generation_ends(dataset):
        job = runs.job_key_of_run(run)
        if job and now.naming.generations.last_change_us(run, dataset, "DROP") == time_us:
            yield _Change(time_us, "dropped", job, None)


def _is_counted_at(interval: ValidityInterval[int], time_us: int) -> bool:
    return interval.since_us <= time_us and (interval.until_us is None or time_us < interval.until_us)


def _column_pairs_of_intervals(
    step: _JobChanges, intervals: Iterable[ValidityInterval[int]], known: dict[int, dict[_Line, bool]]
) -> dict[_Line, bool]:
    """Map each column pair of edge sets to whether it is masked. A pair with one unmasked step is not masked."""
    found: dict[_Line, bool] = {}
    for interval in intervals:
        if interval.edge not in known:
            known[interval.edge] = step.column_pairs(interval.edge)
        found = _masked_by_pair([*found.items(), *known[interval.edge].items()])
    return found


def _masked_by_pair(lines: Iterable[tuple[_Line, bool]]) -> dict[_Line, bool]:
    found: dict[_Line, bool] = {}
    for line, masked in lines:
        found[line] = masked and found.get(line, True)
    return found


def _column_pairs_of(lineage: OutputLineage) -> Iterator[tuple[_Line, bool]]:
    if lineage.has_column_lineage:
        return (((edge.source, edge.column, edge.target), edge.transformation.is_masked) for edge in lineage.edges)
    return (((source, None, None), False) for source in lineage.source_datasets)


def _sort_key(change: _Change) -> tuple[str | int | None, ...]:
    line = (*change.line[0].parts, *change.line[1:]) if change.line else (None,) * 4
    return (change.change, *change.job.parts, *line, change.time_us)


_ORDER = RowOrder[_Change](
    "timeline",
    {
        "time": lambda change: change.time_us, "change": lambda change: change.change,
        "job": lambda change: change.job.name, "from": lambda change: _sort_key(change)[4],
        "to": lambda change: _sort_key(change)[6],
    },
    "-time",
    _sort_key,
    ties=8,
)  # fmt: skip


def _to_timeline_item(now: Snapshot, dataset: Name, change: _Change) -> TimelineItem:
    source, column, target = change.line or (None, None, None)
    return TimelineItem(
        iso_time(change.time_us) or "",
        change.change,
        Job(*now.job_name(change.job).parts),
        None if source is None else column_for_answer(now, source, column),
        column_for_answer(now, dataset, target),
        change.masked,
    )
