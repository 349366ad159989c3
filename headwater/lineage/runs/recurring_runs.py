"""A cache for runs of a job that report the same again.

Its key is the content of the events of a run, in order. If each name in them always means one dataset, a cached run is
neither decoded nor merged nor derived again.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from headwater.lineage.edges.column_spellings import sent_spellings
from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.facet_contents import Contents
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.merged_run import Run, RunDataset
from headwater.lineage.runs.run_facts import NO_COLUMN_LINEAGE, TERMINAL, EventContent, RunFacts, attempts_of, end_of

_KEEP = 20_000
_EVENTS = 16
"""The maximum number of events of a cached run. A stream that sends a thousand updates never recurs."""


class RecurringCandidate(NamedTuple):
    """A `Candidate` without the fields that differ from run to run."""

    job_output: JobOutput
    weight: int
    rows_confirmed: bool
    rewrites: int
    said: OutputLineage


class RunShape(Struct, eq=False):
    """The result of deriving a run, shared by all runs whose events have the same content.

    run: the first of these runs, its datasets without versions; ended: index of its terminal event, -1 without one.
    """

    run: Run
    ended: int
    candidates: Sequence[RecurringCandidate]
    used: frozenset[Name]


class ContentTraits(Struct, eq=False):
    """The properties of an event that follow from its content alone.

    number: identifies the content; used: all names in it, those in lineage facets included; written: names of its
    outputs.
    links: it has symlinks; tagged: it has tags facets; changes: it may drop or rename; spellings: see `sent_spellings`.
    """

    number: int
    used: frozenset[Name]
    written: frozenset[Name]
    links: bool
    tagged: bool
    changes: bool
    spellings: frozenset[tuple[Name, str]]


class ShapeMemo:
    """Caches derived runs by the content of their events. `lookups` and `hits` count its use."""

    def __init__(self, contents: Contents, naming: NameResolver):
        self._contents = contents
        self._naming = naming
        self._known_contents: dict[EventContent, ContentTraits] = {}
        self._facets: BoundedCache[str, frozenset[Name]] = BoundedCache()
        self._shapes: dict[Hashable, RunShape] = {}
        self._users: dict[Name, set[Hashable]] = defaultdict(set)
        self._count = 0
        self.lookups = self.hits = 0

    def traits(self, fact: RunFacts) -> ContentTraits:
        """Return the properties of the content of an event."""
        found = self._known_contents.get(fact.content)
        if found is None:
            if len(self._known_contents) > _KEEP:
                self._known_contents.clear()
            self._count += 1
            found = self._known_contents[fact.content] = self._read(fact.content)
        return found

    def key(self, ordered: Sequence[RunFacts]) -> tuple[int, ...] | None:
        """Return the cache key of a run: the index of its terminal event, and the content of its events in order.

        The key is None for declarations, for runs of several attempts, and for runs of too many events.
        """
        if len(ordered) > _EVENTS or ordered[-1].kind != "RUN":
            return None
        ends = [fact for fact in ordered if fact.type in TERMINAL]
        if ends and len(attempts_of(ordered)) > 1:
            return None
        end = ends[0] if len(ends) == 1 else end_of(ends)
        return (_place(ordered, end), *[self.traits(fact).number for fact in ordered])

    def find(self, key: Hashable) -> RunShape | None:
        """Return the cached result for a key, None without one."""
        found = self._shapes.get(key)
        self.lookups += 1
        self.hits += found is not None
        return found

    def keep(
        self,
        key: tuple[int, ...] | None,
        facts: Sequence[RunFacts],
        run: Run,
        candidates: Sequence[RecurringCandidate],
        *,
        uses_schema_sources: bool,
    ) -> RunShape:
        """Return the result of deriving a run, and cache it if it can recur.

        It is not cached if its names mean different datasets at different times, if it takes columns from the schemas
        of other runs, if lines count by their time (`lineage` facets, replaced lineage), or if the run is not a batch
        run.
        """
        used = frozenset[Name]().union(*(self.traits(fact).used for fact in facts))
        plain = replace(run, inputs=_of_no_version(run.inputs), outputs=_of_no_version(run.outputs))
        shape = RunShape(plain, key[0] if key else -1, candidates, used)
        explicit = run.declared or any(dataset.declared or dataset.replaced for dataset in run.outputs.values())
        own = not explicit and not uses_schema_sources
        if key is not None and run.processing == "BATCH" and own and all(map(self._naming.is_constant, used)):
            self._remember(key, shape)
        return shape

    def _remember(self, key: Hashable, shape: RunShape) -> None:
        if len(self._shapes) > _KEEP:
            self._shapes.clear()
            self._users.clear()
        self._shapes[key] = shape
        for name in shape.used:
            self._users[name].add(key)

    def forget(self, names: Iterable[Name]) -> None:
        """Remove the runs that use these names, because the names or the columns of their datasets have changed."""
        for name in names:
            for key in self._users.pop(name, ()):
                self._shapes.pop(key, None)

    def _read(self, content: EventContent) -> ContentTraits:
        used: set[Name] = set()
        uses = (*content.inputs, *content.outputs)
        for use in uses:
            used.add(use.name)
            used |= self._in_facet(use.lineage) | self._in_facet(use.declared)
            if use.previous:
                used.add(use.previous)
        for _, content_hash in content.declared:
            used |= self._in_facet(content_hash)
        forms = dict(content.forms)
        used = {forms.get(name, name) for name in used} if forms else used
        links = any(use.symlinks for use in uses)
        tagged = any(use.tags is not None for use in uses)
        changes = any(use.lifecycle in ("DROP", "RENAME") for use in content.outputs)
        written = frozenset((*(use.name for use in content.outputs), *content.leads_to))
        spellings = frozenset(sent_spellings(content, self._contents.lineage))
        return ContentTraits(self._count, frozenset(used), written, links, tagged, changes, spellings)

    def _in_facet(self, content_hash: str | None) -> frozenset[Name]:
        """Return the names of datasets in a lineage facet."""
        if content_hash is None or content_hash in NO_COLUMN_LINEAGE:
            return frozenset()
        found = self._facets.get(content_hash)
        if found is None:
            lines = self._contents.lineage(content_hash)
            names = frozenset(name for line in lines for name in (line.source, line.target) if name)
            found = self._facets.keep(content_hash, names, len(names))
        return found


def _place(ordered: Sequence[RunFacts], fact: RunFacts | None) -> int:
    return next((place for place, each in enumerate(ordered) if each is fact), -1)


def _of_no_version(datasets: Mapping[Name, RunDataset]) -> dict[Name, RunDataset]:
    return {name: replace(dataset, version=None) for name, dataset in datasets.items()}
