"""What runs report that belong to a run: those below it in the chain of parents, those of its execution (rule 4)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from headwater.lineage.current import Group, Vote
from headwater.lineage.edges import Contribution
from headwater.lineage.name import Name
from headwater.lineage.outcome import Reported
from headwater.lineage.run import Run


class KinInMemory:
    """See `outcome.Kin`; made of all runs at once."""

    def __init__(self, runs: Iterable[Run], votes: Mapping[Group, Mapping[str, Vote[Contribution]]]):
        """Take every run, and what it says."""
        self._children: dict[str, list[str]] = defaultdict(list)
        self._executions: dict[str, list[str]] = defaultdict(list)
        self._reports: dict[str, list[Contribution]] = defaultdict(list)
        for run in runs:
            self._executions[run.execution].append(run.key)
            if run.parent is not None:
                self._children[run.parent].append(run.key)
        for of_group in votes.values():
            for vote in of_group.values():
                if vote.carries:
                    self._reports[vote.run_key].append(vote.said)

    def below(self, run_key: str) -> Reported:
        """Return what the runs below a run report."""
        found: dict[str, None] = {}
        todo = list(self._children.get(run_key, ()))
        while todo:
            key = todo.pop()
            if key not in found and key != run_key:
                found[key] = None
                todo += self._children.get(key, ())
        return self._reported(found)

    def beside(self, execution: str) -> Reported:
        """Return what the runs of an execution report."""
        return self._reported(self._executions.get(execution, ()))

    def _reported(self, run_keys: Iterable[str]) -> Reported:
        return reported(said for key in run_keys for said in self._reports.get(key, ()))


def reported(contents: Iterable[Contribution]) -> Reported:
    """Return what contributions with column lineage report together."""
    covered: set[Name] = set()
    carried: set[Name] = set()
    for said in contents:
        covered.update(said.named)
        if said.output is not None:
            carried.add(said.output)
    return Reported(frozenset(covered), frozenset(carried))
