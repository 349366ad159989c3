"""The inputs of runs without column lineage, and the lineage that explains them (docs/reference/lineage.md: edges of
one run).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from tests.reference.generations import Dataset
from tests.reference.records import Run, is_half
from tests.reference.unlisted import Doubt
from tests.reference.writings import Content, Writing

OTHER_HALVES = ("append_data", "overwrite_by_expression", "overwrite_partitions")


@dataclass
class Followed:
    """The inputs of the jobs that feed a writing. is_complete: every such job leads to a dataset."""

    datasets: set[Dataset]
    is_complete: bool


@dataclass
class Account:
    """The complete report of one run that counts, or of one declared event, which has no run."""

    key: str
    content: Content
    writings: list[Writing]
    run: Run | None = None
    job: tuple[str, str] = ("", "")
    """Key of the job, if this is a JobEvent."""

    @cached_property
    def covered(self) -> set[Dataset]:
        return {source for writing in self.writings for source in writing.column_sources}

    @cached_property
    def read(self) -> set[Dataset]:
        """All datasets that it lists, and those with a column in its lineage."""
        return self.content.inputs.union(*(writing.tables for writing in self.writings))

    @cached_property
    def feeding(self) -> set[Dataset]:
        """The datasets that it reports as feeding jobs, unless its own outputs are made from them."""
        return {each.source for each in self.content.fed if each.source and not (each.is_own and self.writings)}

    @cached_property
    def feeding_jobs(self) -> set[tuple[str, str]]:
        """The jobs that feed its own job, which reports no output."""
        jobs = {each.source_job for each in self.content.fed if each.source_job and each.is_own}
        return set() if self.writings else jobs

    @property
    def feeding_columns(self) -> set[tuple[Dataset, str]]:
        told = [each for each in self.content.fed if not (each.is_own and self.writings)]
        return {(each.source, each.column) for each in told if each.source and each.column}

    @property
    def is_without_output(self) -> bool:
        """Whether it only reads, or reports only what feeds jobs."""
        return self.feeds_jobs or bool(self.content.inputs and not self.writings)

    @property
    def feeds_jobs(self) -> bool:
        return any(not (each.is_own and self.writings) for each in self.content.fed)

    @cached_property
    def opaque(self) -> set[Dataset]:
        """The opaque inputs of all outputs, explained or not. Without outputs, all inputs are opaque."""
        found = [self.opaque_for(writing) for writing in self.writings]
        return set().union(*found) if found else self.content.inputs

    def opaque_for(self, writing: Writing) -> set[Dataset]:
        """Return the datasets from which an output may be made beyond the reported lineage.

        The output itself is included only if the run reports no lineage for it.
        """
        listed = self.content.inputs.union(*(each.bare for each in self.writings))
        own = {writing.output} if writing.carries else set()
        return (listed - self.covered - own) | (self.content.own_fed - own) | writing.opaque | writing.behind_view

    @cached_property
    def hides_steps(self) -> bool:
        """Return whether it has edges but cannot show filters and joins."""
        has_edges = any(writing.edges or writing.whole for writing in self.writings)
        return has_edges and not any(writing.shows_steps for writing in self.writings)

    def carries(self, output: Dataset) -> bool:
        return any(writing.carries for writing in self.writings if writing.output == output)


class Opacity:
    """The inputs that are still opaque after considering all reports."""

    def __init__(self, accounts: Iterable[Account], runs: Iterable[Run]) -> None:
        self.accounts = {account.key: account for account in accounts}
        self.parents = {run.key: run.parent for run in runs}
        self.is_known: Callable[[Dataset], bool] = lambda _: False
        self.name_of: Callable[[tuple[str, str]], tuple[str, str]] = lambda job: job
        self.declared: list[Writing] = []
        """The writings of JobEvents in force."""
        self.accounts_for: Callable[[Writing, set[str] | None], bool] = lambda *_: False
        """Returns whether a declaration accounts for the given columns of its output.

        None stands for all listed columns.
        """
        self.followed: Callable[[Writing], Followed] = lambda _: Followed(set(), True)
        """Returns the inputs of the jobs that feed a writing."""

    def inputs(self, account: Account, writing: Writing | None = None, *, doubts: bool = True) -> set[Dataset]:
        """Return the opaque inputs of a run, or of one of its outputs, that nothing explains."""
        opaque = account.opaque_for(writing) if writing else account.opaque
        if writing and doubts:
            opaque = opaque.union(*(inputs for _, inputs, _ in self.doubts(writing)))
        found = {
            source
            for source in opaque
            if not self._is_explained(account, source) and not (writing and self._is_declared(writing, source))
        }
        return found | self.through(writing) if writing else found

    def through(self, writing: Writing) -> set[Dataset]:
        """Return the inputs of the jobs that feed an output, unless a declaration explains them."""
        return {source for source in self.followed(writing).datasets if not self._is_declared(writing, source)}

    def may_be_of_anything(self, writing: Writing) -> bool:
        """Return whether an output, or some of its columns, are fed by a job whose inputs no event reports."""
        if self.followed(writing).is_complete:
            return False
        return not writing.carries or bool(writing.left_out and not self._is_told_by_job(writing))

    def doubts(self, writing: Writing) -> set[Doubt]:
        """Return the names in lineage that may refer to inputs because no current lineage knows a dataset
        of that name.
        """
        account = self.accounts[writing.run]
        hidden = frozenset(account.opaque_for(writing) & account.content.inputs)
        of_ends = {(dataset, hidden, False) for dataset in writing.ends}
        return of_ends | {doubt for doubt in writing.doubts if not self.is_known(doubt[0])}

    def may_mean(self, account: Account, writing: Writing) -> set[tuple[Dataset, Dataset]]:
        """Return pairs (dataset in lineage, input to which its name may refer) for inputs that nothing explains."""
        return {
            (dataset, source)
            for dataset, inputs, _ in self.doubts(writing)
            for source in inputs
            if not self._is_writing_explained(account, writing.output, source)
            and not self._is_declared(writing, source)
        }

    def sources(self, writing: Writing) -> set[Dataset]:
        """Return the datasets from which an output is opaquely written and that nothing explains."""
        account = self.accounts[writing.run]
        found = {
            source
            for source in writing.opaque
            if not self._is_writing_explained(account, writing.output, source)
            and not self._is_declared(writing, source)
        }
        return found if writing.carries else found | self.through(writing)

    def left_open(self, account: Account, writing: Writing) -> set[Dataset]:
        """Return the datasets from which unaccounted columns of an output may be made and that nothing explains."""
        found = {
            source
            for source in self.left_open_by_job(writing)
            if not self._is_explained(account, source) and not self._is_declared(writing, source)
        }
        return found | self._through_left_out(writing)

    def may_fill(self, account: Account, writing: Writing) -> set[Dataset]:
        """Return the same for the columns themselves.

        Child runs explain an input only with column lineage for the output.
        """
        found = {
            source
            for source in self.left_open_by_job(writing)
            if not self._is_writing_explained(account, writing.output, source)
            and not self._is_declared(writing, source)
        }
        return found | self._through_left_out(writing)

    def _through_left_out(self, writing: Writing) -> set[Dataset]:
        return self.through(writing) if writing.left_out and not self._is_told_by_job(writing) else set()

    def left_open_by_job(self, writing: Writing) -> set[Dataset]:
        """Return the datasets from which unaccounted columns may be made, unless a declaration of the job accounts for
        all.
        """
        return set() if self._is_told_by_job(writing) else writing.also_read

    def _is_told_by_job(self, writing: Writing) -> bool:
        return any(self.accounts_for(each, writing.left_out) for each in self._declared_for(writing))

    def hides_steps_of(self, account: Account) -> set[Dataset]:
        """Return the inputs of a run whose filters and joins are not visible, and that no declaration of its job
        explains.
        """
        if not account.hides_steps:
            return set()
        return {source for source in account.read if not self._is_told(account, source)}

    def _is_told(self, account: Account, source: Dataset) -> bool:
        naming = [each for each in account.writings if source in each.column_sources] or account.writings
        return all(self._is_declared(each, source) for each in naming)

    def declared_inputs(self, writing: Writing) -> set[Dataset]:
        """Return the opaque inputs of an output that a declaration of the job explains."""
        opaque = self.accounts[writing.run].opaque_for(writing)
        return {source for source in opaque if self._is_declared(writing, source)}

    def _is_declared(self, writing: Writing, source: Dataset) -> bool:
        """Return whether a declaration of the job covers a source and accounts for every column of the output."""
        declared = [each for each in self._declared_for(writing) if source in each.column_sources]
        return any(self.accounts_for(each, None) for each in declared)

    def _declared_for(self, writing: Writing) -> list[Writing]:
        """Return the declarations of an observed run's job for the same output."""
        run = self.accounts[writing.run].run
        names = {writing.job, self.name_of(writing.job)} if run else set()
        return [each for each in self.declared if each.job in names and each.output == writing.output]

    def below(self, account: Account) -> list[Account]:
        """Return the descendants of a run that count."""
        return self._below(account)

    def explained(self, account: Account, writing: Writing, *, itself: bool = False) -> set[Dataset]:
        """Return the open inputs of an output that other runs explain. itself: also those of the output itself."""
        asked = writing.reads | writing.opaque if writing.left_out else account.opaque_for(writing)
        if itself:
            return {each for each in asked if self._is_writing_explained(account, writing.output, each)}
        return {each for each in asked if self._is_explained(account, each)}

    def _is_explained(self, account: Account, source: Dataset) -> bool:
        if any(source in each.covered for each in self._below(account)):
            return True
        return any(source in each.covered for each in self._other_halves(account, account.writings))

    def _is_writing_explained(self, account: Account, output: Dataset, source: Dataset) -> bool:
        below = self._below(account)
        if any(source in each.covered for each in below) and any(each.carries(output) for each in below):
            return True
        same = [writing for writing in account.writings if writing.output == output]
        return any(source in each.covered for each in self._other_halves(account, same))

    def _below(self, account: Account) -> list[Account]:
        return [each for each in self.accounts.values() if each.run and self._is_below(each.key, account.key)]

    def _is_below(self, key: str, above: str) -> bool:
        seen, parent = {key}, self.parents.get(key)
        while parent and parent not in seen:
            if parent == above:
                return True
            seen.add(parent)
            parent = self.parents.get(parent)
        return False

    def _other_halves(self, account: Account, written: Iterable[Writing]) -> list[Account]:
        """Return the other halves of a CREATE or REPLACE TABLE AS SELECT for any of its outputs."""
        outputs = [writing.output for writing in written]
        statement = account.run
        if not statement or not is_statement(statement):
            return []
        return [
            each
            for each in self.accounts.values()
            if each.run and each.key != account.key and each.run.execution == statement.execution
            if any(each.carries(output) and self._is_half(statement, each.run, output) for output in outputs)
        ]

    def _is_half(self, statement: Run, other: Run, output: Dataset) -> bool:
        if not is_of_one_instant(statement):
            return statement.first_us <= other.last_us <= statement.last_us
        written = [
            each.run
            for each in self.accounts.values()
            if each.run and each.key != other.key and any(writing.output == output for writing in each.writings)
        ]
        rivals = [run for run in written if run.execution == statement.execution and is_statement(run)]
        return any(part.startswith(OTHER_HALVES) for part in parts_of_job(other)) and statement is whose_half(
            other, [run for run in rivals if is_of_one_instant(run)]
        )


def is_statement(run: Run) -> bool:
    return is_half(run.events[-1].event["job"]["name"])


def is_of_one_instant(run: Run) -> bool:
    return len({event.time_us for event in run.events}) == 1


def whose_half(other: Run, statements: list[Run]) -> Run:
    """Return the first statement at or after the newest event of a run, else the last one before it."""
    later = [run for run in statements if run.last_us >= other.last_us]
    if later:
        return min(later, key=lambda run: (run.last_us, run.key))
    return max(statements, key=lambda run: (run.last_us, run.key))


def parts_of_job(run: Run) -> list[str]:
    name: str = run.events[-1].event["job"]["name"]
    return name.split(".")
