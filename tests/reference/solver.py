"""Every answer straight from docs/lineage.md, worked out anew from the whole list of events."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property

from tests.reference.names import Name, Names, canonical_form
from tests.reference.records import Delivered, Run, job_key, runs_of, stored
from tests.reference.schemas import Schemas
from tests.reference.writings import Reader, Writing

Column = tuple[str, str, str | None]
ColumnEdge = tuple[str, str, str, str, str, str, str, bool]
TableEdge = tuple[str, str, str, str, bool]


class Reference:
    """Run states, edges, drops, schemas and tags; `questions.py` asks them."""

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
        self.names = Names(self.events, self.runs, canonical)
        self.resolve, self.mention = self.names.resolve, self.names.mention
        self.schemas = Schemas(self.events, self.names)
        self.reader = Reader(self.names, self.schemas)
        self.seen_since_us, self.view = seen_since_us, view
        self.run_states = {run.key: run.state for run in self.runs}
        self.executions = {run.key: run.execution for run in self.runs}
        self.job_keys = {run.key: run.job_key for run in self.runs}
        self.contents = {run.key: self.reader.content(run.telling) for run in self.runs if run.has_edges}
        self.noise = {key for key, content in self.contents.items() if self.reader.is_self_loop(content)}
        self.working = [run for run in self.runs if run.key in self.contents and run.key not in self.noise]
        self.observed = [writing for run in self.working for writing in self._observed(run)]
        self.declared = self._declared_by_jobs() + self._declared_by_datasets()
        self.current = self._current() + self.declared

    def _observed(self, run: Run) -> list[Writing]:
        made = self.reader.writings(self.contents[run.key], run.time_us)
        for writing in made:
            writing.job, writing.run, writing.execution = run.job_key, run.key, run.execution
        return made

    # Current, historic, declared

    def _current(self) -> list[Writing]:
        groups = defaultdict(list)
        for writing in self.observed:
            groups[writing.job, writing.output].append(writing)
        if self.view == "all":
            return self.observed
        return [each for group in groups.values() for each in newest_execution(group, carrying=True)]

    def _declared_by_jobs(self) -> list[Writing]:
        newest = {job_key(e.event["job"]): e for e in self.events if "job" in e.event and "run" not in e.event}
        contents = [(self.reader.content([event]), event.time_us) for event in newest.values()]
        return [
            writing
            for content, time_us in contents
            if not self.reader.is_self_loop(content)
            for writing in self.reader.writings(content, time_us)
        ]

    def _declared_by_datasets(self) -> list[Writing]:
        newest = {}
        for event in self.events:
            if "dataset" in event.event and (name := self.mention(event.event["dataset"], event)):
                newest[event.event["producer"], name] = event
        return [
            each
            for event in newest.values()
            for each in self.reader.writings(self.reader.content([event]), event.time_us)
        ]

    @cached_property
    def dropped(self) -> set[Name]:
        said = defaultdict(list)
        for run in self.working:
            if run.state == "COMPLETE":
                written = self.contents[run.key]
                for name in written.outputs.keys() | written.entries.keys():
                    facets = written.outputs.get(name, {})
                    change = facets.get("lifecycleStateChange", ({}, None))[0].get("lifecycleStateChange")
                    said[name].append((run.time_us, change != "DROP"))
        return {name for name, runs in said.items() if not max(runs)[1]}

    # Edges

    @cached_property
    def column_edges(self) -> set[ColumnEdge]:
        seen: dict[ColumnEdge, int] = {}
        for writing in self.current:
            for source, column, output, kind, masked in writing.edges:
                ends = (
                    *source,
                    self.schemas.key(source, column),
                    *writing.output,
                    self.schemas.key(writing.output, output),
                )
                edge = (*ends, kind, masked)
                if not {source, writing.output} & self.dropped:
                    seen[edge] = max(writing.time_us, seen.get(edge, writing.time_us))
        return {edge for edge, seen_us in seen.items() if self._is_recent(seen_us)}

    @cached_property
    def table_edges(self) -> set[TableEdge]:
        found = defaultdict(list)
        for writing in self.current:
            for source in writing.tables:
                if not {source, writing.output} & self.dropped:
                    found[source, writing.output].append(writing)
        return {
            (*source, *output, all(each.is_opaque for each in writings))
            for (source, output), writings in found.items()
            if self._is_recent(max(each.time_us for each in writings))
        }

    def _is_recent(self, seen_us: int) -> bool:
        return self.seen_since_us is None or seen_us >= self.seen_since_us


def newest_execution(group: list[Writing], *, carrying: bool) -> list[Writing]:
    """Return the writings of the newest execution; `carrying`: of the newest with column lineage, if any has it."""
    deciding = [each for each in group if carrying and not each.is_opaque] or group
    newest = max(deciding, key=lambda each: (each.time_us, each.run)).execution
    return [each for each in group if each.execution == newest]
