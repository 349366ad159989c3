"""The reports of runs that did not complete (docs/reference/lineage.md: rule 6.10)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tests.reference.generations import Dataset
from tests.reference.opacity import Account
from tests.reference.writings import Writing

if TYPE_CHECKING:
    from tests.reference.solver import Reference


@dataclass
class Attempt:
    """One output of a run, or of a later attempt of it, that did not complete.

    Without an output: what the run only reads.
    """

    account: Account
    writing: Writing | None
    own_used: set[Dataset]
    own_sources: set[Dataset]
    through: set[Dataset] = field(default_factory=set)
    """The inputs of the jobs that feed this attempt."""
    is_of_anything: bool = False
    """Whether a job feeds this attempt and no event reports what that job reads."""
    is_feeding: bool = False
    """Whether the attempt reports what feeds jobs, but no output."""

    @property
    def is_disputed(self) -> bool:
        """Whether its events report different lineage for its output."""
        return self.writing is not None and self.writing.output in self.account.content.disputed

    @property
    def used(self) -> set[Dataset]:
        """The datasets that the attempt reads and may use in any way."""
        return self.own_used | self.through

    @property
    def written_from(self) -> set[Dataset]:
        """The datasets from which the output may be made."""
        return self.own_sources | self.through

    @property
    def newness(self) -> tuple[int, int, str]:
        period_us = self.writing.period_us if self.writing else 0
        return period_us, self.account.run.time_us if self.account.run else 0, self.account.key


class Attempts:
    """The attempts whose lineage is not proven by a completed run."""

    def __init__(self, lineage: "Reference", accounts: list[Account]) -> None:
        self.lineage, self.accounts = lineage, accounts

    @cached_property
    def counting(self) -> list[Attempt]:
        newest: dict[Any, Attempt] = {}
        for attempt in sorted(self.every, key=lambda each: each.newness):
            newest[self._reported(attempt)] = attempt
        return [each for each in newest.values() if self._is_recent(each) and not self._is_proven(each)]

    def _is_recent(self, attempt: Attempt) -> bool:
        run = attempt.account.run
        if run is None or not self.lineage.window_us:
            return True
        return self.lineage.is_within_window(run.time_us or run.events[-1].time_us)

    @cached_property
    def every(self) -> list[Attempt]:
        return [attempt for account in self.accounts for attempt in self._of(account)]

    def writing(self, dataset: Dataset) -> list[Attempt]:
        return [each for each in self.counting if each.writing and each.writing.output == dataset]

    def reading(self, datasets: set[Dataset]) -> list[Attempt]:
        return [each for each in self.counting if (each.writing or each.is_feeding) and each.used & datasets]

    @property
    def mentioned(self) -> set[Dataset]:
        """The datasets that any attempt reads or writes."""
        written = [each.writing for each in self.every if each.writing]
        read = {dataset for account in self.accounts for dataset in account.content.inputs | account.feeding}
        older = [each.account.content.older.get(each.writing.output, set()) for each in self.every if each.writing]
        return read.union(*older, *(each.reads for each in written), (each.output for each in written))

    def _of(self, account: Account) -> Iterator[Attempt]:
        if not account.writings and account.content.inputs:
            yield Attempt(account, None, account.content.inputs, set())
        if account.feeds_jobs:
            yield Attempt(account, None, self.lineage.fed_by(account), set(), is_feeding=True)
        below = self.lineage.opacity.below(account)
        covered = set[Dataset]().union(*(each.covered for each in below))
        for writing in account.writings:
            made = any(each.carries(writing.output) for each in below)
            older = account.content.older.get(writing.output, set())
            reads, followed = writing.reads | writing.opaque | older, self.lineage.opacity.followed(writing)
            used, sources = reads - covered, reads - (covered if made else set())
            yield Attempt(account, writing, used, sources, followed.datasets, not followed.is_complete)

    def _reported(self, attempt: Attempt) -> Any:
        run = attempt.account.run
        assert run
        fed = attempt.account.content.fed if attempt.is_feeding else None
        own = proven(self.lineage, attempt.account, attempt.writing)
        older = attempt.account.content.older.get(attempt.writing.output, set()) if attempt.writing else ()
        return run.job_key, run.state, fed, own, attempt.is_disputed, frozenset(older)

    def _is_proven(self, attempt: Attempt) -> bool:
        """Return whether current lineage of the job and output reports the same, and other runs explain no
        more of it.
        """
        if attempt.writing is None or attempt.is_disputed:
            return False
        lineage, own = self.lineage, proven(self.lineage, attempt.account, attempt.writing)
        job = attempt.account.run.job_key if attempt.account.run else None
        same = [
            writing
            for writing in [*lineage.current, *lineage.current_readers]
            if writing.job == job and writing.output == attempt.writing.output
            if (account := lineage.opacity.accounts[writing.run]).run and proven(lineage, account, writing) == own
        ]
        reads = attempt.writing.reads | attempt.writing.opaque
        used, written_from = reads, reads
        for writing in same:
            account = lineage.opacity.accounts[writing.run]
            used = used & lineage.opacity.explained(account, writing)
            written_from = written_from & lineage.opacity.explained(account, writing, itself=True)
        return bool(same) and not used & attempt.own_used and not written_from & attempt.own_sources


def proven(lineage: "Reference", account: Account, writing: Writing | None) -> Any:
    """Return what a run proves about an output if it counts."""
    if writing is None:
        return frozenset(account.content.inputs)
    output, key = writing.output, lineage.schemas.key
    edges = {(source, key(source, own), key(output, to), *how) for source, own, to, *how in writing.edges}
    empty, reads = {key(output, each) for each in writing.empty}, writing.reads | writing.opaque
    left_out = frozenset(writing.left_out)
    told = frozenset(edges), frozenset(empty), left_out, frozenset(reads), frozenset(writing.jobs)
    return output, writing.carries, account.hides_steps, *told
