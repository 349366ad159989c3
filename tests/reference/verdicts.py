"""Whether a column is used, and the evidence for it (docs/reference/lineage.md: unused)."""

from functools import cached_property

from tests.reference.generations import Dataset
from tests.reference.names import Name
from tests.reference.nesting import ColumnEdge, Node
from tests.reference.opacity import Account
from tests.reference.solver import Column, Reference


def unused(lineage: Reference, *, strict: bool = False) -> dict[Column, str]:
    """Return the verdict of every column of existing datasets."""
    return {column: verdict for column, (verdict, _) in Verdicts(lineage, strict=strict).told.items()}


def unused_reasons(lineage: Reference, *, strict: bool = False) -> dict[Column, str]:
    """Return why a column is used or unknown. Unused and simply used columns have no reason."""
    return {column: reason for column, (_, reason) in Verdicts(lineage, strict=strict).told.items() if reason}


def caveats(lineage: Reference) -> dict[Name, set[tuple[str, int]]]:
    """Return the runs, with their times, that read a dataset and wrote nothing."""
    verdicts = Verdicts(lineage, strict=False)
    return {name: verdicts.collects(name) for name in verdicts.names if verdicts.collects(name)}


class Verdicts:
    def __init__(self, lineage: Reference, *, strict: bool) -> None:
        lineage = lineage.of_use()
        self.lineage, self.strict = lineage, strict
        there = {dataset[:2] for dataset in {*lineage.schemas.known, *lineage.mentioned, *lineage.named_us}}
        there |= {now for name in there if (now := lineage.names.moved_to(name))}
        self.names = sorted(name for name in there - lineage.dropped if not lineage.names.moved_to(name))
        alive = [writing for writing in lineage.current if writing.output in self._alive]
        readers = lineage.current_readers + lineage.declared
        self.readers = [(lineage.opacity.accounts[writing.run], writing) for writing in readers]
        self.makers = [(lineage.opacity.accounts[writing.run], writing) for writing in alive]
        self.reader_edges = lineage.edges_of(lineage.current_readers + lineage.declared)
        self.reader_copies = lineage.edges_of(lineage.current_readers + lineage.declared, copies=True)
        self.copies = lineage.edges_of(lineage.current, copies=True)

    @property
    def told(self) -> dict[Column, tuple[str, str]]:
        """Return (verdict, reason) by column."""
        found: dict[Column, tuple[str, str]] = {}
        for name in self.names:
            dataset, columns = self._columns(name)
            why = self._why_unknown(name) if columns else ""
            for column in columns:
                found[*name, column] = self._judge(name, (*dataset, column), why)
        return found

    def collects(self, name: Name) -> set[tuple[str, int]]:
        """Return the batch runs that read a dataset and write nothing, unless a run of their execution covers the
        dataset.
        """
        readers = self._newest_that_only_read(is_streaming=False)
        readers += [each.account for each in self.lineage.attempts.counting if not (each.writing or each.is_feeding)]
        return {
            (account.run.key, account.run.time_us)
            for account in readers
            for dataset in account.content.inputs & self.lineage.generations.of_name(name) - account.feeding
            if account.run and not self._is_covered(account, dataset)
        }

    def _columns(self, name: Name) -> tuple[Dataset, set[str]]:
        """Return the newest generation with a schema to which the name refers or referred, and the columns to judge."""
        every, schemas = self.lineage.generations, self.lineage.schemas
        others = self.lineage.names.others(name, now=True)
        locations = [[every.newest(name), *every.meant_back(name)], *(every.meant_back(other) for other in others)]
        meant = [each for generations in locations for each in generations]
        spelt = next((each for each in meant if schemas.columns(each)), meant[-1])
        found = set[str]()
        for number, generations in enumerate(locations):
            for dataset in generations:
                named = self.lineage.named_columns(dataset)
                found |= {schemas.key(spelt, key) for key in named | schemas.columns(dataset)}
                if (base_us := schemas.base_us(dataset)) is not None:
                    behind = {each for generations in locations[number + 1 :] for each in generations}
                    later = {key for each in behind for key in self.lineage.named_since(each, base_us)}
                    return spelt, found | {schemas.key(spelt, key) for key in later}
                if schemas.columns(dataset):
                    break
        return spelt, found

    def _judge(self, name: Name, column: Node, why_unknown: str) -> tuple[str, str]:
        edges, copies = self._uses(name), self._uses(name, copies=True)
        using = [edge for edge in edges if self._is_about(edge[:4], column)]
        using += [edge for edge in copies if self._is_nested(column, edge[:4])]
        if using:
            is_read_now = any(edge[:3] == self.lineage.generations.newest(name) for edge in using)
            return "used", "" if is_read_now else "read_before_recreation"
        if any(self._is_nested(column, edge[:4]) for edge in edges):
            return "unknown", "used_as_a_whole"
        return ("unknown", why_unknown) if why_unknown else ("unused", "")

    def _uses(self, name: Name, *, copies: bool = False) -> list[ColumnEdge]:
        """Return the edges that use columns of a dataset. copies: only the edges that copy a column unchanged."""
        current = self.copies if copies else self.lineage.column_edges
        readers = self.reader_copies if copies else self.reader_edges
        newest, all_of = self.lineage.generations.newest(name), self.lineage.generations.of_name(name)
        now = [edge for edge in current if edge[:3] == newest and edge[4:7] in self._alive]
        read = [edge for edge in readers if edge[:3] in all_of]
        return [edge for edge in now + read if edge[:4] != edge[4:8]]

    @cached_property
    def _alive(self) -> set[Dataset]:
        """Return the generations that exist, or from which an existing generation is made."""
        lineage = self.lineage
        through = lineage.opacity.followed
        edges = {(source, each.output) for each in lineage.current for source in each.reads | through(each).datasets}
        alive = {each for edge in edges for each in edge if not lineage.generations.is_dropped(each)}
        while more := {source for source, output in edges if output in alive} - alive:
            alive |= more
        return alive

    def _is_about(self, source: Node, column: Node) -> bool:
        """Return whether an edge comes from a column, or from one nested in it, in any generation."""
        schemas = self.lineage.schemas
        for dataset in (source[:3], column[:3]):
            here, there = (schemas.key(dataset, each[3] or "") for each in (source, column))
            if here == there or schemas.is_nested(dataset, here, there):
                return True
        return False

    def _is_nested(self, column: Node, source: Node) -> bool:
        schemas = self.lineage.schemas
        keys = (
            [schemas.key(dataset, each[3] or "") for each in (column, source)] for dataset in (source[:3], column[:3])
        )
        return any(
            schemas.is_nested(dataset, inner, outer)
            for dataset, (inner, outer) in zip((source[:3], column[:3]), keys, strict=True)
        )

    # Reasons for the verdict unknown

    def _why_unknown(self, name: Name) -> str:
        meant = self.lineage.generations.of_name(name)
        opacity = self.lineage.opacity
        newest = {self.lineage.generations.newest(name)}
        asked = [*((each, meant) for each in self.readers), *((each, newest) for each in self.makers)]
        only_read = self._newest_that_only_read(is_streaming=True)
        for doubts, reason in ((False, "opaque"), (True, "unlisted")):
            found = [opacity.inputs(*each, doubts=doubts) & datasets for each, datasets in asked] + [
                opacity.inputs(account) & meant for account in only_read
            ]
            found += [self.lineage.fed_by(each) & meant for each in self.lineage.without_output if each.feeds_jobs]
            if any(found):
                return reason
        if any(opacity.left_open(account, writing) & datasets for (account, writing), datasets in asked):
            return "unaccounted"
        if any(opacity.hides_steps_of(account) & datasets for (account, _), datasets in asked):
            return "no_transformations"
        if self.lineage.attempts.reading(meant) or not self._is_read(name):
            return "attempted" if self.lineage.attempts.reading(meant) else "never_read"
        return "collected" if self.strict and self.collects(name) else ""

    def _is_read(self, name: Name) -> bool:
        """Return whether a run ever read the dataset, in any generation, to write another one.

        For a name that moved, only current reads count.
        """
        others = self.lineage.names.others(name, now=True)
        writings = self.lineage.observed + self.lineage.every_declared
        if others:
            now = [each for _, each in self.makers if self.lineage.generations.newest(name) in each.reads]
            writings = [*now, *(each for _, each in self.readers)]
        names = {name, *others}
        return any(
            any(source[:2] in names for source in each.reads) and each.output[:2] not in names for each in writings
        )

    def _newest_that_only_read(self, *, is_streaming: bool) -> list[Account]:
        """Return the runs of each job's newest execution that read and write nothing."""
        counting = [each for each in self.lineage.without_output if not each.writings]
        return [each for each in counting if each.run and each.run.is_streaming == is_streaming]

    def _is_covered(self, account: Account, dataset: Dataset) -> bool:
        return any(
            each.run and account.run and each.run.execution == account.run.execution and dataset in each.covered
            for each in self.lineage.working
        )
