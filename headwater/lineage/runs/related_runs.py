"""Rule 4.7: what other runs report that can explain a run: those below it, and those of its execution."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from headwater.lineage.edges.current_candidates import Candidate, JobOutput
from headwater.lineage.edges.edge_sets import Reported
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import Run


class RelatedRunsInMemory:
    """Implements `edge_sets.RelatedRuns` for a list of all runs."""

    def __init__(self, runs: Iterable[Run], candidates: Mapping[JobOutput, Mapping[str, Candidate[OutputLineage]]]):
        """candidates: the derived lineage of all runs."""
        self._children: dict[str, list[str]] = defaultdict(list)
        self._executions: dict[str, list[str]] = defaultdict(list)
        self._reports: dict[str, list[OutputLineage]] = defaultdict(list)
        for run in runs:
            self._executions[run.execution].append(run.key)
            if run.parent is not None:
                self._children[run.parent].append(run.key)
        for of_job_output in candidates.values():
            for candidate in of_job_output.values():
                if candidate.carries:
                    self._reports[candidate.run_key].append(candidate.lineage)

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
        return reported(lineage for key in run_keys for lineage in self._reports.get(key, ()))


def reported(contents: Iterable[OutputLineage]) -> Reported:
    """Return the datasets that this column lineage covers, and the outputs that it leads to."""
    covered: set[Name] = set()
    carried: set[Name] = set()
    for lineage in contents:
        covered.update(lineage.named)
        if lineage.output is not None:
            carried.add(lineage.output)
    return Reported(frozenset(covered), frozenset(carried))
