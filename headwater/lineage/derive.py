"""Parts to edges, a batch at a time: what a new event changes is worked out anew, and nothing else."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple, Protocol

from headwater.lineage.contents import Contents
from headwater.lineage.current import CARRIES, OPAQUE, SILENT, Group, Vote
from headwater.lineage.edges import Contribution, EdgeRules
from headwater.lineage.generations import Span
from headwater.lineage.memo import ContributionMemo
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.part import NO_COLUMN_LINEAGE, Part
from headwater.lineage.run import Run, fold, sent_changes, sent_writes
from headwater.lineage.schemas import Schemas, SeenSchemas, seen_schemas

_KEEP = 20_000

Learn = Callable[[str, Sequence[Part]], Iterable[Span]]

Said = Mapping[Group, Vote[Contribution]]


class Derived(NamedTuple):
    """What follows from the parts of one run; used: names as sent, for datasets or in lineage facets."""

    run: Run
    said: Said
    used: set[Name]


class Store(SeenSchemas, Protocol):
    """Where parts and what follows from them are kept: in memory, or in a file that outlives the process."""

    def add(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Keep parts; returns those that are new."""

    def parts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[Part]]:
        """Return all parts of each of these runs."""

    def users(self, spans: Iterable[Span]) -> Iterable[str]:
        """Return the runs that use one of these names, as sent, for a dataset or in a lineage facet, at such a time.

        Those of which an event lies at each end of a span or between two events of which a span lies, and all
        that is declared.
        """

    def borrowers(self, dataset: Name) -> Iterable[str]:
        """Return the runs that took the columns of this output from another run's schema."""

    def put(self, derived: Sequence[Derived]) -> set[Group]:
        """Replace what these runs say, each of them once; returns the groups where that made a difference."""


class Derivation:
    """Keeps a store true to its parts, whatever order they come in."""

    def __init__(self, store: Store, contents: Contents, naming: Naming):
        """`naming` is what the store's parts have taught so far.

        looked_at: datasets that may have another newest schema since the last batch.
        """
        self.naming = naming
        self.looked_at: set[Name] = set()
        self.schemas = Schemas(contents, store, naming)
        self._store = store
        self._contents = contents
        self._rules = EdgeRules(contents, naming, self.schemas.key, self.schemas.at)
        self._memo = ContributionMemo(contents, naming)
        self._names: dict[str, frozenset[Name]] = {}

    def add(self, parts: Sequence[Part]) -> set[Group]:
        """Take a batch; returns the groups that changed."""
        fresh = self._store.add(parts)
        runs: dict[str, Sequence[Part]] = dict(self._store.parts({part.run_key for part in fresh}))
        bound = {span for part in fresh for span in self.naming.learn_bindings(part)}
        moved = self._spread(runs, self._learn_changes, bound) | self._spread(runs, self._learn_writes, set())
        runs |= self._store.parts(self._suspects(fresh, moved, runs.keys()) - runs.keys())
        return self._store.put([self._derive(parts_of_run) for parts_of_run in runs.values()])

    def _spread(self, runs: dict[str, Sequence[Part]], learn: Learn, moved: set[Span]) -> set[Span]:
        """Learn from runs until no name moves any more, and take in the runs that use these; returns all that moved."""
        every, todo = set(moved), list(runs)
        while todo or moved:
            moved = moved.union(*(learn(key, runs[key]) for key in todo))
            every |= moved
            more = self._store.parts(set(self._store.users(moved)) - runs.keys()) if moved else {}
            runs.update(more)
            todo, moved = list(more), set()
        return every

    def _learn_changes(self, run_key: str, parts: Sequence[Part]) -> list[Span]:
        return self.naming.set_changes(run_key, sent_changes(parts))

    def _learn_writes(self, run_key: str, parts: Sequence[Part]) -> list[Span]:
        tells = any(self.naming.moves(each.name) for part in parts for each in part.outputs)
        return self.naming.set_writes(run_key, sent_writes(parts) if tells else ())

    def _suspects(self, fresh: Sequence[Part], moved: Set[Span], runs: Set[str]) -> set[str]:
        """Take the schemas of new parts; returns runs whose columns they may change."""
        looked_at = self.looked_at = {dataset for span in moved for dataset in self.naming.datasets_in(span)}
        found: set[str] = set()
        if moved:
            self.schemas.forget({dataset for dataset in looked_at if dataset.generation in runs})
            found.update(key for dataset in looked_at for key in self._store.borrowers(dataset))
        for part in fresh:
            for name, seen in seen_schemas(part):
                dataset = self.naming.resolve(name, seen.time_us)
                found.update(self._store.borrowers(dataset))
                if self.schemas.see(name, seen):
                    looked_at.add(dataset)
        changed = self.schemas.settle(looked_at)
        if changed or moved:
            self._memo.clear()
        for dataset in changed:
            found.update(self._store.users(Span(name) for name in self.naming.names_of(dataset)))
        return found

    def _derive(self, parts: Sequence[Part]) -> Derived:
        run = fold(parts, self.naming)
        said = {group_of(run, found): vote_of(run, found) for found in self._memo.contributions(run, self._rules)}
        return Derived(run, said, self._used(parts))

    def _used(self, parts: Sequence[Part]) -> set[Name]:
        found: set[Name] = set()
        for part in parts:
            for mention in (*part.inputs, *part.outputs):
                found.add(mention.name)
                found |= self._sent(mention.lineage)
                found |= self._sent(mention.declared)
                if mention.previous:
                    found.add(mention.previous)
            for _, content_hash in part.declared:
                found |= self._sent(content_hash)
        return found

    def _sent(self, content_hash: str | None) -> frozenset[Name]:
        """Return the names in a lineage facet."""
        if content_hash is None or content_hash in NO_COLUMN_LINEAGE:
            return frozenset()
        found = self._names.get(content_hash)
        if found is None:
            lines = self._contents.lineage(content_hash)
            if len(self._names) > _KEEP:
                self._names.clear()
            found = frozenset(name for line in lines for name in (line.source, line.target) if name)
            self._names[content_hash] = found
        return found


def group_of(run: Run, found: Contribution) -> Group:
    """Return where a run's word counts: with its job, or in the layer of what is declared."""
    if run.kind == "RUN":
        return Group("observed", run.job_key, found.output)
    return Group("declared", run.job_key if run.kind == "JOB" else Name("", run.producer), found.output)


def vote_of(run: Run, found: Contribution) -> Vote[Contribution]:
    """Return a run's word in the group of one of its outputs."""
    written = run.outputs.get(found.output) if found.output else None
    rewrites = run.state == "COMPLETE" and written is not None and written.lifecycle in _REWRITES
    return Vote(
        run.time_us, run.newest, run.key, run.execution, run.started_us, run.last_us, weight_of(found), found.landed,
        rewrites,
        found,
    )  # fmt: skip


def weight_of(found: Contribution) -> int:
    """Return how much a run says of an output: see `current.Vote`."""
    return CARRIES if found.carries else OPAQUE if {*found.opaque, *found.tables} - {found.output} else SILENT


_REWRITES = ("OVERWRITE", "TRUNCATE", "CREATE")
