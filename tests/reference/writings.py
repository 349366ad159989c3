"""What one run, or one declared event, writes and from what (docs/lineage.md: edges of one run)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.reference.generations import Dataset, Generations
from tests.reference.records import Delivered, Facets, Run, facets_of, merged
from tests.reference.schemas import Schemas, schema_paths

Said = tuple[Delivered, Run | None]  # by which event of which run


@dataclass
class Content:
    """What the telling events of a run (or one declared event) say about datasets."""

    inputs: set[Dataset]
    outputs: dict[Dataset, dict[str, tuple[Facets, Delivered]]]
    entries: dict[Dataset, list[tuple[Facets, Delivered]]]

    @property
    def is_self_loop(self) -> bool:
        lineage = self.entries or any("columnLineage" in facets for facets in self.outputs.values())
        return not lineage and self.inputs == set(self.outputs)


@dataclass
class Writing:
    """One run, or declared event, writes one output: its edges, with column names as sent."""

    output: Dataset
    time_us: int
    job: tuple[str, str] = ("", "")
    run: str = ""
    execution: str = ""
    inputs: set[Dataset] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    tables: set[Dataset] = field(default_factory=set)
    edges: set[tuple[Dataset, str, str, str, bool]] = field(default_factory=set)
    whole: set[tuple[Dataset, str, bool]] = field(default_factory=set)
    bare: set[Dataset] = field(default_factory=set)
    """Sources that a `lineage` facet names without a column."""
    shows_steps: bool = False
    opaque: set[Dataset] = field(default_factory=set)
    """What it is opaquely written from, explained or not."""

    @property
    def column_sources(self) -> set[Dataset]:
        return {edge[0] for edge in self.edges} | {edge[0] for edge in self.whole}

    @property
    def carries(self) -> bool:
        return bool(self.edges or self.whole or self.named)

    @property
    def says_nothing(self) -> bool:
        """ALTER, TRUNCATE, VALUES."""
        return not self.carries and not (self.inputs | self.tables) - {self.output}


class Reader:
    """Reads datasets and edges out of events."""

    def __init__(self, generations: Generations, schemas: Schemas) -> None:
        self.generations, self.schemas = generations, schemas

    def content(self, events: Iterable[Delivered], run: Run | None) -> Content:
        """Return what a run says, or (without run) a declared event."""
        inputs: set[Dataset] = set()
        said: dict[Dataset, list[tuple[Facets, Delivered]]] = defaultdict(list)
        lineage: dict[tuple[str, Dataset | None], list[tuple[Facets, Delivered]]] = defaultdict(list)
        drops = False
        for event in events:
            inputs |= {dataset for each in event.datasets("inputs") if (dataset := self._source(each, event, run))}
            for each in event.datasets("outputs", "dataset"):
                drops = drops or self._is_dropped(each, event, run)
                if dataset := self._output(each, event, run):
                    said[dataset].append((facets_of(each), event))
                    add_lineage(lineage["output", dataset], facets_of(each), event)
            for entity in ("run", "job"):
                add_lineage(lineage[entity, None], event.facets(entity), event)
        outputs = {dataset: merged(each) for dataset, each in said.items()}
        entries = self._by_target(lineage, run)
        return Content(set() if drops and not outputs and not entries else inputs, outputs, entries)

    def writings(self, content: Content, time_us: int, run: Run | None) -> list[Writing]:
        outputs = content.outputs.keys() | content.entries.keys()
        made = [Writing(output, time_us, inputs=content.inputs) for output in outputs]
        for writing in made:
            facets = content.outputs.get(writing.output, {})
            if content.entries:
                self._read_entries(writing, content.entries.get(writing.output, []), run)
            elif "columnLineage" in facets:
                self._read_column_lineage(writing, *facets["columnLineage"], run)
            if not writing.carries:
                itself = {writing.output} & content.inputs
                writing.opaque = writing.bare | itself if content.entries else content.inputs
            if not content.entries and (len(outputs) == 1 or not writing.carries):
                writing.tables |= content.inputs
            writing.tables.discard(writing.output)
            writing.tables |= writing.column_sources
            self._spread(writing, facets)
        return made

    # Names

    def _source(self, named: Facets, event: Delivered, run: Run | None) -> Dataset | None:
        return self.generations.read(named, event, run) if run else self.generations.declared(named, event)

    def _output(self, named: Facets, event: Delivered, run: Run | None) -> Dataset | None:
        if not run:
            return self.generations.declared(named, event)
        return None if self._is_dropped(named, event, run) else self.generations.said(named, event, run)

    def _is_dropped(self, named: Facets, event: Delivered, run: Run | None) -> bool:
        name = self.generations.names.mention(named, event)
        return bool(run and name and self.generations.last_word(run, name) == "DROP")

    def _by_target(
        self, lineage: dict[tuple[str, Dataset | None], list[tuple[Facets, Delivered]]], run: Run | None
    ) -> dict[Dataset, list[tuple[Facets, Delivered]]]:
        targets = defaultdict(list)
        for (_, output), facets in lineage.items():
            for facet, event in facets:
                for entry in [facet] if output else facet["entries"]:
                    target = output or (self._output(entry, event, run) if entry["type"] == "DATASET" else None)
                    if target:
                        targets[target].append((entry, event))
        return dict(targets)

    # Edges

    def _read_column_lineage(self, writing: Writing, facet: Facets, event: Delivered, run: Run | None) -> None:
        for output, entry in (facet.get("fields") or {}).items():
            writing.named.add(output)
            old = [{"masking": entry.get("transformationType") == "MASKED"}]
            for source in entry.get("inputFields") or []:
                self._read_source(writing, source, output, old, (event, run))
        for source in facet.get("dataset") or []:
            self._read_source(writing, source, None, [{}], (event, run))

    def _read_entries(self, writing: Writing, entries: list[tuple[Facets, Delivered]], run: Run | None) -> None:
        for entry, event in entries:
            for output, told in (entry.get("fields") or {}).items():
                writing.named.add(output)
                for source in told["inputs"]:
                    self._read_source(writing, source, output, [{}], (event, run))
            for source in entry.get("inputs") or []:
                self._read_source(writing, source, None, [{}], (event, run))

    def _read_source(
        self, writing: Writing, source: Facets, output: str | None, without: list[Facets], said: Said
    ) -> None:
        dataset = self._source(source, *said) if source.get("type", "DATASET") == "DATASET" else None
        if not dataset:
            return
        writing.tables.add(dataset)
        if not source.get("field"):
            writing.bare.add(dataset)
            return
        writing.shows_steps = writing.shows_steps or bool(source.get("transformations"))
        for step in source.get("transformations") or without:
            masked = step.get("masking") is True
            if output is None:
                writing.whole.add((dataset, source["field"], masked))
            else:
                kind = "INDIRECT" if step.get("type") == "INDIRECT" else "DIRECT"
                writing.edges.add((dataset, source["field"], output, kind, masked))

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
