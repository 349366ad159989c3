"""What one run, or one declared event, writes and from what (docs/lineage.md: edges of one run)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.reference.names import Name, Names
from tests.reference.records import Delivered, Facets, facets_of, merged
from tests.reference.schemas import Schemas, schema_paths


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


class Reader:
    """Reads datasets and edges out of events."""

    def __init__(self, names: Names, schemas: Schemas) -> None:
        self.names, self.schemas = names, schemas

    def content(self, events: Iterable[Delivered]) -> Content:
        inputs: set[Name] = set()
        said: dict[Name, list[tuple[Facets, Delivered]]] = defaultdict(list)
        lineage: dict[tuple[str, Name | None], list[tuple[Facets, Delivered]]] = defaultdict(list)
        for event in events:
            inputs |= {name for each in event.datasets("inputs") if (name := self.names.mention(each, event))}
            for each in event.datasets("outputs", "dataset"):
                if name := self.names.mention(each, event):
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
                    target = output or (self.names.mention(entry, event) if entry["type"] == "DATASET" else None)
                    if target:
                        targets[target].append((entry, event))
        return dict(targets)

    def is_self_loop(self, content: Content) -> bool:
        lineage = content.entries or any("columnLineage" in facets for facets in content.outputs.values())
        return not lineage and content.inputs == set(content.outputs)

    def writings(self, content: Content, time_us: int) -> list[Writing]:
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
        name = self.names.mention(source, event) if source.get("type", "DATASET") == "DATASET" else None
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
            columns = self.schemas.at(writing.output, writing.time_us)
        for source, column, masked in writing.whole:
            writing.edges |= {(source, column, each, "INDIRECT", masked) for each in {*columns, *writing.named}}


def add_lineage(said: list[tuple[Facets, Delivered]], facets: Facets, event: Delivered) -> None:
    """Lineage facets add up; a deletion removes what was said before on the same entity."""
    facet = facets.get("lineage") or {}
    if facet.get("_deleted"):
        said.clear()
    elif merged([({"lineage": facet}, event)]):
        said.append((facet, event))
