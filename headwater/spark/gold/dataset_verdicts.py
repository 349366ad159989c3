"""Compute rows of `unused_columns`: the verdicts of datasets, each with the period in which it holds."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import groupby

from headwater.events.times import iso_time
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.snapshots.window_periods import WindowPeriods
from headwater.lineage.traversal.column_verdicts import ColumnVerdict
from headwater.questions.unused import dataset_verdicts, last_used_us, observed_since_us, reason_formatter
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.gold.bucket_step import BucketStep, changed_windows
from headwater.spark.gold.snapshot_of_rows import RowSnapshot
from headwater.spark.silver.texts import digest_of_texts, json_text
from headwater.tables import UNUSED_COLUMNS, Table, columns_without

VERDICTS = Table("verdicts", columns_without(UNUSED_COLUMNS, "bucket", "rules_hash"))
"""Rows of `unused_columns` without `bucket` and `rules_hash`."""

_Cells = Mapping[str, object]
_IGNORED_COLUMNS = ("observed_since", "valid_from", "valid_to")
"""Columns whose changes start no new period. For example, the oldest evidence may leave the window within a period."""


class DatasetVerdicts(BucketStep):
    """Computes the verdicts of the datasets of a bucket, as rows of `VERDICTS`."""

    def _answers(self, now: RowSnapshot, targets: Set[Name]) -> Iterator[Row]:
        periods = WindowPeriods(now, now.default_window().length_us)
        for dataset in sorted(now.current_names(attempted=True)):
            if self._is_target(dataset, targets) and not self.naming.moved_names.former_location(dataset):
                yield from verdict_rows(now, self.rules, periods, dataset)


def verdict_rows(now: Snapshot, rules: UserRules, periods: WindowPeriods, dataset: Name) -> Iterator[Row]:
    """Yield the verdicts of a dataset as rows of `VERDICTS`, by column of the dataset and then by period."""
    return _VerdictPeriods(now, rules, periods, dataset).rows()


class _VerdictPeriods:
    """Computes the verdicts of one dataset for windows with different ends.

    The first window ends at the newest event (None). The others end at each time at which evidence leaves the window.
    """

    def __init__(self, now: Snapshot, rules: UserRules, periods: WindowPeriods, dataset: Name):
        self._now, self._rules, self._periods, self._dataset = now, rules, periods, dataset
        self._ends = [None, *periods.end_times_us(dataset)]
        self._reason_of: Callable[[ColumnVerdict], str] = reason_formatter(now)
        self._known: dict[int, Sequence[_Cells]] = {}

    def rows(self) -> Iterator[Row]:
        """Yield rows of `VERDICTS`, column by column. A column with a verdict that never changes has one row."""
        found = list(changed_windows(self._verdicts_at, 0, len(self._ends) - 1, _compared_verdicts))
        begins = [*(self._ends[index] for index, _ in found), None]
        for of_column in zip(*(cells for _, cells in found), strict=True):
            for _, same in groupby(enumerate(of_column), key=lambda each: _compared_cells(each[1])):
                first, *others = same
                last = others[-1][0] if others else first[0]
                cells = {**first[1], "valid_from": begins[first[0]], "valid_to": begins[last + 1]}
                yield tuple(cells[name] for name in VERDICTS.columns)

    def _verdicts_at(self, index: int) -> Sequence[_Cells]:
        if index not in self._known:
            counted = self._periods.counted_edges_at(self._dataset, self._ends[index])
            self._known[index] = list(
                map(self._verdict_cells, dataset_verdicts(self._now, self._rules, counted, self._dataset))
            )
        return self._known[index]

    def _verdict_cells(self, each: ColumnVerdict) -> _Cells:
        now, (namespace, name) = self._now, self._dataset.parts
        shown_by = [
            f"{_job(now, number)} at {iso_time(now.report_times(number).last_us)}" for number in each.display_only
        ]
        return {
            "namespace": namespace,
            "dataset": name,
            "column": now.shown_columns(self._dataset).displayed_spelling(each.key),
            "verdict": each.verdict,
            "reason": self._reason_of(each),
            "readers": json_text(sorted({_job(now, number) for number in each.edge_sets})),
            "consumers": json_text(each.consumers),
            "read_before_recreation": each.recreated,
            "shown_by": json_text(sorted(shown_by)),
            "last_used": last_used_us(now, each),
            "observed_since": observed_since_us(now, each),
            "earlier": each.earlier,
            "group_keys": json_text(sorted(self._recurring_group_keys(each))),
        }

    def _recurring_group_keys(self, each: ColumnVerdict) -> set[str]:
        """Return the `group_key`s under which `edge_runs` counts recurring runs that use the column."""
        latest, sets = self._now.counted_edges().latest_mask, self._now.graph.edge_sets
        job_outputs = (sets[number][0] for number in each.ever_used_by if latest[number])
        return {digest_of_texts(layer, *job.parts, *output) for layer, job, output in job_outputs if output is not None}


def _compared_verdicts(verdicts: Sequence[_Cells]) -> object:
    return [_compared_cells(each) for each in verdicts]


def _compared_cells(cells: _Cells) -> tuple[object, ...]:
    return tuple(value for name, value in cells.items() if name not in _IGNORED_COLUMNS)


def _job(now: Snapshot, number: int) -> str:
    return "/".join(now.graph.edge_sets[number][0].job.parts)
