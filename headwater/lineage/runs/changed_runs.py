"""Find the runs that a batch of events changes: the algorithm that all stores of runs share."""

from collections.abc import Iterable, Sequence, Set
from typing import Protocol, TypeVar

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import Change, Span, joined
from headwater.lineage.names.name_resolution import NameResolver, TimedLocation

Runs = TypeVar("Runs")


class ChangedRuns(Protocol[Runs]):
    """The new events of a batch, and access to the stored runs.

    Each store chooses its own type for a set of runs.
    """

    def changes(self, runs: Runs) -> Iterable[tuple[str, Sequence[Change]]]:
        """Yield (run key, what the run drops and renames, oldest first).

        The result contains all of these runs that drop or rename now, or did so before the batch.
        """

    def writes(self, runs: Runs) -> Iterable[tuple[str, Iterable[tuple[int, Name]]]]:
        """Yield (run key, times of its writes with the names).

        The result contains all of these runs that write a dataset with a drop or rename, or were known to do so before.
        """

    def with_users(self, runs: Runs, moved: Iterable[Span]) -> Runs:
        """Return runs, extended by those that use one of these names, as sent, at a time in its span."""

    def see(self, runs: Runs, moved: Set[Span]) -> Runs:
        """Learn the schemas of the batch, and return runs, extended by those whose columns they may change.

        moved: the names that mean other datasets since the batch.
        """


def affected_runs(
    batch: ChangedRuns[Runs], naming: NameResolver, runs: Runs, links: Iterable[tuple[Name, TimedLocation]]
) -> Runs:
    """Update the meaning of names by a batch, and return every run that the batch may change.

    runs: those with events in the batch; links: (name, its location from a time on) for each symlink in the batch.
    Drops and renames depend on symlinks, and writes depend on both. So the function learns them in this order, once
    each.
    """
    bound = set(map(Span, naming.bind(links)))
    runs = batch.with_users(runs, bound)
    changed = joined(span for run_key, sent in batch.changes(runs) for span in naming.set_changes(run_key, sent))
    runs = batch.with_users(runs, changed)
    proved = joined(span for run_key, sent in batch.writes(runs) for span in naming.set_writes(run_key, sent))
    runs = batch.with_users(runs, proved)
    return batch.see(runs, joined(bound | changed | proved))
