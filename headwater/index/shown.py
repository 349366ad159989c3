"""The columns of one answer: what recurs in it is built once, for 1,000 columns come from few jobs by few steps."""

from typing import Any

from headwater.index.moment import Moment
from headwater.index.showing import dataset_json, how_json, job_json
from headwater.lineage.columns import Columns
from headwater.lineage.walk import Hit


class Shown:
    """Shows the nodes of one moment's graph; keep it for one answer, because schemas change."""

    def __init__(self, moment: Moment):
        """Show nothing yet."""
        self._moment = moment
        self._graph = moment.graph
        self._schemas: dict[int, Columns] = {}
        self._nodes: dict[int, dict[str, Any]] = {}
        self._jobs: dict[int, dict[str, str]] = {}
        self._hows: dict[int, dict[str, Any]] = {}

    def hit(self, hit: Hit) -> dict[str, Any]:
        """Return a reached column: how far, from where, whether its dataset still has it."""
        dataset, key = self._graph.columns[hit.node]
        schema = self._schema(dataset)
        return {
            **self.node(hit.node),
            "distance": hit.distance,
            "masked": hit.masked,
            "via": self.via(hit),
            "in_schema": not schema.by_key or key in schema.by_key,
        }

    def node(self, node: int) -> dict[str, Any]:
        """Return the column of a node."""
        found = self._nodes.get(node)
        if found is None:
            dataset, key = self._graph.columns[node]
            shown = None if key is None else self._schema(dataset).shown(key)
            found = self._nodes[node] = {**dataset_json(self._graph.names[dataset]), "column": shown}
        return found

    def via(self, hit: Hit) -> dict[str, Any]:
        """Return how a hit was reached: from which column, by which job, by what transformation."""
        job = self._jobs.get(hit.edge_set)
        if job is None:
            job = self._jobs[hit.edge_set] = job_json(self._moment.job(self._graph.sets[hit.edge_set][0].job))
        how = self._hows.get(hit.how)
        if how is None:
            how = self._hows[hit.how] = how_json(self._graph.hows[hit.how])
        return {**self.node(hit.parent), "job": job, "transformation": how}

    def _schema(self, dataset: int) -> Columns:
        found = self._schemas.get(dataset)
        if found is None:
            found = self._schemas[dataset] = self._moment.columns(self._graph.names[dataset])
        return found
