"""Answer every question by docs/reference/lineage.md, computed from scratch from the complete list of events."""

import copy
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from tests.reference.assets import with_assets_as_datasets
from tests.reference.attempts import Attempts
from tests.reference.gaps import WHOLE, Nested
from tests.reference.generations import NEVER, Dataset, Generations
from tests.reference.names import Name, Names, canonical_form, without_ends_of_parts
from tests.reference.nesting import ColumnEdge, Nesting, Node
from tests.reference.opacity import OTHER_HALVES, Account, Followed, Opacity, is_of_one_instant, is_statement
from tests.reference.records import Delivered, Run, facets_of, job_key, merged, period_of, runs_of, stored
from tests.reference.retired import retired_jobs
from tests.reference.schemas import Schemas
from tests.reference.unlisted import known_datasets
from tests.reference.write_kinds import WriteKinds
from tests.reference.writings import Fed, Reader, Writing

Column = tuple[str, str, str | None] | Node
"""A column by name, which means its newest generation, or with view `all` a column of a generation."""
T = TypeVar("T")
TableEdge = tuple[str, str, str, str, str, str, bool]


class Reference:
    """Run states, edges, generations and schemas. `questions.py` uses them to answer questions."""

    def __init__(
        self,
        delivered: Iterable[Delivered],
        *,
        as_of_us: int | None = None,
        known_at_us: int | None = None,
        seen_since_us: int | None = None,
        view: str = "current",
        window_us: int | None = None,
        window_end_us: int | None = None,
        canonical: Callable[[str, str], Name] = canonical_form,
        complete: Collection[str] = (),
        keeps_us: Mapping[Name, int] | None = None,
    ) -> None:
        """Set up the reference for some events and options.

        window_us: executions that ended within this window also count as use. window_end_us: the end of the window, for
        events that share a lake with newer ones. complete: producers whose column lists are complete. keeps_us: how
        long datasets keep their rows.
        """
        known = sorted(stored(delivered, as_of_us, known_at_us), key=lambda event: event.order)
        self.events = [without_ends_of_parts(event, canonical) for event in with_assets_as_datasets(known)]
        self.runs = runs_of(self.events)
        self.by_key = {run.key: run for run in self.runs}
        self.names = Names(self.events, canonical)
        self.generations = Generations(self.runs, self.names)
        self.seen_since_us, self.view = seen_since_us, view
        self.run_states = {run.key: run.state for run in self.runs}
        self.executions = {run.key: run.execution for run in self.runs}
        self.job_keys = {run.key: run.job_key for run in self.runs}
        renamed = [(old, new) for old, moves in self.generations.renames.items() for _, _, new in moves]
        self.write_kinds = WriteKinds(self.events, self.names, renamed, complete)
        self.schemas = Schemas(self.events, self.about, self.write_kinds.lists_all_columns)
        self.accounts = [self._account(run) for run in self.runs if run.counts]
        self.working = [account for account in self.accounts if not account.content.is_self_loop]
        self.observed = [writing for account in self.working for writing in account.writings]
        self.declarations = self._declared_by_jobs() + self._declared_by_datasets()
        self.retired = retired_jobs(self.events, self.runs)
        self.every_declared = [writing for account in self.declarations for writing in account.writings]
        self.declared = [each for each in self.every_declared if each.job not in self.retired]
        self.current = self._current() + self.declared
        self.opacity = Opacity(self.working + self.declarations, self.runs)
        self.opacity.is_known = self._known
        self.opacity.declared = [writing for writing in self.declared if writing.job[0] and writing.carries]
        self.opacity.accounts_for = self._accounts_for
        names = {run.job_key: job_key(run.events[-1].event["job"]) for run in sorted(self.runs, key=_newness)}
        self.opacity.name_of = lambda job: names.get(job, job)
        self.opacity.followed = self._followed
        attempted = [self._account(attempt) for run in self.runs if (attempt := run.attempted)]
        self.attempts = Attempts(self, [account for account in attempted if not account.content.is_self_loop])
        self.every_attempt = self.attempts
        """All attempts, including those of retired jobs."""
        ends = [event.time_us for event in self.events if not event.is_ahead] if as_of_us is None else [as_of_us]
        self.window_us = window_us
        self.keeps_us = keeps_us or {}
        self.newest_us = max((event.time_us for event in self.events if not event.is_ahead), default=None)
        self.window_end_us = max(ends, default=None) if window_end_us is None else window_end_us

    def _followed(self, writing: Writing) -> Followed:
        found, own = self.followed(writing.jobs), {writing.job, self.opacity.name_of(writing.job)} & writing.jobs
        fed = any(each.source and each.job in own for each in self._fed)
        is_told = not own or fed or bool(writing.reads | writing.opaque)
        return Followed(found.datasets, found.is_complete and is_told)

    def followed(self, jobs: set[tuple[str, str]]) -> Followed:
        """Follow jobs that feed something to the datasets that they read, also through further jobs."""
        found = self._jobs_behind(jobs)
        is_complete = all(
            any(self._read_by(each, newest=True) for each in self._jobs_behind({job}, newest=True)) for job in found
        )
        return Followed(set[Dataset]().union(*map(self._read_by, found)), is_complete)

    def _jobs_behind(self, jobs: set[tuple[str, str]], *, newest: bool = False) -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        while more := jobs - found:
            found |= more
            jobs = {job for key in more for each in self._writings_of(key, newest=newest) for job in each.jobs}
            jobs |= {each.source_job for each in self._fed if each.job in more and each.source_job}
        return found

    @cached_property
    def _fed(self) -> list[Fed]:
        """All reports about what feeds jobs."""
        return [fed for account in [*self.working, *self.declarations] for fed in account.content.fed]

    @property
    def without_output(self) -> list[Account]:
        """The reports, relevant for use, of runs that only read or that only report what feeds jobs.

        These are the newest executions of each job, other reports of the job within the window, and declarations.
        """
        by_job = defaultdict(list)
        for account in self.working:
            run = account.run
            if run and run.job_key not in self.retired and account.is_without_output:
                newness = period_of(run, self.by_key), run.time_us, run.key
                by_job[run.job_key].append((newness, run.execution, account))
        found, earlier = list[Account](), dict[object, Account]()
        for job, runs in by_job.items():
            newest = max(runs, key=lambda each: each[0])[1]
            found += [account for _, execution, account in runs if execution == newest]
            for _, _, account in sorted(runs, key=lambda each: each[0]):
                if account.run and self.is_within_window(account.run.time_us):
                    earlier[job, _reads_as(account)] = account
        told = {(each.run.job_key, _reads_as(each)) for each in found if each.run}
        declared = [each for each in self.declarations if each.feeds_jobs and each.job not in self.retired]
        return [*found, *(account for read, account in earlier.items() if read not in told), *declared]

    def fed_by(self, account: Account) -> set[Dataset]:
        """Return the datasets that a run or declaration reports as feeding jobs, also through further jobs."""
        return account.feeding | self.followed(account.feeding_jobs).datasets

    def _read_by(self, job: tuple[str, str], *, newest: bool = False) -> set[Dataset]:
        """Return the datasets that a job reads. newest: only by its newest executions and declarations."""
        runs = [each for each in self.working if self._is_run_of(each.run, job)]
        if newest:
            silent = [each for each in runs if each.is_without_output]
            last = max(silent, key=self.newness_of, default=None)
            runs = [
                each for each in silent if last and each.run and last.run and each.run.execution == last.run.execution
            ]
        fed = {each.source for each in self._fed if each.source and each.job == job}
        fed |= {source for each in runs for source in each.feeding}
        only_read = [each.content.inputs for each in runs]
        return fed.union(*only_read, *(each.reads | each.opaque for each in self._writings_of(job, newest=newest)))

    def newness_of(self, account: Account) -> tuple[int, int, str]:
        run = account.run
        return (period_of(run, self.by_key), run.time_us, run.key) if run else (0, 0, "")

    @cached_property
    def _newest(self) -> list[Writing]:
        """The reports of the newest executions of each job and output."""
        groups = meaningful(self.observed, lambda writing: (writing.job, writing.output))
        last = [max(group, key=lambda each: (each.period_us, each.time_us, each.run)) for group in groups]
        pairs = zip(groups, last, strict=True)
        return [each for group, newest in pairs for each in group if each.execution == newest.execution]

    def _writings_of(self, job: tuple[str, str], *, newest: bool = False) -> list[Writing]:
        observed = self._newest if newest else self.observed
        every = [*observed, *(each for each in self.every_declared if each.job[0])]
        return [each for each in every if job in (each.job, self.opacity.name_of(each.job))]

    def _is_run_of(self, run: Run | None, job: tuple[str, str]) -> bool:
        return run is not None and job in (run.job_key, self.opacity.name_of(run.job_key))

    @cached_property
    def _known(self) -> Callable[[Dataset], bool]:
        """A function that returns whether any lineage knows a dataset, even if only as an input of a job that writes
        nothing.
        """
        writings = [*self.observed, *self.every_declared]
        reading = [account for account in self.working if account.run and not account.writings]
        mentioned = [output for each in self.declarations for output in each.content.outputs]
        mentioned += [dataset for each in reading for dataset in each.content.inputs]
        mentioned += [dataset for each in [*self.working, *self.declarations] for dataset in each.feeding]
        return known_datasets(((each.output, each.reads, each.doubts) for each in writings), mentioned)

    # Accounts

    def about(self, named: dict[str, Any], event: Delivered, is_output: bool) -> Dataset | None:
        """Return the dataset to which the schema of a mention belongs."""
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

    def _declaration(self, event: Delivered, job: tuple[str, str] = ("", "")) -> Account:
        content = self.reader.content([event], None)
        time_us = 0 if event.is_ahead else event.time_us
        made = self.reader.writings(content, time_us, None, event.time_us, event.event["producer"])
        for writing in made:
            writing.run, writing.job = event.event_id, job
        return Account(event.event_id, content, made, job=job)

    def _declared_by_jobs(self) -> list[Account]:
        newest = {job_key(e.event["job"]): e for e in self.events if "job" in e.event and "run" not in e.event}
        accounts = [self._declaration(event, job) for job, event in newest.items()]
        return [account for account in accounts if not account.content.is_self_loop]

    def _accounts_for(self, writing: Writing, columns: set[str] | None) -> bool:
        """Return whether a declaration accounts for the given columns of its output, or with None for all listed
        columns.
        """

        def key(column: str) -> str:
            return self.schemas.key(writing.output, column)

        listed = self.schemas.paths_at(writing.output, NEVER)
        every = {key(".".join(path)) for path in listed} if columns is None else columns
        unclear = {key(each) for each in writing.unclear} | writing.left_out
        accounted = {key(each) for each in writing.fed_or_empty} - unclear
        nested = Nested(listed, key)
        return bool(every) and WHOLE not in every and all(nested.is_among(each, accounted) for each in every)

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

    # Current and historical lineage

    def _current(self) -> list[Writing]:
        groups = meaningful(self.observed, lambda writing: (writing.job, writing.output))
        if self.view == "all":
            return [writing for group in groups for writing in group]
        counted = [writing for group in groups for writing in counting(group)]
        return [each for each in counted if each.job not in self.retired]

    @cached_property
    def current_readers(self) -> list[Writing]:
        """The current or newest writings, over all generations of an output together."""
        groups = meaningful(self.observed, lambda writing: (writing.job, writing.output[:2]))
        counted = [writing for group in groups for writing in counting(group)]
        return [each for each in counted if each.job not in self.retired]

    # Earlier executions

    @property
    def has_earlier(self) -> bool:
        return self.window_us is not None

    def of_use(self) -> "Reference":
        """Return a reference for questions about use, which also counts earlier executions within the window."""
        other = self._with(self.current, self._recent(but=self._current()))
        other.current_readers = self.current_readers + self._recent(but=self.current_readers)
        accounts = [each for each in self.attempts.accounts if each.run and each.run.job_key not in self.retired]
        other.attempts = Attempts(self, accounts)
        return other

    def of_rows(self) -> "Reference":
        """Return a reference for questions about rows, which also counts earlier writes that no whole rewrite has
        replaced.
        """
        earlier = self._said_before(but=self._current())
        kept = [each for each, last_us in earlier if not self.is_replaced(replace(each, time_us=last_us))]
        return self._with(self.current, kept)

    def _recent(self, but: list[Writing]) -> list[Writing]:
        earlier = [each for each in self._said_before(but=but) if each[0].job not in self.retired]
        return [each for each, last_us in earlier if self.is_within_window(last_us)]

    def is_within_window(self, time_us: int) -> bool:
        if not self.window_us:
            return False
        return self.window_end_us is None or time_us >= self.window_end_us - self.window_us

    def is_replaced(self, writing: Writing) -> bool:
        return self.rows_until(writing.output, writing.time_us) is not None

    def rows_until(self, output: Dataset, written_us: int) -> int | None:
        """Return when rows were removed: by a whole rewrite, or by the dataset's retention."""
        rewrite, keeps_us = self.newest_rewrite(output), self.keeps_us.get(output[:2])
        ends = [rewrite[1]] if rewrite is not None and rewrite[0] > written_us else []
        if keeps_us is not None and self.newest_us is not None and written_us + keeps_us < self.newest_us:
            ends.append(written_us + keeps_us)
        return min(ends, default=None)

    def newest_rewrite(self, output: Dataset) -> tuple[int, int] | None:
        """Return the start and end of the whole rewrite of a generation that began last."""
        by_job: dict[tuple[str, str], list[tuple[int, int, str, Run]]] = defaultdict(list)
        for account in self.working:
            run = account.run
            if run is not None and self.write_kinds.replaces_all(account, output):
                by_job[run.job_key].append((run.first_us, run.time_us, run.key, run))
        newest = [max(runs, key=lambda each: each[:3])[3] for runs in by_job.values()]
        return max(((self._start_of_rewrite(run, output), run.time_us) for run in newest), default=None)

    def _start_of_rewrite(self, run: Run, output: Dataset) -> int:
        if not (is_statement(run) and is_of_one_instant(run)):
            return run.first_us
        halves = [
            each.time_us
            for each in self.observed
            if each.output == output and each.execution == run.execution and each.time_us <= run.time_us
            if any(part.startswith(OTHER_HALVES) for part in each.job[1].split("."))
        ]
        return max(halves, default=run.first_us)

    def _said_before(self, but: list[Writing]) -> list[tuple[Writing, int]]:
        """Return each distinct earlier report that differs from `but`, by its newest run, with its latest time."""
        told = {writing.content for writing in but}
        found: dict[object, tuple[Writing, int]] = {}
        every = sorted(self.observed, key=lambda each: (each.period_us, each.time_us, each.run))
        for writing in every if self.has_earlier else ():
            if not writing.says_nothing and writing.content not in told:
                last_us = max(writing.time_us, found.get(writing.content, (writing, 0))[1])
                found[writing.content] = writing, last_us
        return list(found.values())

    def _with(self, current: list[Writing], earlier: list[Writing]) -> "Reference":
        other = copy.copy(self)
        for name in ("column_edges", "table_edges"):
            other.__dict__.pop(name, None)
        other.current = current + earlier
        return other

    # Edges

    @cached_property
    def column_edges(self) -> set[ColumnEdge]:
        """The column edges as sent, before nesting is applied, including those of dropped generations."""
        return self.edges_of(self.current)

    def edges_of(self, writings: Iterable[Writing], *, copies: bool = False) -> set[ColumnEdge]:
        """Return the edges of writings. copies: only the edges that copy a column unchanged."""
        seen: dict[ColumnEdge, int] = {}
        for writing in writings:
            told = {(*each, "DIRECT", False) for each in writing.copies} if copies else writing.edges
            for source, column, output, kind, masked in told if copies else told | writing.selecting:
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
        """The generations that any run wrote, wrote from, or only read, including runs that did not complete."""
        return self.proven | self.attempts.mentioned

    @cached_property
    def proven(self) -> set[Dataset]:
        """The same generations without those that only incomplete runs mention."""
        every = self.observed + self.every_declared
        return self._counting.union(each for writing in every for each in (writing.output, *writing.reads))

    @cached_property
    def every_edge(self) -> set[ColumnEdge]:
        """The edges of all executions."""
        return self.edges_of(self.observed + self.every_declared)

    @cached_property
    def named_us(self) -> dict[Dataset, dict[str, int]]:
        """The time at which lineage of any run or declaration last named each column."""
        told = [(each, each.time_us) for each in self.observed]
        told += [(each, NEVER) for each in self.every_declared]
        for attempt in self.every_attempt.every:
            run = attempt.account.run
            if attempt.writing and run:
                told.append((attempt.writing, run.time_us or run.last_us))
        found: dict[Dataset, dict[str, int]] = defaultdict(dict)
        accounts = [(each, each.run.time_us if each.run else NEVER) for each in [*self.working, *self.declarations]]
        accounts += [(each, each.run.time_us or each.run.last_us) for each in self.every_attempt.accounts if each.run]
        for account, time_us in accounts:
            selecting = account.content.selecting if account.writings else set()
            for dataset, name in account.feeding_columns | selecting:
                key, named = self.schemas.key(dataset, name), found[dataset]
                named[key] = max(time_us, named.get(key, time_us))
        for writing, time_us in told:
            for source, column, _ in writing.whole:  # applies even if no column of the output is known
                key, named = self.schemas.key(source, column), found[source]
                named[key] = max(time_us, named.get(key, time_us))
            for source, column, output, *_ in writing.edges | writing.selecting:
                for dataset, name in ((source, column), (writing.output, output)):
                    key, named = self.schemas.key(dataset, name), found[dataset]
                    named[key] = max(time_us, named.get(key, time_us))
            for dataset, name in writing.mentions:
                key, named = self.schemas.key(dataset, name), found[dataset]
                named[key] = max(time_us, named.get(key, time_us))
        return found

    def all_columns(self, dataset: Dataset) -> set[str]:
        """Return the keys of the columns of a generation, or none if it has no schema."""
        if not self.schemas.columns(dataset):
            return set()
        base_us, before = self.schemas.base_us(dataset), self.moved_on(dataset, forward=False)
        told = [self.schemas.columns(dataset) | self.named_columns(dataset)]
        for each in before:
            everything = self.schemas.columns(each) | self.named_columns(each)
            told.append(everything if base_us is None else self.named_since(each, base_us))
        return {self.schemas.key(dataset, key) for keys in told for key in keys}

    def named_since(self, dataset: Dataset, since_us: int) -> set[str]:
        """Return the keys of the columns that lineage names after a time and after the generation's base list."""
        told = self.named_us.get(dataset, {})
        return {key for key in self.named_columns(dataset) if told[key] > since_us}

    def named_columns(self, dataset: Dataset) -> set[str]:
        """Return the keys of the columns that lineage names after the generation's base list."""
        base_us, told = self.schemas.base_us(dataset), self.named_us.get(dataset, {})
        return {key for key, us in told.items() if base_us is None or us > base_us}

    @cached_property
    def mentioned(self) -> set[Dataset]:
        """The generations that lineage mentions, even if a run only reads them."""
        return self._counting | self.attempts.mentioned

    @cached_property
    def _counting(self) -> set[Dataset]:
        counting = [*self.observed, *self.every_declared]
        found = {dataset for each in counting for dataset in (each.output, *each.inputs, *each.tables)}
        found |= {dataset for each in self.working if not each.writings for dataset in each.content.inputs}
        return found | {dataset for each in [*self.working, *self.declarations] for dataset in each.feeding}

    def moved_on(self, dataset: Dataset, *, forward: bool) -> set[Dataset]:
        """Return the generations to which the names of a generation moved later, or (backward) from which
        they moved.
        """
        found, front = set[Dataset](), {dataset} & self.mentioned
        while front:
            every = {each for one in front for each in self.generations.moved_on(one, forward=forward)}
            front = (every & self.mentioned) - found - {dataset}
            found |= front
        return found

    def nesting_with(self, nodes: Iterable[Node]) -> Nesting:
        """Return the existing columns with their nesting, including the given nodes."""
        named = [(*dataset, key) for dataset, keys in self.named_us.items() for key in keys]
        return Nesting(self.schemas, [*nodes, *named])

    @cached_property
    def nesting(self) -> Nesting:
        return self.nesting_with([])

    def shown(self, told: Mapping[Node, T], left_out: Iterable[Node]) -> dict[Column, T]:
        """Return the answer to a question. View `current` lists only existing datasets, with columns by name."""
        told = {node: hit for node, hit in told.items() if node not in left_out}
        if self.view == "all":
            return {node: hit for node, hit in told.items()}  # noqa: C416 - dict() would keep the type of its keys
        return {(*node[:2], node[3]): hit for node, hit in told.items() if not self.generations.is_dropped(node[:3])}

    def every_column(self, dataset: Dataset) -> set[Node]:
        """Return the existing columns, and None if no schema lists columns."""
        known: set[Node] = {(*dataset, column) for column in self.nesting.there.get(dataset, ())}
        return known if dataset in self.schemas.known else known | {(*dataset, None)}

    @property
    def dropped(self) -> set[Name]:
        """The datasets whose newest generation was dropped."""
        return {name for name in self.generations.ends if self.generations.is_dropped(self.generations.newest(name))}

    def node(self, dataset: Dataset, column: str) -> tuple[str, str, str, str]:
        return (*dataset, self.schemas.key(dataset, column))

    def _is_recent(self, seen_us: int) -> bool:
        return self.seen_since_us is None or seen_us >= self.seen_since_us


