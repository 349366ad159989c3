"""Derive lineage from a list of events, and return its answers as short plain tuples."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from headwater.common.errors import NotKnown
from headwater.lineage.edges.candidates import JobOutput
from headwater.lineage.edges.facet_contents import FacetContents, FacetContentsInMemory
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.tags import has_tag
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.derivation import Derivation
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.runs.memory_store import MemoryStore
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.lineage.snapshots.snapshot import Window
from headwater.lineage.traversal.clear_rows import WriteTimes
from headwater.lineage.traversal.column_verdicts import ColumnVerdict
from headwater.lineage.traversal.frontier import Hit
from headwater.lineage.traversal.impact import Mode, walk_lineage
from headwater.lineage.traversal.masking_surface import MaskingSurface, find_surface_with_rows
from headwater.questions.surface import find_surface
from headwater.questions.unused import dataset_verdicts
from tests.reference.nesting import ColumnEdge
from tests.reference.records import Delivered
from tests.reference.solver import Column, TableEdge
from tests.reference.world_events import deliver, event_id

Json = dict[str, Any]
RULES = UserRules()


def read_facts(delivered: Iterable[Delivered]) -> tuple[list[RunFacts], FacetContents]:
    """Read events as from bronze, with the default name rules."""
    contents = FacetContentsInMemory()
    reader = FactsReader(default_rules().canonical, contents)
    facts = [reader.read_event(each.event_id, each.received_us, json.dumps(each.event)) for each in delivered]
    return facts, contents


def short(name: Name) -> str:
    """Return `silver/orders` for a table of a lakehouse, else the name without its namespace."""
    return re.sub(r"(?s).*/(Tables|Files)/", "", name.name)


class LineageWorld:
    """The lineage of a list of events, as of now by default."""

    def __init__(
        self,
        delivered: Iterable[Delivered],
        *,
        as_of_us: int | None = None,
        known_at_us: int | None = None,
        window_us: int | None = None,
        rules: UserRules = RULES,
    ) -> None:
        """window_us: executions within this window before the newest one also count as use."""
        facts, contents = read_facts(delivered)
        self.parts = [
            fact
            for fact in facts
            if (as_of_us is None or fact.time_us <= as_of_us)
            and (known_at_us is None or fact.received_us <= known_at_us)
        ]
        self.scene = FactSnapshot(self.parts, contents, rules=rules)
        self.graph, self.counted = self.scene.graph, self.scene.counted_edges()
        if window_us is not None:
            self.counted = self.scene.counted_edges_with_earlier(Window(window_us, as_of_us))

    # Answers with full names, which tests compare with the reference

    @property
    def column_edges(self) -> set[ColumnEdge]:
        return {
            (
                *edge.source,
                edge.column,
                *output,
                target,
                "DIRECT" if edge.transformation.is_direct else "INDIRECT",
                edge.transformation.is_masked,
            )
            for _, lineage, output in self._lineage()
            for edge in lineage.edges
            for target in ([edge.target] if edge.target is not None else lineage.dataset_wide_targets)
        }

    @property
    def table_edges(self) -> set[TableEdge]:
        opaque: dict[tuple[Name, Name], bool] = {}
        words = (
            (lineage, lineage.output)
            for number, (_, lineage) in self.graph.edge_sets.items()
            if self.counted.is_counted(number)
        )
        for lineage, output in words:
            for source in lineage.source_datasets if output is not None else ():
                assert output is not None
                opaque[source, output] = opaque.get((source, output), True) and not lineage.has_column_lineage
        return {(*source, *output, alone) for (source, output), alone in opaque.items()}

    @property
    def run_states(self) -> dict[str, str]:
        return {key: run.state for key, run in self.scene.store.runs.items() if run.kind == "RUN"}

    def reached(
        self, column: Column, mode: Mode, *, forward: bool, depth: int = 10**6
    ) -> dict[Column, tuple[int, bool, bool]]:
        """Return (distance, masked, read before re-creation) of each column that a column reaches, or that
        reaches it.
        """
        return {
            self._column(hit.node): (hit.distance, hit.masked, hit.recreated)
            for hit in self.hits(column, mode, forward=forward, depth=depth)
        }

    def reached_earlier(self, column: Column, mode: Mode, *, forward: bool) -> set[Column]:
        """Return the columns that only earlier executions connect with a column."""
        return {self._column(hit.node) for hit in self.hits(column, mode, forward=forward) if hit.earlier}

    def hits(self, column: Column, mode: Mode, *, forward: bool, depth: int = 10**6) -> list[Hit]:
        """Return the columns that a column reaches, or that reach it."""
        counted = self.counted.with_earlier_uses() if forward else self.counted.with_earlier_writes()
        starts = self._starts(column)
        return walk_lineage(self.graph, starts, counted, forward=forward, mode=mode, depth=depth, limit=10**6).hits

    def knows(self, column: Column) -> bool:
        """Return whether an edge refers to the dataset of a column."""
        return self.counted.lifetimes.newest_generation(Name(*column[:2])) is not None

    def _starts(self, column: Column) -> set[int]:
        """Return the start nodes of a question about a column, including the nested columns."""
        numbers = self.counted.lifetimes.start_generations(Name(*column[:2]))
        assert numbers, f"{column} is not in the graph, which contains {self.graph.names}"
        return self.counted.nesting.add_nested_columns({self._node_in(number, column[2] or "") for number in numbers})

    def exposures(self, tagged: Iterable[Column]) -> dict[Column, str]:
        """Return the masking surface of tagged columns. A column None means a dataset whose columns are unknown."""
        found = self._surface(tagged)
        return {(*self.graph.names[each.dataset].parts, each.key): each.exposure for each in found.columns}

    def _surface(self, tagged: Iterable[Column]) -> MaskingSurface:
        every = [
            (number, each[2]) for each in tagged for number in self.counted.lifetimes.all_generations(Name(*each[:2]))
        ]
        names = self.graph.names
        named = [(n, own) for n, key in every for own in ([key] if key is not None else self.keys(names[n]))]
        whole = [number for number, key in every if key is None and not self.keys(names[number])]
        nodes = [self._node_in(*each) for each in named]
        nodes += [node for number, key in every if key is None for node in self.graph.nodes_of(number)]
        writes = WriteTimes(self.scene.report_times, self.scene.rows_until_us)
        return find_surface_with_rows(self.graph, nodes, whole, self.counted, writes)

    def verdicts(self, name: Name, *, strict: bool = False) -> dict[Column, str]:
        """Return whether each column of a dataset's newest schema is used."""
        return {(*name.parts, each.key): each.verdict for each in self.column_verdicts(name, strict=strict)}

    def column_verdicts(self, name: Name, *, strict: bool = False) -> list[ColumnVerdict]:
        """Return the verdicts of the columns of a dataset's newest schema, or none if the dataset was dropped."""
        return dataset_verdicts(self.scene, RULES, self.counted, name, strict=strict)

    def keys(self, name: Name) -> list[str]:
        """Return the keys of the columns of a dataset's newest schema, in schema order."""
        return list(self.scene.columns(name).by_key)

    # The same answers with short names

    @property
    def edges(self) -> set[tuple[str, str, str]]:
        """Return (from, to, transformation) of every column edge.

        transformation: direct, masked, indirect or indirect masked.
        """
        return {
            (
                self._told((*edge[:2], edge[3])),
                self._told((*edge[4:6], edge[7])),
                told_transformation(kind=edge[8], masked=edge[9]),
            )
            for edge in self.column_edges
        }

    @property
    def tables(self) -> set[tuple[str, str, str]]:
        """Return (from, to, `columns` or `opaque`) of every table edge."""
        return {
            (short(Name(*edge[:3])), short(Name(*edge[3:6])), "opaque" if edge[6] else "columns")
            for edge in self.table_edges
        }

    @property
    def states(self) -> list[str]:
        return sorted(self.run_states.values())

    @property
    def jobs(self) -> set[str]:
        return {run.job_key.name for run in self.scene.store.runs.values() if run.kind == "RUN"}

    @property
    def datasets(self) -> set[str]:
        """Return the datasets that runs read and write."""
        return {short(name) for run in self.scene.store.runs.values() for name in (*run.inputs, *run.outputs)}

    @property
    def dropped(self) -> set[str]:
        return {
            short(name) for name in self.scene.naming.generations.changed_locations() if not self.scene.exists(name)
        }

    @property
    def rows_confirmed(self) -> dict[str, bool]:
        """Return for each output whether a current event proves that rows were written."""
        found: dict[str, bool] = {}
        for _, lineage, output in self._lineage():
            found[short(output)] = found.get(short(output), False) or lineage.rows_confirmed
        return found

    def resolve(self, sent: tuple[str, str], time_us: int = 2**62) -> tuple[str, str]:
        """Return the dataset that a name in an event refers to at a time, by default now."""
        return self.scene.naming.resolve(default_rules().canonical(*sent), time_us).parts

    def impact(self, column: Column, mode: Mode = "value", *, depth: int = 10**6) -> dict[str, tuple[int, bool]]:
        found = self.reached(column, mode, forward=True, depth=depth)
        return {self._told(key): hit[:2] for key, hit in found.items()}

    def recreated(self, column: Column, mode: Mode = "value") -> set[str]:
        """Return the columns that are reached only through readers of a different generation."""
        return {self._told(key) for key, hit in self.reached(column, mode, forward=True).items() if hit[2]}

    def upstream(self, column: Column, mode: Mode = "value") -> dict[str, tuple[int, bool]]:
        return {self._told(key): hit[:2] for key, hit in self.reached(column, mode, forward=False).items()}

    def tagged(self, key: str) -> set[str]:
        """Return the columns (or datasets, as `dataset.None`) with a tag."""
        tags = ((name, tag) for name, found in self.scene.current_tags().items() for tag in found)
        return {self._told((*name.parts, tag.column)) for name, tag in tags if has_tag(tag.key, tag.value, key)}

    def of_all_times(self) -> "LineageWorld":
        """Include every execution ever from now on, as `view=all` does."""
        self.counted = self.scene.counted_edges().with_all_edge_sets()
        return self

    def behind_tag(self, key: str) -> tuple[dict[Column, str], dict[Column, int]]:
        """Return the masking surface of a tag, and the last time (us) at which masked columns were written in the
        clear.

        The tagged columns themselves are omitted.
        """
        return self._of_tag(key, tagged=False)

    def tagged_themselves(self, key: str) -> tuple[dict[Column, str], dict[Column, int]]:
        """Return the exposure of the tagged columns themselves, and the last time (us) at which masked ones
        were clear.
        """
        return self._of_tag(key, tagged=True)

    def _of_tag(self, key: str, *, tagged: bool) -> tuple[dict[Column, str], dict[Column, int]]:
        try:
            found = find_surface(self.scene, RULES, self.counted, tag=key, source=None)
        except NotKnown:
            return {}, {}
        found = found._replace(columns=[each for each in found.columns if each.tagged is tagged])
        named: dict[tuple[int, str | None], Column] = {
            (each.dataset, each.key): (*self.graph.names[each.dataset].parts, each.key) for each in found.columns
        }
        shown = {(each.dataset, each.key) for each in found.columns if each.exposure != "exposed"}
        until = {named[at]: time_us for at, time_us in found.last_clear_write_us.items() if at in shown}
        return {named[each.dataset, each.key]: each.exposure for each in found.columns}, until

    def via(self, column: Column, reached: str) -> str:
        """Return the column before a reached column on the displayed path."""
        starts = self._starts(column)
        hits = walk_lineage(self.graph, starts, self.counted, forward=True, mode="value", depth=100, limit=100).hits
        return next(
            self._told(self._column(hit.parent)) for hit in hits if self._told(self._column(hit.node)) == reached
        )

    def cut(self, column: Column, *, depth: int = 100, limit: int = 100) -> tuple[list[str], bool]:
        """Return the columns reached within the limits, in order, and whether there are more."""
        starts = self._starts(column)
        found = walk_lineage(self.graph, starts, self.counted, forward=True, mode="value", depth=depth, limit=limit)
        return [self._told(self._column(hit.node)) for hit in found.hits], found.truncated

    def surface(self, *tagged: Column) -> dict[str, str]:
        return {self._told(key): exposure for key, exposure in self.exposures(tagged).items()}

    def exposed_until(self, *tagged: Column) -> dict[str, int]:
        """Return the last time (us) at which masked columns were written in the clear."""
        found = self._surface(tagged)
        shown = {(each.dataset, each.key) for each in found.columns if each.exposure != "exposed"}
        return {
            self._told((*self.graph.names[at[0]].parts, at[1])): us
            for at, us in found.last_clear_write_us.items()
            if at in shown
        }

    def unused(self, name: tuple[str, str], *, strict: bool = False) -> dict[str, str]:
        return {str(key[2]): verdict for key, verdict in self.verdicts(Name(*name), strict=strict).items()}

    def reasons(self, name: tuple[str, str], *, strict: bool = False) -> dict[str, str]:
        return {each.key: each.reason for each in self.column_verdicts(Name(*name), strict=strict)}

    # Helpers

    def _lineage(self) -> Iterator[tuple[JobOutput, OutputLineage, Name]]:
        for number, (job_output, lineage) in self.graph.edge_sets.items():
            if self.counted.live_mask[number] and lineage.output is not None:
                yield job_output, lineage, lineage.output

    def _node_in(self, number: int, column: str) -> int:
        return self.graph.get_or_add_node(number, self.scene.columns(self.graph.names[number]).key(column))

    def _column(self, node: int) -> Column:
        dataset, key = self.graph.columns[node]
        return (*self.graph.names[dataset].parts, key)

    def _told(self, column: Column) -> str:
        return f"{short(Name(*column[:2]))}.{column[2]}"


def told_transformation(*, kind: str, masked: bool) -> str:
    if kind == "INDIRECT":
        return "indirect masked" if masked else "indirect"
    return "masked" if masked else "direct"


def world(*events: Json, as_of_us: int | None = None, known_at_us: int | None = None) -> LineageWorld:
    """Return the lineage of a few events, which are received one second apart."""
    return LineageWorld(deliver(events), as_of_us=as_of_us, known_at_us=known_at_us)


def recorded(events: Iterable[Json]) -> LineageWorld:
    """Return the lineage of recorded events, each received at its event time."""
    return LineageWorld(as_recorded(events))


def as_recorded(events: Iterable[Json]) -> list[Delivered]:
    return [Delivered(event, Delivered(event, 0, "").time_us, event_id(event)) for event in events]


def in_batches(batches: Iterable[list[RunFacts]], contents: FacetContents) -> tuple[Derivation, MemoryStore]:
    """Derive lineage batch by batch, as the index does."""
    store = MemoryStore()
    derivation = Derivation(store, contents, NameResolver())
    for batch in batches:
        derivation.add_facts(batch)
    return derivation, store
