"""Columns and transformations for answers."""

from collections.abc import Iterable, Set
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from headwater.events.times import iso_time
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.edges.output_lineage import edge_origin
from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.traversal.frontier import Hit
from headwater.questions.answer_types.common import Column, FormerLocation, Job, StepTransformation, Via
from headwater.questions.answer_types.lineage import ReachedColumn


def column_for_answer(snapshot: Snapshot, dataset: Name, key: str | None) -> Column:
    """Return a column with the spelling of the newest schema."""
    return Column(*dataset.parts, None if key is None else snapshot.columns(dataset).displayed_spelling(key))


def transformation_for_answer(transformation: Transformation) -> StepTransformation:
    """Return a transformation for an answer."""
    return StepTransformation(
        "DIRECT" if transformation.is_direct else "INDIRECT",
        transformation.subtype,
        transformation.is_masked,
        transformation.description,
    )


def former_location(naming: NameResolver, dataset: Name) -> FormerLocation | UnsetType:
    """Return the last name of a former location and when the name left.

    Returns UNSET if a name still means the location.
    """
    found = naming.moved_names.former_location(dataset.without_generation)
    return FormerLocation(*found.name.parts, iso_time(found.since_us) or "") if found else UNSET


class _DatasetForAnswer(NamedTuple):
    namespace: str
    name: str
    schema: Columns


class ColumnConverter:
    """Converts nodes of a graph for one answer. Create one for each answer, because schemas change."""

    def __init__(self, snapshot: Snapshot, presumed: Set[int] = frozenset()):
        """presumed: ids of the edge sets whose jobs are presumed retired. Their steps are marked."""
        self._snapshot = snapshot
        self._presumed = presumed
        self._graph = snapshot.graph
        self._datasets: dict[int, _DatasetForAnswer] = {}
        self._jobs: dict[int, Job] = {}
        self._transformations: dict[int, StepTransformation] = {}
        self._vias: dict[tuple[int, int, int], Via] = {}

    def to_reached_columns(self, hits: Iterable[Hit]) -> list[ReachedColumn]:
        """Return the reached columns with distance, last step, and whether their dataset still has them.

        A column has `read_before_recreation` if only readers of another generation of a dataset lead to it (rule 10).
        It has `last_seen` if only earlier executions reach it.
        """
        columns, vias, shown = self._graph.columns, self._vias, []
        for hit in hits:
            node, distance, masked, parent, transformation, edge_set, recreated, earlier, presumed = hit
            number, key = columns[node]
            namespace, name, schema = self._datasets.get(number) or self._dataset_for_answer(number)
            known = schema.by_key
            shown.append(
                ReachedColumn(
                    namespace,
                    name,
                    schema.displayed_spelling(key) if key is not None else None,
                    distance,
                    masked,
                    recreated,
                    vias.get((parent, transformation, edge_set)) or self.to_via(hit),
                    not known or key in known,
                    earlier,
                    iso_time(self._snapshot.report_times(edge_set).last_us) if earlier else None,
                    presumed or UNSET,
                )
            )
        return shown

    def to_via(self, hit: Hit) -> Via:
        """Return the step to a hit: source column, job and transformation."""
        job = self._jobs.get(hit.edge_set) or self._job_of_edge_set(hit.edge_set)
        transformation = self._transformations.get(hit.transformation) or self._transformation_by_number(
            hit.transformation
        )
        output, lineage = self._graph.edge_sets[hit.edge_set]
        presumed = True if hit.edge_set in self._presumed else UNSET
        shown = Via(*self.names_of_node(hit.parent), job, transformation, edge_origin(output, lineage), UNSET, presumed)
        if not lineage.doubtful_sources:
            self._vias[hit.parent, hit.transformation, hit.edge_set] = shown
            return shown
        ends = (self._graph.names[self._graph.columns[node].dataset] for node in (hit.parent, hit.node))
        if any(end in lineage.doubtful_sources for end in ends):  # in upstream walks, the reached end may be doubtful
            shown.doubtful = True
        return shown

    def names_of_node(self, node: int) -> tuple[str, str, str | None]:
        """Return namespace, dataset and column of a node."""
        number, key = self._graph.columns[node]
        namespace, name, schema = self._datasets.get(number) or self._dataset_for_answer(number)
        return namespace, name, None if key is None else schema.displayed_spelling(key)

    def _dataset_for_answer(self, number: int) -> _DatasetForAnswer:
        name = self._graph.names[number]
        found = self._datasets[number] = _DatasetForAnswer(*name.parts, self._snapshot.columns(name))
        return found

    def _job_of_edge_set(self, edge_set: int) -> Job:
        found = self._jobs[edge_set] = Job(*self._snapshot.job_name(self._graph.edge_sets[edge_set][0].job).parts)
        return found

    def _transformation_by_number(self, transformation: int) -> StepTransformation:
        found = self._transformations[transformation] = transformation_for_answer(
            self._graph.transformations[transformation]
        )
        return found
