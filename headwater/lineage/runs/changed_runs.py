"""What a batch changes: the steps in which that is found out, wherever runs are kept."""

from collections.abc import Iterable, Sequence, Set
from typing import Protocol, TypeVar

from headwater.lineage.names.dataset_history import Change, Span, joined
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.moved_names import LocationAt
from headwater.lineage.names.names_in_time import Naming

Runs = TypeVar("Runs")


class ChangedRuns(Protocol[Runs]):
    """What new events tell, amid all that was told before; a set of runs is whatever the keeper of runs makes of it."""

    def changes(self, runs: Runs) -> Iterable[tuple[str, Sequence[Change]]]:
        """Return what runs drop and rename by now, oldest first: of these all that do, or did as far as was known."""

    def writes(self, runs: Runs) -> Iterable[tuple[str, Iterable[tuple[int, Name]]]]:
        """Return when runs write which names: of these all that do where anything was dropped or renamed, or did."""

    def with_users(self, runs: Runs, moved: Iterable[Span]) -> Runs:
        """Return runs with those that use one of these names, as sent, at such a time."""

    def see(self, runs: Runs, moved: Set[Span]) -> Runs:
        """Take the schemas of the batch; returns runs with those that take other columns by these."""


def concerned(batch: ChangedRuns[Runs], naming: Naming, runs: Runs, links: Iterable[tuple[Name, LocationAt]]) -> Runs:
    """Let names mean what a batch tells, and return every run that says something else now.

    runs: those that the batch tells of; links: (name, when it stands for which location) of its symlinks.
    Symlinks rest on nothing, drops and renames on symlinks, what a write proves on both: so each is learnt once.
    """
    bound = set(map(Span, naming.bind(links)))
    runs = batch.with_users(runs, bound)
    changed = joined(span for run_key, sent in batch.changes(runs) for span in naming.set_changes(run_key, sent))
    runs = batch.with_users(runs, changed)
    proved = joined(span for run_key, sent in batch.writes(runs) for span in naming.set_writes(run_key, sent))
    runs = batch.with_users(runs, proved)
    return batch.see(runs, joined(bound | changed | proved))
