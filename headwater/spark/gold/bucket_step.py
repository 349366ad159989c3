"""The common base of steps that compute gold's answers bucket by bucket, and the search for periods of answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Self, TypeVar

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.gold.affected_datasets import AffectedDatasets
from headwater.spark.gold.snapshot_of_rows import CANDIDATE_COLUMNS, RowSnapshot

_T = TypeVar("_T")


@dataclass(frozen=True)
class BucketStep(ABC):
    """Computes answers bucket by bucket, so that a worker holds the candidates of one bucket at a time.

    representatives: the representative of each related name, as `NameResolver.representatives` returns them.
    newest_us, partitioned_names, removed_before_us: as in `LayerPosition`.
    """

    rules: UserRules
    naming: NameResolver
    representatives: Mapping[Name, Name]
    newest_us: int | None
    partitioned_names: frozenset[Name]
    removed_before_us: int | None

    @classmethod
    def for_batch(cls, affected: AffectedDatasets, **more: Any) -> Self:
        """Return the step for the datasets that a batch affects. more: the fields that a subclass adds."""
        batch = affected.batch
        return cls(
            batch.rules, batch.naming, affected.representatives, batch.newest_us, batch.partitioned_names,
            batch.removed_before_us, **more,
        )  # fmt: skip

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Convert rows (bucket, is_target, *`CANDIDATE_COLUMNS`), sorted by bucket, to rows of answers.

        is_target: the row only contains the name of a dataset whose answers are computed.
        """
        for _, group in groupby(rows, key=itemgetter(0)):
            targets = set[Name]()
            now = RowSnapshot(self.rules, self.naming, _take_targets(group, targets), self.partitioned_names)
            now.newest_us, now.removed_before_us = self.newest_us, self.removed_before_us
            yield from self._answers(now, targets)

    @abstractmethod
    def _answers(self, now: RowSnapshot, targets: Set[Name]) -> Iterator[Row]:
        """Yield the answers about datasets whose representatives are in `targets`."""

    def _is_target(self, dataset: Name, targets: Set[Name]) -> bool:
        return self.representatives.get(dataset, dataset) in targets


def _take_targets(rows: Iterator[Row], targets: set[Name]) -> Iterator[Row]:
    """Add the datasets of rows with `is_target` to `targets`, and yield the other rows in `CANDIDATE_COLUMNS`."""
    for _, is_target, *cells in rows:
        if is_target:
            targets.add(Name(cells[_NAMESPACE], cells[_NAME]))
        else:
            yield tuple(cells)


_NAMESPACE, _NAME = (CANDIDATE_COLUMNS.index(name) for name in ("dataset_namespace", "dataset_name"))


def changed_windows(
    answer_at: Callable[[int], _T], first: int, last: int, compared: Callable[[_T], object]
) -> Iterator[tuple[int, _T]]:
    """Yield (index, answer) of the windows from `first` to `last`, except of windows between equal answers.

    Time only removes evidence. If the answers of two windows are equal, the answers of all windows between them are
    equal, too. A bisection therefore finds all changes.

    answer_at: returns the answer for the window with an index; called several times with one index.
    compared: returns the part of an answer that is compared.
    """
    one, other = answer_at(first), answer_at(last)
    if compared(one) == compared(other):
        yield first, one
    elif first + 1 == last:
        yield from ((first, one), (last, other))
    else:
        middle = (first + last) // 2
        yield from changed_windows(answer_at, first, middle, compared)
        yield from changed_windows(answer_at, middle + 1, last, compared)
