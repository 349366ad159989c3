"""The graph that questions walk: columns are integers, and edges are entries in flat arrays.

An edge set contains the lineage that one or more runs of a job report about one dataset. Each edge belongs to an edge
set. The views of the graph (current, all, seen since) are masks over edge sets, so all views walk the same arrays. The
edges of one job between the same two columns share an entry, because the executions of a job usually report the same
edges. An entry takes 8 bytes in each direction.
"""

from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from headwater.lineage.edges.candidates import JobOutput
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.edges.output_lineage import AmbiguousName, OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.traversal.adjacency import Adjacency, EdgeGroup, EdgeGroups, number_pairs

_NO_TRANSFORMATION = Transformation(is_direct=False, is_masked=False, subtype=None, description=None)


class ColumnNode(NamedTuple):
    """A node of the graph: a column, or the hub that all dataset-wide edges of one edge set share.

    dataset: the number of the dataset; negative for a hub.
    key: the key of the column; None for a hub.
    """

    dataset: int
    key: str | None


class Graph:
    """Nodes, edges and edge sets. The other modules of this package answer questions about this data.

    Datasets, nodes, transformations and edge sets are represented by numbers. An attempt is an edge set of a run that
    did not complete.

    names: the datasets, indexed by dataset number.
    generations: maps names without generations to the dataset numbers of their generations.
    columns: the columns, indexed by node. `dataset_of` and `column_keys` contain the same data as flat, faster lists.
    datasets_with_nesting: the datasets with a column that may be nested in another column.
    transformations: the transformations, indexed by transformation number.
    outgoing, incoming: the edges from each node and the edges into each node; `edge_groups` stores their edge groups.
    edge_sets: maps edge sets to (job output, lineage).
    explained_inputs: maps edge sets to their opaque inputs that other runs cover, as in `edge_sets.EdgeSet`.
    accounted_inputs: maps edge sets to the explained inputs for which another run also shows the sources of the output.
    writers_by_dataset: maps datasets to the edge sets that write them; attempts are excluded.
    readers_by_dataset: maps datasets to the edge sets that read them; attempts are excluded.
    edge_sets_by_job: maps job keys to the edge sets of the job; attempts are excluded.
    mentions: maps edge sets that only mention a dataset to this dataset. An example is a DatasetEvent without lineage.
    mentions_by_dataset: maps datasets to the edge sets that only mention them.
    possibly_open: edge sets that may not report exactly which columns they read or how they use these columns.
    read_only: edge sets of runs that report neither an output nor a job as target.
    unsourced: edge sets of writers that report no input.
    job_feeds: edge sets that report that a dataset feeds a job, without an output (rule 4.13).
    declared_edge_sets: edge sets of JobEvents with column lineage.
    explained_by_job: maps edge sets to the inputs that the JobEvent in force of their job explains (rule 4.7).
    accounted_by_job: edge sets with unaccounted columns for which this JobEvent accounts.
    attempted: the attempts. Their edges are not part of the graph.
    attempts_by_source: maps datasets to the attempts that read them.
    attempts_by_output: maps datasets to the attempts that write them.
    naming_edge_sets: maps nodes to the edge sets that name the column without an edge in this graph.
    with_source_jobs: edge sets that name jobs as sources (rule 4.12).
    datasets_through_jobs: maps these edge sets to the datasets that their source jobs read; set by `set_source_jobs`.
    unfollowed_edge_sets: edge sets with a source job that reports no dataset in its newest executions; set by
    `set_source_jobs`.
    """

    def __init__(self) -> None:
        self.names: list[Name] = []
        self.columns: list[ColumnNode] = []
        self.dataset_of = array("i")
        self.column_keys: list[str] = []
        self.transformations: list[Transformation] = [_NO_TRANSFORMATION]
        self.edge_groups = EdgeGroups()
        self.outgoing = Adjacency(self.edge_groups)
        self.incoming = Adjacency(self.edge_groups)
        self.edge_sets: dict[int, tuple[JobOutput, OutputLineage]] = {}
        self.explained_inputs: dict[int, frozenset[Name]] = {}
        self.accounted_inputs: dict[int, frozenset[Name]] = {}
        self.writers_by_dataset: dict[int, set[int]] = {}
        self.readers_by_dataset: dict[int, set[int]] = {}
        self.edge_sets_by_job: dict[Name, set[int]] = {}
        self.mentions: dict[int, int] = {}
        self.mentions_by_dataset: dict[int, set[int]] = {}
        self.possibly_open: set[int] = set()
        self.read_only: set[int] = set()
        self.job_feeds: set[int] = set()
        self.unsourced: set[int] = set()
        self.declared_edge_sets: set[int] = set()
        self.explained_by_job: dict[int, tuple[Name, ...]] = {}
        self.accounted_by_job: set[int] = set()
        self.attempted: set[int] = set()
        self.attempts_by_source: dict[int, set[int]] = {}
        self.attempts_by_output: dict[int, set[int]] = {}
        self.generations: dict[Name, list[int]] = {}
        self.datasets_with_nesting: set[int] = set()
        self.naming_edge_sets: dict[int, set[int]] = {}
        self.with_source_jobs: set[int] = set()
        self.datasets_through_jobs: Mapping[int, frozenset[Name]] = {}
        self.unfollowed_edge_sets: frozenset[int] = frozenset()
        self._readers_through: dict[int, set[int]] = {}
        self._dataset_ids: dict[Name, int] = {}
        self._nodes: list[dict[str, int]] = []
        self._transformation_numbers: dict[Transformation, int] = {_NO_TRANSFORMATION: 0}
        self._hubs: dict[int, int] = {}
        self._unconnected: dict[tuple[int, Name], list[int]] = {}

    def dataset_number(self, name: Name) -> int | None:
        """Return the number of a dataset, None if no edge set has ever mentioned it."""
        return self._dataset_ids.get(name)

    def has_lineage_under(self, name: Name) -> bool:
        """Tell whether an edge set mentions any generation of a dataset; attempts are ignored."""
        return any(map(self.has_lineage, self.generations.get(name, ())))

    def is_mentioned_under(self, name: Name) -> bool:
        """Tell whether an edge set or an attempt mentions a dataset or names a column of the dataset."""
        every = self.generations.get(name, ())
        return any(map(self.is_used, every)) or any(self.nodes_of(each) for each in every)

    def is_used(self, dataset: int) -> bool:
        """Tell whether an edge set or an attempt mentions this generation of a dataset."""
        return self.has_lineage(dataset) or bool(
            self.attempts_by_source.get(dataset) or self.attempts_by_output.get(dataset)
        )

    def has_lineage(self, dataset: int) -> bool:
        """Tell whether an edge set mentions this generation of a dataset; attempts are ignored."""
        return bool(
            self.writers_by_dataset.get(dataset)
            or self.readers_by_dataset.get(dataset)
            or self.mentions_by_dataset.get(dataset)
        )

    def find_node(self, dataset: int, key: str) -> int | None:
        """Return the node of a column, None if the graph has no node for the column yet."""
        return self._nodes[dataset].get(key)

    def get_or_add_node(self, dataset: int, key: str) -> int:
        """Return the node of a column. A missing node is created, for example for a tagged column without an edge."""
        return self._node(dataset, key)

    def nodes_of(self, dataset: int) -> Collection[int]:
        """Return the nodes of the columns of a dataset that lineage names; nodes created for questions are excluded."""
        return [node for node in self._nodes[dataset].values() if self.is_in_lineage(node)]

    def is_in_lineage(self, node: int) -> bool:
        """Tell whether lineage names a column."""
        return bool(self.outgoing.get(node) or self.incoming.get(node) or self.naming_edge_sets.get(node))

    def is_opaque(self, number: int, source: int) -> bool:
        """Tell whether an edge set may read any column of `source` (rules 4.5, 4.10 and 4.12)."""
        name = self.names[source]
        if self._is_through(number, name):
            return True
        if self._is_explained(number, name):
            return False
        return name in self.edge_sets[number][1].opaque_inputs or any(True for _ in self._doubts_about(number, name))

    def columns_that_may_mean(self, number: int, source: int) -> set[str]:
        """Return the keys of the columns that an edge set fills from an ambiguous name that may refer to `source`.

        Rule 4.10 defines ambiguous names.
        """
        name = self.names[source]
        if self.is_accounted(number, name):
            return set()
        lineage = self.edge_sets[number][1]
        return {key for doubt in self._doubts_about(number, name) for key in lineage.direct_targets_of(doubt.source)}

    def ambiguous_names(self, number: int) -> list[AmbiguousName]:
        """Return the ambiguous names of an edge set, except names that other lineage uses for datasets (rule 4.10d)."""
        ambiguous_names = self.edge_sets[number][1].ambiguous_names
        return [
            doubt
            for doubt in ambiguous_names
            if doubt.separate_dataset is None or not self._is_known(doubt.separate_dataset)
        ]

    def _doubts_about(self, number: int, name: Name) -> Iterator[AmbiguousName]:
        return (doubt for doubt in self.ambiguous_names(number) if name in doubt.possible_inputs)

    def _is_known(self, dataset: Name) -> bool:
        """Tell whether an edge set writes a dataset, lists it as an input, or mentions it in a DatasetEvent."""
        for each in self.generations.get(dataset.without_generation, ()):
            if self.writers_by_dataset.get(each) or self.mentions_by_dataset.get(each):
                return True
            for number in self.readers_by_dataset.get(each, ()):
                ambiguous_names = self.edge_sets[number][1].ambiguous_names
                if all(
                    doubt.separate_dataset is None
                    or doubt.separate_dataset.without_generation != dataset.without_generation
                    for doubt in ambiguous_names
                ):
                    return True
        return False

    def is_opaquely_written(self, number: int, source: int) -> bool:
        """Tell whether any column of an edge set's output may contain any column of `source` (rule 4.6)."""
        lineage, name = self.edge_sets[number][1], self.names[source]
        if not lineage.has_column_lineage and self._is_through(number, name):
            return True
        writes = name in lineage.source_datasets or (name == lineage.output and name in lineage.opaque_inputs)
        return not lineage.has_column_lineage and writes and not self.is_accounted(number, name)

    def may_use_unaccounted(self, number: int, source: int) -> bool:
        """Tell whether unaccounted columns of an edge set may use any column of `source` (rules 4.9 and 9.2)."""
        return self._may_use_unaccounted(number, source, self._is_explained)

    def may_fill_unaccounted(self, number: int, source: int) -> bool:
        """Tell whether unaccounted columns of an edge set may contain any column of `source` (rules 4.9 and 8.2)."""
        return self._may_use_unaccounted(number, source, self.is_accounted)

    def is_accounted(self, number: int, name: Name) -> bool:
        """Tell whether other runs or a declaration show which values of a dataset an edge set's output contains."""
        return name in self.accounted_inputs[number] or name in self.explained_by_job.get(number, ())

    def _is_explained(self, number: int, name: Name) -> bool:
        return name in self.explained_inputs[number] or name in self.explained_by_job.get(number, ())

    def _may_use_unaccounted(self, number: int, source: int, is_explained: Callable[[int, Name], bool]) -> bool:
        lineage, name = self.edge_sets[number][1], self.names[source]
        if not lineage.unaccounted_columns or number in self.accounted_by_job:
            return False
        if self._is_through(number, name):
            return True
        return (name in lineage.source_datasets or name in lineage.other_inputs) and not is_explained(number, name)

    def set_source_jobs(self, through: Mapping[int, frozenset[Name]], unfollowed: frozenset[int]) -> None:
        """Set `datasets_through_jobs` and `unfollowed_edge_sets` of edge sets with source jobs (rule 4.12)."""
        self.datasets_through_jobs, self.unfollowed_edge_sets = through, unfollowed
        self._readers_through = {}
        for number, names in through.items():
            for name in names:
                self._readers_through.setdefault(self._dataset_id(name), set()).add(number)

    def edge_sets_reading(self, dataset: int) -> Set[int]:
        """Return the edge sets that read a dataset, directly or through a job."""
        found, through = self.readers_by_dataset.get(dataset, set()), self._readers_through.get(dataset)
        return found | (through - self.attempted) if through else found

    def attempts_reading(self, dataset: int) -> Set[int]:
        """Return the attempts that read a dataset, directly or through a job."""
        found, through = self.attempts_by_source.get(dataset, set()), self._readers_through.get(dataset)
        return found | (through & self.attempted) if through else found

    def may_write_anything(self, number: int) -> bool:
        """Tell whether an edge set in `unfollowed_edge_sets` may write any value into columns of its output."""
        lineage = self.edge_sets[number][1]
        return not lineage.has_column_lineage or (
            bool(lineage.unaccounted_columns) and number not in self.accounted_by_job
        )

    def _is_through(self, number: int, name: Name) -> bool:
        """Tell whether a source job of an edge set reads a dataset that no declaration explains."""
        return name in self.datasets_through_jobs.get(number, ()) and name not in self.explained_by_job.get(number, ())

    def attempt_may_use(self, number: int, source: int) -> bool:
        """Tell whether an attempt that reads `source` may have used any column of `source`."""
        return self._leaves_attempt_open(number, self.names[source], self.explained_inputs[number])

    def attempt_may_have_written(self, number: int, source: int) -> bool:
        """Tell whether an attempt that reads `source` may have written any column of `source` to its output."""
        return self._leaves_attempt_open(number, self.names[source], self.accounted_inputs[number])

    def feeds_a_job(self, number: int, source: int) -> bool:
        """Tell whether an edge set without an output reports that `source` feeds a job, directly or through a job."""
        lineage, name = self.edge_sets[number][1], self.names[source]
        return bool(lineage.job_feeds) and (
            name in lineage.opaque_inputs or name in self.datasets_through_jobs.get(number, ())
        )

    def _leaves_attempt_open(self, number: int, name: Name, ambiguous_names: Set[Name]) -> bool:
        return name not in ambiguous_names or name in self.datasets_through_jobs.get(number, ())

    def proven_attempts(self, counts: Callable[[int], bool]) -> set[int]:
        """Return the attempts for which a counted edge set of the same job and output reports the same (rule 6.10).

        counts: returns whether the edge set with a number counts.
        """
        return {number for number in self.attempted if self._is_proven(number, counts)}

    def _is_proven(self, number: int, counts: Callable[[int], bool]) -> bool:
        job_output, lineage = self.edge_sets[number]
        return any(
            self.edge_sets[other][0] == job_output._replace(layer="observed")
            and counts(other)
            and self.explained_inputs[other] <= self.explained_inputs[number]
            and self.accounted_inputs[other] <= self.accounted_inputs[number]
            and self.edge_sets[other][1].proof_key == lineage.proof_key
            for other in self.edge_sets_by_job.get(job_output.job, ())
        )

    def _put_attempt(self, number: int, lineage: OutputLineage) -> None:
        self.attempted.add(number)
        for place, datasets in self._attempt_indexes(lineage):
            for dataset in datasets:
                place.setdefault(dataset, set()).add(number)
        self._add_names(number, lineage)

    def put(
        self,
        number: int,
        job_output: JobOutput,
        lineage: OutputLineage,
        explained: frozenset[Name] = frozenset(),
        accounted: frozenset[Name] = frozenset(),
        *,
        later: bool = False,
    ) -> None:
        """Add an edge set.

        number: the number of the edge set. Small numbers save memory, because masks are as long as the largest number.
        explained: the opaque inputs that other runs cover.
        accounted: the explained inputs for which another run also shows the sources of the output.
        later: whether to leave the edges to the next call of `connect`, which is cheaper for many edge sets.
        """
        if lineage.output is not None and not job_output.has_job and not lineage.has_sources:
            self.mentions[number] = self._dataset_id(lineage.output)
            self.mentions_by_dataset.setdefault(self.mentions[number], set()).add(number)
            return
        self.edge_sets[number] = (job_output, lineage)
        self.explained_inputs[number], self.accounted_inputs[number] = explained, accounted
        if lineage.source_jobs:
            self.with_source_jobs.add(number)
        if lineage.attempt_state:
            self._put_attempt(number, lineage)
            return
        self.edge_sets_by_job.setdefault(job_output.job, set()).add(number)
        if job_output.layer == "declared" and job_output.has_job and lineage.has_column_lineage:
            self.declared_edge_sets.add(number)
        if lineage.has_hidden_inputs or lineage.source_jobs or not lineage.has_column_lineage:
            self.possibly_open.add(number)
        if lineage.output is None:
            output = None
            (self.job_feeds if lineage.job_feeds else self.read_only).add(number)
        else:
            if not (
                lineage.has_column_lineage or lineage.source_datasets or lineage.other_inputs or lineage.opaque_inputs
            ):
                self.unsourced.add(number)
            output = self._dataset_id(lineage.output)
            self.writers_by_dataset.setdefault(output, set()).add(number)
        for name in (*lineage.source_datasets, *lineage.other_inputs):
            self.readers_by_dataset.setdefault(self._dataset_id(name), set()).add(number)
        if output is not None:
            self._unconnected.setdefault((output, job_output.job), []).append(number)
            if not later:
                self.connect()
        self._add_names(number, lineage)

    def connect(self) -> None:
        """Add the edges of the edge sets that `put` added with `later`."""
        unconnected, self._unconnected = self._unconnected, {}
        for (output, job), numbers in unconnected.items():
            if self.writers_by_dataset[output].intersection(self.edge_sets_by_job[job]).issubset(numbers):
                self._add_new_edges(output, numbers)
            else:
                self._merge_edges(output, numbers)

    def _add_new_edges(self, output: int, numbers: Sequence[int]) -> None:
        """Add the edges of all edge sets of a job and output, if none of these edge sets has edges yet."""
        out, into, groups = self.outgoing, self.incoming, self.edge_groups
        if len(numbers) > 1:
            for (source, target), edges in self._groups_by_ends(output, numbers).items():
                group = groups.add_use(edges)
                out.add(source, target, group)
                into.add(target, source, group)
            return
        known: dict[int, int] = {}
        for source, target, transformation in self._edges(numbers[0], output, self.edge_sets[numbers[0]][1]):
            group = known.get(transformation, -1)
            if group < 0:
                group = known[transformation] = groups.add_use((transformation, numbers[0]))
            else:
                groups.add_use_of(group)
            out.add(source, target, group)
            into.add(target, source, group)

    def _merge_edges(self, output: int, numbers: Sequence[int]) -> None:
        """Add the edges of edge sets to the existing edges of the same job and output."""
        by_ends = self._groups_by_ends(output, numbers)
        onward = {source: self.outgoing.group_positions(source) for source, _ in by_ends}
        back = {target: self.incoming.group_positions(target) for _, target in by_ends}
        for (source, target), edges in by_ends.items():
            place = onward[source].get(target)
            if place is None:
                group = self.edge_groups.add_use(edges)
                self.outgoing.add(source, target, group)
                self.incoming.add(target, source, group)
                continue
            before = self.outgoing[source][place]
            group = self.edge_groups.add_use(self.edge_groups.edges[before] + edges)
            self.outgoing[source][place] = self.incoming[target][back[target][source]] = group
            self.edge_groups.remove_use(before)

    def _groups_by_ends(self, output: int, numbers: Sequence[int]) -> dict[tuple[int, int], EdgeGroup]:
        """Group the edges of edge sets by (source, target)."""
        found: dict[tuple[int, int], list[int]] = {}
        for number in numbers:
            for source, target, transformation in self._edges(number, output, self.edge_sets[number][1]):
                found.setdefault((source, target), []).extend((transformation, number))
        return {ends: tuple(edges) for ends, edges in found.items()}

    def _disconnect(self, output: int, number: int, lineage: OutputLineage) -> None:
        """Remove the edges of an edge set."""
        ends = [(source, target) for source, target, _ in self._edges(number, output, lineage)]
        sources, targets = {source for source, _ in ends}, {target for _, target in ends}
        used = list(self.outgoing.group_numbers(sources))
        affected_groups = {group for group in set(used) if number in self.edge_groups.edges[group][1::2]}
        before = [group for group in used if group in affected_groups]
        left: dict[int, int | None] = {}
        for group in before:
            edges = tuple(
                part for edge in number_pairs(self.edge_groups.edges[group]) if edge[1] != number for part in edge
            )
            left[group] = self.edge_groups.add_use(edges) if edges else None
        self.outgoing.replace_groups(sources, left)
        self.incoming.replace_groups(targets, left)
        for group in before:
            self.edge_groups.remove_use(group)

    def _add_names(self, number: int, lineage: OutputLineage) -> None:
        for node in self._named_nodes(lineage):
            self.naming_edge_sets.setdefault(node, set()).add(number)

    def _named_nodes(self, lineage: OutputLineage) -> Iterator[int]:
        for mention in lineage.column_mentions:
            dataset = self._dataset_id(mention.dataset)
            yield from (self._node(dataset, key) for key in mention.columns)
        if lineage.attempt_state and lineage.output is not None:  # the edges of an attempt only name columns
            output = self._dataset_id(lineage.output)
            for edge in lineage.edges:
                yield self._node(self._dataset_id(edge.source), edge.column)
                targets = (edge.target,) if edge.target is not None else lineage.dataset_wide_targets
                yield from (self._node(output, key) for key in targets)

    def remove(self, number: int) -> None:
        """Remove an edge set; an unknown number has no effect."""
        if number in self.mentions:
            self.mentions_by_dataset[self.mentions.pop(number)].discard(number)
        if number not in self.edge_sets:
            return
        self.connect()
        job_output, lineage = self.edge_sets.pop(number)
        self.with_source_jobs.discard(number)
        if lineage.attempt_state:
            self.attempted.discard(number)
            for place, datasets in self._attempt_indexes(lineage):
                for dataset in datasets:
                    place[dataset].discard(number)
            for node in self._named_nodes(lineage):
                self.naming_edge_sets[node].discard(number)
            del self.explained_inputs[number], self.accounted_inputs[number]
            return
        self.edge_sets_by_job[job_output.job].discard(number)
        for kind in (self.possibly_open, self.read_only, self.job_feeds, self.unsourced, self.declared_edge_sets):
            kind.discard(number)
        del self.explained_inputs[number], self.accounted_inputs[number]
        if lineage.output is not None:
            output = self._dataset_id(lineage.output)
            self.writers_by_dataset[output].discard(number)
            self._disconnect(output, number, lineage)
        for node in self._named_nodes(lineage):
            self.naming_edge_sets[node].discard(number)
        for name in (*lineage.source_datasets, *lineage.other_inputs):
            self.readers_by_dataset[self._dataset_id(name)].discard(number)

    def _attempt_indexes(self, lineage: OutputLineage) -> Iterator[tuple[dict[int, set[int]], set[int]]]:
        """Yield (index, datasets) for the indexes `attempts_by_source` and `attempts_by_output`.

        The datasets are the keys under which an index stores an attempt with this lineage.
        """
        yield self.attempts_by_source, set(map(self._dataset_id, lineage.read_datasets))
        yield self.attempts_by_output, set() if lineage.output is None else {self._dataset_id(lineage.output)}

    def _edges(self, number: int, output: int, lineage: OutputLineage) -> Iterator[tuple[int, int, int]]:
        middle = None
        for edge in lineage.edges:
            source = self._node(self._dataset_id(edge.source), edge.column)
            transformation = self._transformation_numbers.get(edge.transformation) or self._add_transformation(
                edge.transformation
            )
            if edge.target is not None:
                yield source, self._node(output, edge.target), transformation
                continue
            if middle is None:
                middle = self._hub(number)
                for key in lineage.dataset_wide_targets:
                    yield middle, self._node(output, key), 0
            yield source, middle, transformation

    def _dataset_id(self, name: Name) -> int:
        found = self._dataset_ids.get(name)
        if found is None:
            found = self._dataset_ids[name] = len(self.names)
            self.names.append(name)
            self.generations.setdefault(name.without_generation, []).append(found)
            self._nodes.append({})
        return found

    def _node(self, dataset: int, key: str) -> int:
        nodes = self._nodes[dataset]
        found = nodes.get(key)
        if found is None:
            found = nodes[key] = len(self.columns)
            self._add_column(ColumnNode(dataset, key))
            if "." in key:
                self.datasets_with_nesting.add(dataset)
        return found

    def _hub(self, number: int) -> int:
        found = self._hubs.get(number)
        if found is None:
            found = self._hubs[number] = len(self.columns)
            self._add_column(ColumnNode(-1 - number, None))
        return found

    def _add_column(self, column: ColumnNode) -> None:
        self.columns.append(column)
        self.dataset_of.append(column.dataset)
        self.column_keys.append(column.key or "")

    def _add_transformation(self, transformation: Transformation) -> int:
        self._transformation_numbers[transformation] = len(self.transformations)
        self.transformations.append(transformation)
        return self._transformation_numbers[transformation]
