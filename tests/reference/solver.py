"""Every answer straight from docs/lineage.md, worked out anew from the whole list of events."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from tests.reference.generations import Dataset, Generations
from tests.reference.names import Name, Names, canonical_form
from tests.reference.nesting import ColumnEdge, Nesting, Node
from tests.reference.opacity import Account, Opacity
from tests.reference.records import Delivered, Run, facets_of, job_key, merged, period_of, runs_of, stored
from tests.reference.schemas import Schemas
from tests.reference.unlisted import known_datasets
from tests.reference.write_kinds import WriteKinds
from tests.reference.writings import Reader, Writing

Column = tuple[str, str, str | None] | Node
"""A column by name alone, its newest generation meant; with view `all` a column of a generation."""
T = TypeVar("T")
TableEdge = tuple[str, str, str, str, str, str, bool]


class Reference:
    """Run states, edges, generations, schemas; `questions.py` asks them."""

    def __init__(
        self,
        delivered: Iterable[Delivered],
        *,
        as_of_us: int | None = None,
        known_at_us: int | None = None,
        seen_since_us: int | None = None,
        view: str = "current",
        canonical: Callable[[str, str], Name] = canonical_form,
    ) -> None:
        self.events = sorted(stored(delivered, as_of_us, known_at_us), key=lambda event: event.order)
        self.runs = runs_of(self.events)
        self.by_key = {run.key: run for run in self.runs}
        self.names = Names(self.events, canonical)
        self.generations = Generations(self.runs, self.names)
        self.schemas = Schemas(self.events, self.about)
        self.seen_since_us, self.view = seen_since_us, view
        self.run_states = {run.key: run.state for run in self.runs}
        self.executions = {run.key: run.execution for run in self.runs}
        self.job_keys = {run.key: run.job_key for run in self.runs}
        renamed = [(old, new) for old, moves in self.generations.renames.items() for _, _, new in moves]
        self.write_kinds = WriteKinds(self.events, self.names, renamed)
        self.accounts = [self._account(run) for run in self.runs if run.counts]
        self.working = [account for account in self.accounts if not account.content.is_self_loop]
        self.observed = [writing for account in self.working for writing in account.writings]
        self.declarations = self._declared_by_jobs() + self._declared_by_datasets()
        self.declared = [writing for account in self.declarations for writing in account.writings]
        self.current = self._current() + self.declared
        self.opacity = Opacity(self.working + self.declarations, self.runs)
        self.opacity.is_known = self._known

    @cached_property
    def _known(self) -> Callable[[Dataset], bool]:
        """What tells whether lineage in force knows a dataset, be it only as an input of a job that writes nothing."""
        writings = [*self.current, *self.current_readers]
        reading = [account for account in self.working if account.run and not account.writings]
        newest = {}
        for account in sorted(reading, key=lambda each: (each.run.time_us, each.key) if each.run else (0, "")):
            newest[account.run.job_key if account.run else ""] = account.run.execution if account.run else ""
        reading = [each for each in reading if each.run and newest[each.run.job_key] == each.run.execution]
        mentioned = [output for each in self.declarations for output in each.content.outputs]
        mentioned += [dataset for each in reading for dataset in each.content.inputs]
        return known_datasets(((each.output, each.reads, each.doubts) for each in writings), mentioned)

    # Accounts

    def about(self, named: dict[str, Any], event: Delivered, is_output: bool) -> Dataset | None:
        """Return what the schema of a mention is about."""
        return self.generations.described(named, event) if is_output else self.generations.said(named, event, None)

    @cached_property
    def reader(self) -> Reader:
        return Reader(self.generations, self.schemas)

    def _account(self, run: Run) -> Account:
        content = self.reader.content(run.telling, run)
        made = self.reader.writings(content, run.time_us, run, run.first_us, run.events[-1].event["producer"])
        for writing in made:
            writing.job, writing.run, writing.execution = run.job_key, run.key, run.execution
            writing.period_us = period_of(run, self.by_key)
        return Account(run.key, content, made, run)

    def _declaration(self, event: Delivered) -> Account:
        content = self.reader.content([event], None)
        time_us = 0 if event.is_ahead else event.time_us
        made = self.reader.writings(content, time_us, None, event.time_us, event.event["producer"])
        for writing in made:
            writing.run = event.event_id
        return Account(event.event_id, content, made)

    def _declared_by_jobs(self) -> list[Account]:
        newest = {job_key(e.event["job"]): e for e in self.events if "job" in e.event and "run" not in e.event}
        accounts = [self._declaration(event) for event in newest.values()]
        return [account for account in accounts if not account.content.is_self_loop]

    def _declared_by_datasets(self) -> list[Account]:
        told = defaultdict(list)
        for event in self.events:
            if "dataset" in event.event:
                sent = event.event["dataset"]
                told[event.event["producer"], self.names.canonical(sent["namespace"], sent["name"])].append(event)
        newest = {}
        for event in sorted(map(_with_facets, told.values()), key=lambda event: event.order):
            if name := self.generations.declared(event.event["dataset"], event):
                newest[event.event["producer"], name] = event
        return [self._declaration(event) for event in newest.values()]

    # Current, historic

    def _current(self) -> list[Writing]:
        groups = meaningful(self.observed, lambda writing: (writing.job, writing.output))
        if self.view == "all":
            return [writing for group in groups for writing in group]
        return [writing for group in groups for writing in counting(group)]

    @cached_property
    def current_readers(self) -> list[Writing]:
        """What is current, or newest, over all generations of an output together."""
        groups = meaningful(self.observed, lambda writing: (writing.job, writing.output[:2]))
        return [writing for group in groups for writing in counting(group)]

    # Edges

    @cached_property
    def column_edges(self) -> set[ColumnEdge]:
        """The edges as they were sent, before nesting is looked at, those of dropped generations included."""
        return self.edges_of(self.current)

    def edges_of(self, writings: Iterable[Writing]) -> set[ColumnEdge]:
        seen: dict[ColumnEdge, int] = {}
        for writing in writings:
            for source, column, output, kind, masked in writing.edges | writing.selecting:
                edge = (*self.node(source, column), *self.node(writing.output, output), kind, masked)
                seen[edge] = max(writing.time_us, seen.get(edge, writing.time_us))
        return {edge for edge, seen_us in seen.items() if self._is_recent(seen_us)}

    @cached_property
    def table_edges(self) -> set[TableEdge]:
        found = defaultdict(list)
        for writing in self.current:
            for source in writing.tables:
                found[source, writing.output].append(writing)
        return {
            (*source, *output, not any(each.carries for each in writings))
            for (source, output), writings in found.items()
            if self._is_recent(max(each.time_us for each in writings))
        }

    @cached_property
    def related(self) -> set[Dataset]:
        """The generations that are written, or written from."""
        return {each for writing in self.current for each in (writing.output, *writing.reads)}

    @cached_property
    def mentioned(self) -> set[Dataset]:
        """The generations that lineage in force mentions, be it as what a run only reads."""
        counting = [*self.current, *self.current_readers]
        found = {dataset for each in counting for dataset in (each.output, *each.inputs, *each.tables)}
        return found | {dataset for each in self.working if not each.writings for dataset in each.content.inputs}

    def moved_on(self, dataset: Dataset, *, forward: bool) -> set[Dataset]:
        """Return to where names of a generation moved on later, or (backward) where they were before."""
        found, front = set[Dataset](), {dataset} & self.mentioned
        while front:
            every = {each for one in front for each in self.generations.moved_on(one, forward=forward)}
            front = (every & self.mentioned) - found - {dataset}
            found |= front
        return found

    def nesting_with(self, nodes: Iterable[Node]) -> Nesting:
        """Return which columns are there, those that are asked or tagged included."""
        return Nesting(self.schemas, [*nodes, *(end for edge in self.column_edges for end in (edge[:4], edge[4:8]))])

    @cached_property
    def nesting(self) -> Nesting:
        return self.nesting_with([])

    def shown(self, told: Mapping[Node, T], left_out: Iterable[Node]) -> dict[Column, T]:
        """Return what a question answers: in view `current` the columns of what is not dropped, by name alone."""
        told = {node: hit for node, hit in told.items() if node not in left_out}
        if self.view == "all":
            return {node: hit for node, hit in told.items()}  # noqa: C416 - dict() would keep the type of its keys
        return {(*node[:2], node[3]): hit for node, hit in told.items() if not self.generations.is_dropped(node[:3])}

    def every_column(self, dataset: Dataset) -> set[Node]:
        """Return the columns that are there, and None for those that no schema names."""
        known: set[Node] = {(*dataset, column) for column in self.nesting.there.get(dataset, ())}
        return known if dataset in self.schemas.known else known | {(*dataset, None)}

    @property
    def dropped(self) -> set[Name]:
        """The datasets whose newest generation is not there."""
        return {name for name in self.generations.ends if self.generations.is_dropped(self.generations.newest(name))}

    def node(self, dataset: Dataset, column: str) -> tuple[str, str, str, str]:
        return (*dataset, self.schemas.key(dataset, column))

    def _is_recent(self, seen_us: int) -> bool:
        return self.seen_since_us is None or seen_us >= self.seen_since_us


def _with_facets(events: list[Delivered]) -> Delivered:
    """Return the newest of some DatasetEvents with the newest value of each facet."""
    facets = {name: value for name, (value, _) in merged((facets_of(e.event["dataset"]), e) for e in events).items()}
    newest = events[-1]
    return replace(newest, event={**newest.event, "dataset": {**newest.event["dataset"], "facets": facets}})


def meaningful(writings: Iterable[Writing], group_of: Callable[[Writing], Any]) -> list[list[Writing]]:
    """Return writings by group, without those that say nothing wherever another says something."""
    groups = defaultdict(list)
    for writing in writings:
        groups[group_of(writing)].append(writing)
    return [[each for each in group if not each.says_nothing] or group for group in groups.values()]


def counting(group: list[Writing]) -> list[Writing]:
    """Return the writings of the current and of the newest execution; what is inferred displaces nothing observed."""
    carrying = [each for each in group if each.carries and not each.is_inferred]
    carrying = carrying or [each for each in group if each.carries] or group
    newest = [max(among, key=lambda each: (each.period_us, each.time_us, each.run)) for among in (carrying, group)]
    executions = {each.execution for each in newest}
    return [each for each in group if each.execution in executions]
