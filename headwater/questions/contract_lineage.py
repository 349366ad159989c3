"""Upstream lineage and exposure of columns for contracts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, partial

from headwater.common.errors import NotKnown
from headwater.index.reading.contract_history import ContractHistory
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_history import RunHistory
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.applied_rules import apply_masking_rules
from headwater.lineage.rules.user_rules import is_never_hidden
from headwater.lineage.snapshots.as_of import View
from headwater.lineage.traversal.frontier import Hit
from headwater.lineage.traversal.impact import walk_lineage
from headwater.lineage.traversal.masking_surface import SurfaceColumn
from headwater.questions.answer_types.common import Column, Job
from headwater.questions.answer_types.contracts import (
    ContractExposure,
    ContractSource,
    ContractWriter,
    EndedStep,
    RunReference,
)
from headwater.questions.contract_columns import NO_RUN, ColumnLink, StepChange, StepHistory, TagHistory, run_lookup
from headwater.questions.conversions import ColumnConverter, transformation_for_answer
from headwater.questions.neighbourhood import TableLinks
from headwater.questions.parameters import MAX_DEPTH
from headwater.questions.subjects import nodes_of
from headwater.questions.surface import FoundSurface, all_tags, find_surface

SOURCES = 500
"""Maximum number of upstream columns of one column in an answer."""

_ANCESTORS = 1_000
"""Maximum number of upstream tables from which tags are read."""

_Steps = Mapping[ColumnLink, Mapping[Transformation, Job]]


class ContractLineage:
    """Lineage of one moment for contracts. Create one for each answer, which may include several datasets."""

    def __init__(self, view: View, live: LiveGraph, until_us: int):
        """live: the caller locks it to one generation while this object is in use.

        until_us: runs after this time are ignored.
        """
        self._snapshot, self._counted, self._rules = view._replace(
            counted_edges=view.counted_edges.without_earlier_masks()
        )
        self._graph, self._live = view.snapshot.graph, live
        self._shown, runs, remask = (
            ColumnConverter(view.snapshot),
            RunHistory(live),
            partial(apply_masking_rules, view.rules),
        )
        self._ages = cache(lambda dataset: StepHistory(runs, dataset, until_us, remask))
        self._steps_into = cache(self._read_steps)
        self._surface = cache(self._find_surface)
        run_of = run_lookup(live)
        self._tag_ages = cache(
            lambda dataset: TagHistory(ContractHistory(live, dataset, until_us).tags_facets(), run_of)
        )
        self._links = TableLinks(view.snapshot, view.counted_edges, is_never_hidden)

    def source_columns(self, dataset: Name, key: str) -> tuple[list[ContractSource], bool]:
        """Return (upstream columns of a column, nearest first; whether the list is incomplete)."""
        starts = nodes_of(self._snapshot, self._counted, dataset, key)
        found = walk_lineage(
            self._graph, starts, self._counted, forward=False, mode="value", depth=MAX_DEPTH, limit=SOURCES
        )  # fmt: skip
        ways: dict[int, StepChange | None] = {}
        return [self._to_contract_source(hit, found.hits_by_node, ways) for hit in found.hits], found.truncated

    def influencing_columns(self, dataset: Name) -> list[ContractSource]:
        """Return the columns that filter, join, group or sort all rows of a dataset."""
        number = self._counted.lifetimes.newest_with_lineage(dataset)
        steps = self._steps_into(number) if number is not None else {}
        found = []
        for line, how in sorted(steps.items(), key=str):
            source, column, target = line
            if target is None:
                into = Column(*dataset.parts, None)
                changes = [change for each in how if (change := self._ages(dataset).since_change(line, each))]
                transformations = [transformation_for_answer(each) for each in sorted(how, key=str)]
                place = Column(*source.parts, self._snapshot.columns(source).displayed_spelling(column))
                found.append(
                    ContractSource(
                        place.namespace, place.dataset, place.column or column, 1, into, min(how.values(), key=str),
                        transformations, all(each.masking for each in transformations),
                        self._run_reference(max(changes, default=None)),
                    )
                )  # fmt: skip
        return found

    def ended_steps(self, dataset: Name) -> list[EndedStep]:
        """Return the steps into a dataset and its upstream datasets that no longer count, newest first."""
        every = [
            dataset,
            *(self._graph.names[number].without_generation for number in self._upstream_datasets(dataset)),
        ]
        ended = [(change, line, into) for into in every for line, change in self._ages(into).ended_steps()]
        return [
            EndedStep(
                Column(*line[0].parts, self._snapshot.columns(line[0]).displayed_spelling(line[1])),
                Column(
                    *into.parts, None if line[2] is None else self._snapshot.columns(into).displayed_spelling(line[2])
                ),
                self._run_reference(change),
            )
            for change, line, into in sorted(ended, key=lambda each: (-each[0].time_us, str(each)))
        ]

    def current_writers(self, dataset: Name) -> list[ContractWriter]:
        """Return the jobs that currently write a dataset."""
        number, found = self._counted.lifetimes.newest_with_lineage(dataset), dict[Name, bool]()
        for each in sorted(self._graph.writers_by_dataset.get(number, ())) if number is not None else ():
            output, lineage = self._graph.edge_sets[each]
            if output.has_job and self._counted.is_counted(each):
                ids = (self._graph.dataset_number(name) for name in lineage.source_datasets)
                hides = any(far is not None and self._graph.is_opaquely_written(each, far) for far in ids)
                hides = hides or bool(lineage.source_jobs and not lineage.has_column_lineage)
                found[output.job] = found.get(output.job, False) or hides
        ages, writers = self._ages(dataset).writers, list[ContractWriter]()
        for job, hides in sorted(found.items()):
            age = ages.get(job)
            opaque = (self._run_reference(age.opaque if age else None)) if hides else None
            writers.append(
                ContractWriter(self._to_answer_job(job), self._run_reference(age.first if age else None), opaque)
            )
        return writers

    def tags_of_sources(self, dataset: Name) -> list[str]:
        """Return the keys of tags with values that a dataset's columns may contain.

        These are the tags of the dataset and its upstream datasets. If a job is a source of one of these datasets, any
        value is possible, so all tags are returned.
        """
        ancestors = self._upstream_datasets(dataset)
        near = {dataset, *(self._graph.names[number].without_generation for number in ancestors)}
        if any(map(self._is_fed_by_a_job, (self._counted.lifetimes.newest_with_lineage(dataset), *ancestors))):
            near.update(self._tags_by_dataset)
        return sorted({key for name in near for key in self._tags_by_dataset.get(name, ())})

    def _is_fed_by_a_job(self, dataset: int | None) -> bool:
        fed_by = self._graph.writers_by_dataset.get(dataset, set()) if dataset is not None else set()
        return not self._graph.with_source_jobs.isdisjoint(fed_by)

    def exposures_by_column(self, dataset: Name, tags: Iterable[str]) -> dict[str, list[ContractExposure]]:
        """Return, for each column key, the tags with values that the column may contain.

        A tag of the column itself is omitted, because the facts of the column contain it separately.
        """
        starts, found = (
            self._counted.lifetimes.start_generations(dataset),
            defaultdict[str, list[ContractExposure]](list),
        )
        for tag in tags:
            surface = self._surface(tag)
            for each in surface.columns if surface else ():
                if each.dataset in starts and each.key is not None and not each.tagged and surface is not None:
                    since = self._run_that_exposed(each, surface, tag)
                    found[each.key].append(ContractExposure(tag, each.exposure, since))
        return found

    @cached_property
    def _tags_by_dataset(self) -> Mapping[Name, set[str]]:
        found = defaultdict[Name, set[str]](set)
        for dataset, _, (key, value) in all_tags(self._snapshot, self._rules):
            if value.casefold() != "false":
                found[dataset].add(key.casefold())
        return found

    def _find_surface(self, tag: str) -> FoundSurface | None:
        try:
            return find_surface(self._snapshot, self._rules, self._counted, tag=tag, source=None)
        except NotKnown:
            return None

    def _run_that_exposed(self, each: SurfaceColumn, surface: FoundSurface, tag: str) -> RunReference:
        """Return the run that brought tagged values to a column: its newest step, or the run that added the tag."""
        if each.hit is None:
            number = each.opaque
            if number is None:
                return NO_RUN
            output = self._graph.edge_sets[number][0]
            age = self._ages(self._graph.names[each.dataset].without_generation).writers.get(output.job)
            return self._run_reference(age.opaque if age else None)
        change, source = self._newest_change_from_tagged(each.hit, surface.hits_by_node)
        return max(self._run_reference(change), self._run_that_tagged(source, tag), key=lambda by: by.time or "")

    def _run_that_tagged(self, node: int, tag: str) -> RunReference:
        number, key = self._graph.columns[node]
        dataset = self._graph.names[number].without_generation
        columns = self._snapshot.shown_columns(dataset)
        found = [
            by
            for (column, put), by in self._tag_ages(dataset).active_tags()
            if put.casefold() == tag and (column is None or columns.key(column) == key)
        ]
        return min(found, key=lambda by: by.time or "", default=NO_RUN)

    def _newest_change_from_tagged(self, hit: Hit, hits_by_node: Mapping[int, Hit]) -> tuple[StepChange | None, int]:
        """Return (newest change on the path from a tagged column, node of the tagged column)."""
        newest, at, seen = None, hit, {hit.node}
        while True:
            newest = _newer_change(newest, self._newest_change_of_step(at.parent, at.node, at))
            before = hits_by_node.get(at.parent)
            if before is None or before.node in seen:
                return newest, at.parent
            seen.add(before.node)
            at = before

    def _to_contract_source(
        self, hit: Hit, hits_by_node: Mapping[int, Hit], ages: dict[int, StepChange | None]
    ) -> ContractSource:
        namespace, name, column = self._shown.names_of_node(hit.node)
        into = Column(*self._shown.names_of_node(hit.parent))
        via = self._shown.to_via(hit)
        how = self._steps_between(hit.node, hit.parent) or {self._graph.transformations[hit.transformation]: via.job}
        transformations = [transformation_for_answer(each) for each in sorted(how, key=str) if each.is_direct]
        since = self._run_reference(self._newest_change_to_target(hit, hits_by_node, ages))
        return ContractSource(
            namespace,
            name,
            column or "",
            hit.distance,
            into,
            via.job,
            transformations or [via.transformation],
            hit.masked,
            since,
        )

    def _newest_change_to_target(
        self, hit: Hit, hits_by_node: Mapping[int, Hit], ages: dict[int, StepChange | None]
    ) -> StepChange | None:
        """Return the newest change on the path from a source column to the target.

        ages: maps nodes to known results; updated by this method.
        """
        chain, at = [], hit
        while at.node not in ages:
            chain.append(at)
            before = hits_by_node.get(at.parent)
            if before is None:
                break
            at = before
        for each in reversed(chain):
            ages[each.node] = _newer_change(
                ages.get(each.parent), self._newest_change_of_step(each.node, each.parent, each)
            )
        return ages[hit.node]

    def _newest_change_of_step(self, source: int, target: int, hit: Hit) -> StepChange | None:
        """Return the newest change of a step, over all of its transformations."""
        number, key = self._graph.columns[target]
        into = self._graph.names[number].without_generation
        from_number, column = self._graph.columns[source]
        line = (self._graph.names[from_number].without_generation, column or "", key)
        how = [each for each in self._steps_between(source, target) if each.is_direct]
        changes = [
            self._ages(into).since_change(line, each)
            for each in how or [self._graph.transformations[hit.transformation]]
        ]
        return max((change for change in changes if change), default=None)

    def _steps_between(self, source: int, target: int) -> Mapping[Transformation, Job]:
        (far, column), (number, key) = self._graph.columns[source], self._graph.columns[target]
        return self._steps_into(number).get((self._graph.names[far].without_generation, column or "", key), {})

    def _read_steps(self, number: int) -> _Steps:
        """Return the column links that count and lead into a dataset, each with its transformations and their jobs."""
        found = defaultdict[ColumnLink, dict[Transformation, Job]](dict)
        for each in sorted(self._graph.writers_by_dataset.get(number, ())):
            if self._counted.live_mask[each]:
                output, lineage = self._graph.edge_sets[each]
                for edge in lineage.edges:
                    found[edge.source.without_generation, edge.column, edge.target][edge.transformation] = (
                        self._to_answer_job(output.job)
                    )
        return found

    def _upstream_datasets(self, dataset: Name) -> list[int]:
        start = self._counted.lifetimes.newest_with_lineage(dataset)
        found, todo = dict[int, None](), [start] if start is not None else []
        for number in todo:  # grows during the loop
            for each in self._links.neighbours(number, forward=False):
                if each not in found and each != start and len(found) < _ANCESTORS:
                    found[each] = None
                    todo.append(each)
        return [*found]

    def _to_answer_job(self, key: Name) -> Job:
        return Job(*self._snapshot.job_name(key).parts)

    def _run_reference(self, change: StepChange | None) -> RunReference:
        return change.to_answer(self._snapshot.job_name) if change else NO_RUN


def _newer_change(one: StepChange | None, other: StepChange | None) -> StepChange | None:
    return max((each for each in (one, other) if each), default=None)