def _reads_as(account: Account) -> object:
    """Return the report of a run without output in a comparable form."""
    read = frozenset() if account.writings else frozenset(account.content.inputs)
    return read, frozenset(each for each in account.content.fed if not (each.is_own and account.writings))


def _newness(run: Run) -> tuple[int, str]:
    return run.time_us or run.last_us, run.key


def _with_facets(events: list[Delivered]) -> Delivered:
    """Merge DatasetEvents: return the newest event with the newest value of each facet."""
    facets = {name: value for name, (value, _) in merged((facets_of(e.event["dataset"]), e) for e in events).items()}
    newest = events[-1]
    return replace(newest, event={**newest.event, "dataset": {**newest.event["dataset"], "facets": facets}})


def meaningful(writings: Iterable[Writing], group_of: Callable[[Writing], Any]) -> list[list[Writing]]:
    """Group writings, and drop those without lineage from groups in which another writing has lineage."""
    groups = defaultdict(list)
    for writing in writings:
        groups[group_of(writing)].append(writing)
    return [[each for each in group if not each.says_nothing] or group for group in groups.values()]


def counting(group: list[Writing]) -> list[Writing]:
    """Return the writings of the current and the newest execution. Inferred lineage does not replace
    observed lineage.
    """
    carrying = [each for each in group if each.carries and not each.is_inferred]
    carrying = carrying or [each for each in group if each.carries] or group
    newest = [max(among, key=lambda each: (each.period_us, each.time_us, each.run)) for among in (carrying, group)]
    executions = {each.execution for each in newest}
    return [each for each in group if each.execution in executions]
