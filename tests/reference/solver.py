"""Every answer straight from docs/lineage.md, worked out anew from the whole list of events."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.reference.names import Name, Names, is_noise, without_leading_slash
from tests.reference.records import Delivered, Facets, Run, facets_of, job_key, merged, runs_of, stored

Column = tuple[str, str, str | None]
ColumnEdge = tuple[str, str, str, str, str, str, str, bool]
TableEdge = tuple[str, str, str, str, bool]


@dataclass
class Content:
    """What the telling events of a run (or one declared event) say about datasets."""

    inputs: set[Name]
    outputs: dict[Name, dict[str, tuple[Facets, Delivered]]]
    entries: dict[Name, list[tuple[Facets, Delivered]]]


@dataclass
class Writing:
    """One run, or declared event, writes one output: its edges, with column names as sent."""

    output: Name
    time_us: int
    job: tuple[str, str] = ("", "")
    run: str = ""
    execution: str = ""
    inputs: set[Name] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    tables: set[Name] = field(default_factory=set)
    edges: set[tuple[Name, str, str, str, bool]] = field(default_factory=set)
    whole: set[tuple[Name, str, bool]] = field(default_factory=set)

    @property
    def column_sources(self) -> set[Name]:
        return {edge[0] for edge in self.edges} | {edge[0] for edge in self.whole}

    @property
    def is_opaque(self) -> bool:
        return not self.edges and not self.whole


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
        canonical: Callable[[str, str], Name] = without_leading_slash,
    ) -> None:
        self.events = sorted(stored(delivered, as_of_us, known_at_us), key=lambda event: event.plain_order)
        self.runs = runs_of(self.events)
        self.names = Names(self.events, self.runs, canonical)
        self.resolve = self.names.resolve
        self.seen_since_us, self.view = seen_since_us, view
        self.run_states = {run.key: run.state for run in self.runs}
        self.executions = {run.key: run.execution for run in self.runs}
        self.job_keys = {run.key: run.job_key for run in self.runs}
        self.contents = {run.key: self._content(run.telling) for run in self.runs if run.has_edges}
        self.noise = {key for key, content in self.contents.items() if self._is_self_loop(content)}
        self.working = [run for run in self.runs if run.key in self.contents and run.key not in self.noise]
        self.observed = [writing for run in self.working for writing in self._observed(run)]
        self.declared = self._declared_by_jobs() + self._declared_by_datasets()
        self.current = self._current() + self.declared

    # Columns and schemas

    @cached_property
    def schemas(self) -> dict[Name, list[tuple[int, list[tuple[str, ...]]]]]:
        """All schemas of a dataset, oldest first; in one event an output's comes after an input's."""
        known = defaultdict(list)
        for event in self.events:
            for dataset in event.datasets("inputs", "outputs", "dataset"):
                schema, name = facets_of(dataset).get("schema"), self.mention(dataset, event)
                if schema and not schema.get("_deleted") and name:
                    known[name].append((event.time_us, schema_paths(schema.get("fields") or [])))
        return dict(known)

    def schema_at(self, name: Name, time_us: int) -> list[str]:
        known = self.schemas.get(name, [])
        past = [paths for at, paths in known if at <= time_us]
        paths = past[-1] if past else known[0][1] if known else []
        return [".".join(path) for path in paths]

    def columns(self, name: Name) -> set[str]:
        """Return the keys of the columns of the newest schema, nested ones by path."""
        known = self.schemas.get(name, [])
        return {self.key(name, ".".join(path)) for path in known[-1][1]} if known else set()

    def key(self, name: Name, column: str) -> str:
        known = self.schemas.get(name, [])
        spellings = {".".join(path) for path in (known[-1][1] if known else [])}
        same = [each for each in spellings if each.casefold() == column.casefold()]
        return column if len(same) > 1 else column.casefold()

    def parents(self, name: Name, key: str) -> list[str]:
        known = self.schemas.get(name, [])
        if key in {self.key(name, path[0]) for path in (known[-1][1] if known else []) if len(path) == 1}:
            return []
        parts = key.split(".")
        return [".".join(parts[:length]) for length in range(1, len(parts))]

    def mention(self, named: dict[str, Any], event: Delivered) -> Name | None:
        """Return the dataset that an event means, None for noise."""
        if is_noise(self.names.canonical(named["namespace"], named["name"])):
            return None
        return self.resolve(named["namespace"], named["name"], event.time_us)

    # Edges of one run

    def _content(self, events: Iterable[Delivered]) -> Content:
        inputs: set[Name] = set()
        said: dict[Name, list[tuple[Facets, Delivered]]] = defaultdict(list)
        lineage: dict[tuple[str, Name | None], list[tuple[Facets, Delivered]]] = defaultdict(list)
        for event in events:
            inputs |= {name for each in event.datasets("inputs") if (name := self.mention(each, event))}
            for each in event.datasets("outputs", "dataset"):
                if name := self.mention(each, event):
                    said[name].append((facets_of(each), event))
                    add_lineage(lineage["output", name], facets_of(each), event)
            for entity in ("run", "job"):
                add_lineage(lineage[entity, None], event.facets(entity), event)
        return Content(inputs, {name: merged(each) for name, each in said.items()}, self._by_target(lineage))

    def _by_target(
        self, lineage: dict[tuple[str, Name | None], list[tuple[Facets, Delivered]]]
    ) -> dict[Name, list[tuple[Facets, Delivered]]]:
        targets = defaultdict(list)
        for (_, output), facets in lineage.items():
            for facet, event in facets:
                for entry in [facet] if output else facet["entries"]:
                    target = output or (self.mention(entry, event) if entry["type"] == "DATASET" else None)
                    if target:
                        targets[target].append((entry, event))
        return dict(targets)

    def _is_self_loop(self, content: Content) -> bool:
        lineage = content.entries or any("columnLineage" in facets for facets in content.outputs.values())
        return not lineage and content.inputs == set(content.outputs)

    def _observed(self, run: Run) -> list[Writing]:
        made = self._writings(self.contents[run.key], run.time_us)
        for writing in made:
            writing.job, writing.run, writing.execution = run.job_key, run.key, run.execution
        return made

    def _writings(self, content: Content, time_us: int) -> list[Writing]:
        outputs = content.outputs.keys() | content.entries.keys()
        made = [Writing(output, time_us, inputs=content.inputs) for output in outputs]
        for writing in made:
            facets = content.outputs.get(writing.output, {})
            if content.entries:
                self._read_entries(writing, content.entries.get(writing.output, []))
            elif "columnLineage" in facets:
                self._read_column_lineage(writing, *facets["columnLineage"])
            if not content.entries and (len(outputs) == 1 or writing.is_opaque):
                writing.tables |= content.inputs
            writing.tables.discard(writing.output)
            writing.tables |= writing.column_sources
            self._spread(writing, facets)
        return made

    def _read_column_lineage(self, writing: Writing, facet: Facets, event: Delivered) -> None:
        for output, entry in (facet.get("fields") or {}).items():
            writing.named.add(output)
            old = [{"masking": entry.get("transformationType") == "MASKED"}]
            for source in entry.get("inputFields") or []:
                self._read_source(writing, source, output, old, event)
        for source in facet.get("dataset") or []:
            self._read_source(writing, source, None, [{}], event)

    def _read_entries(self, writing: Writing, entries: list[tuple[Facets, Delivered]]) -> None:
        for entry, event in entries:
            for output, told in (entry.get("fields") or {}).items():
                writing.named.add(output)
                for source in told["inputs"]:
                    self._read_source(writing, source, output, [{}], event)
            for source in entry.get("inputs") or []:
                self._read_source(writing, source, None, [{}], event)

    def _read_source(
        self, writing: Writing, source: Facets, output: str | None, without: list[Facets], event: Delivered
    ) -> None:
        name = self.mention(source, event) if source.get("type", "DATASET") == "DATASET" else None
        if not name:
            return
        writing.tables.add(name)
        if not source.get("field"):
            return
        for step in source.get("transformations") or without:
            masked = step.get("masking") is True
            if output is None:
                writing.whole.add((name, source["field"], masked))
            else:
                kind = "INDIRECT" if step.get("type") == "INDIRECT" else "DIRECT"
                writing.edges.add((name, source["field"], output, kind, masked))

    def _spread(self, writing: Writing, facets: dict[str, tuple[Facets, Delivered]]) -> None:
        """Make edges to every column of those that concern the whole output."""
        if "schema" in facets:
            columns = [".".join(path) for path in schema_paths(facets["schema"][0].get("fields") or [])]
        else:
            columns = self.schema_at(writing.output, writing.time_us)
        for source, column, masked in writing.whole:
            writing.edges |= {(source, column, each, "INDIRECT", masked) for each in {*columns, *writing.named}}

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
        contents = [(self._content([event]), event.time_us) for event in newest.values()]
        return [
            writing
            for content, time_us in contents
            if not self._is_self_loop(content)
            for writing in self._writings(content, time_us)
        ]

    def _declared_by_datasets(self) -> list[Writing]:
        newest = {}
        for event in self.events:
            if "dataset" in event.event and (name := self.mention(event.event["dataset"], event)):
                newest[event.event["producer"], name] = event
        return [each for event in newest.values() for each in self._writings(self._content([event]), event.time_us)]

    @cached_property
    def dropped(self) -> set[Name]:
        said = defaultdict(list)
        for run in self.working:
            if run.state == "COMPLETE":
                for name, facets in self.contents[run.key].outputs.items():
                    change = facets.get("lifecycleStateChange", ({}, None))[0].get("lifecycleStateChange")
                    said[name].append((run.time_us, change != "DROP"))
        return {name for name, runs in said.items() if not max(runs)[1]}

    # Edges

    @cached_property
    def column_edges(self) -> set[ColumnEdge]:
        seen: dict[ColumnEdge, int] = {}
        for writing in self.current:
            for source, column, output, kind, masked in writing.edges:
                ends = (*source, self.key(source, column), *writing.output, self.key(writing.output, output))
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


def add_lineage(said: list[tuple[Facets, Delivered]], facets: Facets, event: Delivered) -> None:
    """Lineage facets add up; a deletion removes what was said before on the same entity."""
    facet = facets.get("lineage") or {}
    if facet.get("_deleted"):
        said.clear()
    elif merged([({"lineage": facet}, event)]):
        said.append((facet, event))


def schema_paths(fields: list[Facets], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    paths = []
    for each in fields:
        paths += [(*above, each["name"]), *schema_paths(each.get("fields") or [], (*above, each["name"]))]
    return paths
