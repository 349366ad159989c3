"""A store in memory: for a moment in the past, for two files side by side, for tests."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from headwater.lineage.current import Group, Vote
from headwater.lineage.edges import Contribution
from headwater.lineage.generations import Span
from headwater.lineage.name import Name
from headwater.lineage.part import Part
from headwater.lineage.run import Run
from headwater.lineage.run_derivation import Derived, Said
from headwater.lineage.schemas import SeenSchema


class MemoryStore:
    """Everything in dictionaries; see `derive.Store`."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.runs: dict[str, Run] = {}
        self.votes: dict[Group, dict[str, Vote[Contribution]]] = defaultdict(dict)
        self._parts: dict[str, dict[str, Part]] = defaultdict(dict)
        self._users: dict[Name, set[str]] = defaultdict(set)
        self._groups: dict[str, Said] = {}
        self._seen: dict[Name, list[SeenSchema]] = defaultdict(list)

    def add(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Keep parts; returns those that are new."""
        fresh = []
        for part in parts:
            known = self._parts[part.run_key]
            if part.event_id not in known:
                known[part.event_id] = part
                fresh.append(part)
        return fresh

    def parts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[Part]]:
        """Return all parts of each of these runs."""
        return {key: list(self._parts[key].values()) for key in run_keys}

    def users(self, spans: Iterable[Span]) -> Iterable[str]:
        """Return the runs that use one of these names at such a time, and what is declared."""
        return {key for span in spans for key in self._users.get(span.name, ()) if self._is_in(span, self.runs[key])}

    @staticmethod
    def _is_in(span: Span, run: Run) -> bool:
        return run.kind != "RUN" or (run.started_us <= span.until_us and run.last_us >= span.since_us)

    def borrowers(self, dataset: Name) -> Iterable[str]:
        """Return the runs that took the columns of this output from another run's schema."""
        return {
            key
            for key, said in self._groups.items()
            for group, vote in said.items()
            if vote.said.borrowed and dataset == group.output
        }

    def put(self, derived: Sequence[Derived]) -> set[Group]:
        """Replace what runs say; returns the groups where that made a difference."""
        return {group for one in derived for group in self._put(one)}

    def _put(self, derived: Derived) -> set[Group]:
        run, said, used, _ = derived
        before = self._groups.get(run.key, {})
        for group in before.keys() - said.keys():
            del self.votes[group][run.key]
        for group, vote in said.items():
            self.votes[group][run.key] = vote
        self.runs[run.key] = run
        self._groups[run.key] = said
        for name in used:
            self._users[name].add(run.key)
        return {group for group in before.keys() | said.keys() if before.get(group) != said.get(group)}

    def see(self, name: Name, mentions: Sequence[SeenSchema]) -> None:
        """Keep mentions of schemas."""
        history = self._seen[name]
        for seen in mentions:
            if history[bisect_left(history, seen) :][:1] != [seen]:
                insort(history, seen)

    def keep_whole(self, names: Iterable[Name]) -> None:
        """Do nothing: every mention is kept."""

    def newest_first(self, span: Span) -> Iterable[SeenSchema]:
        """Return the schemas mentioned under a name in a span of time, newest first."""
        every = reversed(self._seen.get(span.name, ()))
        return (seen for seen in every if span.since_us <= seen.time_us < span.until_us)
