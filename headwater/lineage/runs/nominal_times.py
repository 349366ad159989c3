"""Rule 6.1: find the nominal time of a run. A run without a nominal time has that of a parent or of its root run."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from headwater.lineage.runs.merged_run import newest_value, order_deciding_facts
from headwater.lineage.runs.run_facts import RunFacts


class RunAncestors:
    """The parent and the root run of each run, according to all stored events."""

    def __init__(self, facts_of: Callable[[str], Sequence[RunFacts]]):
        """facts_of: returns all facts of a run by its key, or an empty list for a run without events."""
        self._facts_of = facts_of
        self._parents_and_roots: dict[str, tuple[str | None, str | None]] = {}

    def clear_cache(self) -> None:
        """Clear the cache. Callers must do this after `facts_of` returns new facts."""
        self._parents_and_roots.clear()

    def with_ancestors(self, run_key: str) -> Iterator[str]:
        """Yield the keys of the run itself, of its parents from the nearest on, and then of its root run."""
        key: str | None = run_key
        seen: dict[str, None] = {}
        while key is not None and key not in seen:
            seen[key] = None
            yield key
            key = self._parent_and_root(key)[0]
        root = self._parent_and_root(run_key)[1]
        if root is not None and root not in seen:
            yield root

    def _parent_and_root(self, run_key: str) -> tuple[str | None, str | None]:
        if run_key not in self._parents_and_roots:
            facts = self._facts_of(run_key)
            ordered = order_deciding_facts(facts) if facts else []
            self._parents_and_roots[run_key] = newest_value(ordered, "parent"), newest_value(ordered, "execution")
        return self._parents_and_roots[run_key]


class NominalTimes:
    """Stores the nominal times and the children of runs in memory."""

    def __init__(self, facts_of: Callable[[str], Sequence[RunFacts]]):
        """facts_of: returns all facts of a run by its key, or an empty list for a run without events."""
        self._ancestors = RunAncestors(facts_of)
        self._times: dict[str, int] = {}
        self._children: dict[str, set[str]] = defaultdict(set)
        self._changed_runs: set[str] = set()

    def add_facts(self, facts: Sequence[RunFacts]) -> None:
        """Add new facts. The function `facts_of` must already return these facts."""
        self._ancestors.clear_cache()
        self._changed_runs.clear()
        for fact in facts:
            for above in (fact.parent, fact.execution):
                if above is not None:
                    self._children[above].add(fact.run_key)
        for run_key, time_us in latest_nominal_times(facts).items():
            if time_us > self._times.get(run_key, time_us - 1):
                self._times[run_key] = time_us
                self._changed_runs.add(run_key)
        if self._times:
            self._changed_runs.update(fact.run_key for fact in facts if fact.parent is not None)

    def nominal_time_us(self, run_key: str) -> int | None:
        """Return the nominal time (us) of a run, else of its nearest parent with one, else of its root run, or None."""
        if not self._times:
            return None
        return next((self._times[key] for key in self._ancestors.with_ancestors(run_key) if key in self._times), None)

    def runs_with_changed_period(self) -> set[str]:
        """Return the runs below each run that may have another nominal time or parent since the last `add_facts`."""
        return descendant_runs(
            self._changed_runs, lambda keys: (each for key in keys for each in self._children.get(key, ()))
        )


def latest_nominal_times(facts: Iterable[RunFacts]) -> Mapping[str, int]:
    """Return the latest nominal time (us) in the events of each run, by run key. Runs without one are missing."""
    found: dict[str, int] = {}
    for fact in facts:
        if fact.nominal_us is not None:
            found[fact.run_key] = max(fact.nominal_us, found.get(fact.run_key, fact.nominal_us))
    return found


def descendant_runs(keys: Iterable[str], children_of: Callable[[Iterable[str]], Iterable[str]]) -> set[str]:
    """Return the keys of all runs below some runs. children_of: returns the direct children of any of some runs."""
    found: set[str] = set()
    frontier = set(keys)
    while frontier:
        frontier = set(children_of(frontier)) - found
        found |= frontier
    return found
