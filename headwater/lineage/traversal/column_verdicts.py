"""Rule 9: judge whether columns are used, unused, or unknown."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from headwater.lineage.edges.schema_columns import Columns, parent_keys
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.traversal.column_graph import Graph

Verdict = Literal["used", "unused", "unknown"]

READ = "read by a job"
DECLARED = "read as declared"
NESTED_READ = "a column nested in it is read"
COPIED = "a column that it is nested in is copied by a job"
NESTED = "a column that it is nested in is read as a whole"
OPAQUE = "a reader reports no column lineage"
UNLISTED = "a reader's lineage names a dataset that it does not list and that may mean this one"
UNACCOUNTED = "a reader does not say what feeds all its columns"
NO_STEPS = "a reader reports no transformation, so that its filters and joins are not seen"
ATTEMPT = "a run that did not complete reads this dataset (wait for its end, or run the job again)"
NO_READER = "no reader of this dataset reports"
REMOVED = "events before {} were removed"
SHOWN = "a job read this dataset to show it, and does not say which columns"
UNUSED = "every reader reports its columns, and none reads this one"


class VerdictSubject(NamedTuple):
    """The dataset for which verdicts about columns are determined.

    numbers: the dataset numbers of its generations, the newest first; empty if no job that counts mentions the dataset.
    newest: the number of the newest generation; None if no job that counts mentions this generation.
    columns: the columns of the dataset (rule 12.7).
    consumers: maps column keys to the consumers that the consumers file declares. The key None stands for the whole
    dataset.
    ever_read: whether any job has ever read the dataset to write another dataset.
    strict: whether columns become unknown if a batch job reads the dataset and writes nothing (rule 9.4).
    removed_before: the day before which events are missing, because they were removed before the index read them (rule
    1.14); None if no events are missing.
    locations: the dataset and the other locations of its names. If there are others, `ever_read` is not enough: a
    reader that counts must write a dataset at none of these locations (rule 9.2).
    """

    numbers: Sequence[int]
    newest: int | None
    columns: Columns
    consumers: Mapping[str | None, Collection[str]]
    ever_read: bool
    strict: bool = False
    removed_before: str | None = None
    locations: Collection[Name] = ()


class ColumnVerdict(NamedTuple):
    """The verdict about a column.

    key: the key of the column. reason: the explanation of the verdict.
    edge_sets, consumers: the edge sets of readers and the declared consumers that cause the verdict.
    recreated: whether all users of the column read an older generation of the dataset.
    display_only: the edge sets of batch jobs that read the dataset and write nothing.
    earlier: whether only earlier executions use the column.
    ever_used_by: all edge sets that have ever used the column.
    ever_readers: all edge sets that have ever read the dataset.
    presumed_retired: whether only jobs that are presumed retired use the column (rule 6.12).
    """

    key: str
    verdict: Verdict
    reason: str
    edge_sets: tuple[int, ...]
    consumers: tuple[str, ...]
    recreated: bool = False
    display_only: tuple[int, ...] = ()
    earlier: bool = False
    ever_used_by: tuple[int, ...] = ()
    ever_readers: tuple[int, ...] = ()
    presumed_retired: bool = False


def column_verdicts(graph: Graph, subject: VerdictSubject, counted: CountedEdges) -> list[ColumnVerdict]:
    """Return the verdict for each column of a dataset, in the order of `subject.columns`."""
    return _VerdictRules(graph, subject, counted.with_earlier_uses()).verdicts()


_IDENTITY = "IDENTITY"

_Uses = dict[str, dict[int, bool]]
"""Maps column keys to the edge sets in which the column feeds another column.

The value of each edge set is True if this is the case in the newest generation of the dataset.
"""


class _ColumnMatcher:
    """Matches column names in edges with the columns that get verdicts, by the case and nesting rules of a schema."""

    def __init__(self, columns: Columns, asked: Iterable[str]):
        self._columns = columns
        self._same: dict[str, list[str]] = {}
        self._within: dict[str, list[str]] = {}
        for key in asked:
            own = columns.key(key)
            self._same.setdefault(own, []).append(key)
            for parent in parent_keys(own, columns.top_level):
                self._within.setdefault(parent, []).append(key)

    def matching(self, read: str) -> Sequence[str]:
        """Return the columns with verdicts that may be the column `read`."""
        return self._same.get(self._columns.key(read), ())

    def containing(self, read: str) -> Sequence[str]:
        """Return the columns with verdicts that contain the column `read`, which is nested in them."""
        above = parent_keys(self._columns.key(read), self._columns.top_level)
        return [key for parent in above for key in self._same.get(parent, ())]

    def nested_in(self, read: str) -> Sequence[str]:
        """Return the columns with verdicts that are nested in the column `read`."""
        return self._within.get(self._columns.key(read), ())


class _VerdictRules:
    def __init__(self, graph: Graph, subject: VerdictSubject, counted: CountedEdges):
        self._graph = graph
        self._subject = subject
        self._counted = counted
        self._uses_by_column: _Uses = {}
        self._nested_uses: _Uses = {}
        self._copies_around: _Uses = {}
        self._whole_reads: _Uses = {}
        self._ever_used_by: dict[str, set[int]] = {}
        for dataset in subject.numbers:
            self._collect_uses(dataset)
        readers = [(number, dataset) for dataset in subject.numbers for number in self._readers_of(dataset)]
        possibly_open = [each for each in readers if each[0] in graph.possibly_open]
        hides = [each for each in possibly_open if graph.is_opaque(*each)]
        self._opaque = _edge_set_numbers(each for each in hides if self._is_certainly_opaque(*each))
        self._unlisted = _edge_set_numbers(each for each in hides if not self._is_certainly_opaque(*each))
        self._unaccounted = _edge_set_numbers(each for each in possibly_open if graph.may_use_unaccounted(*each))
        self._without_steps = _edge_set_numbers(each for each in readers if self._hides_steps(*each))
        attempts = [
            (number, dataset)
            for dataset in subject.numbers
            for number in counted.attempted.intersection(graph.attempts_reading(dataset))
            if graph.attempt_may_use(number, dataset)
        ]
        uses = {(number, dataset) for number, dataset in attempts if self._may_use_columns(number, dataset)}
        only_read = {number for number, _ in attempts} - {number for number, _ in uses}
        self._attempts = _edge_set_numbers(uses)
        shown = {number for number, dataset in readers if only_displays(graph, number, dataset)}
        self._shown = tuple(sorted(shown | only_read))
        self._current_readers = _edge_set_numbers(readers)
        self._was_read = subject.ever_read and (len(subject.locations) < 2 or self._feeds_others(self._current_readers))
        self._readers_ever = _edge_set_numbers(
            (number, each) for each in subject.numbers for number in graph.edge_sets_reading(each)
        )

    def verdicts(self) -> list[ColumnVerdict]:
        verdicts = ((key, self._verdict(key)) for key in self._subject.columns.by_key)
        ever = self._ever_used_by
        return [
            each._replace(ever_used_by=tuple(sorted(ever.get(key, ()))), ever_readers=self._readers_ever)
            for key, each in verdicts
        ]

    def _verdict(self, key: str) -> ColumnVerdict:
        subject = self._subject
        declared = tuple(sorted({*subject.consumers.get(key, ()), *subject.consumers.get(None, ())}))
        uses, inside, copied = (
            found.get(key, {}) for found in (self._uses_by_column, self._nested_uses, self._copies_around)
        )
        ways = (uses, inside, copied)
        used = {number: any(way.get(number) for way in ways) for number in {*uses, *inside, *copied}}
        if used or declared:
            reason = READ if uses else NESTED_READ if inside else COPIED if copied else DECLARED
            recreated = not declared and not any(used.values())
            earlier = (
                bool(self._counted.newest_mask)
                and not declared
                and not any(map(self._counted.newest_mask.__getitem__, used))
            )
            presumed = not declared and self._counted.presumed_retired.issuperset(used)
            return ColumnVerdict(
                key,
                "used",
                reason,
                tuple(sorted(used)),
                declared,
                recreated,
                earlier=earlier,
                presumed_retired=presumed,
            )
        whole = tuple(sorted(self._whole_reads.get(key, {})))
        reasons = (
            (NESTED, whole),
            (OPAQUE, self._opaque),
            (UNLISTED, self._unlisted),
            (UNACCOUNTED, self._unaccounted),
            (NO_STEPS, self._without_steps),
            (ATTEMPT, self._attempts),
        )
        for why, numbers in reasons:
            if numbers:
                return ColumnVerdict(key, "unknown", why, numbers, ())
        if subject.removed_before:
            return ColumnVerdict(key, "unknown", REMOVED.format(subject.removed_before), (), ())
        if not self._was_read:
            return ColumnVerdict(key, "unknown", NO_READER, (), ())
        if self._shown and subject.strict:
            return ColumnVerdict(key, "unknown", SHOWN, self._shown, (), display_only=self._shown)
        return ColumnVerdict(key, "unused", UNUSED, self._current_readers, (), display_only=self._shown)

    def _collect_uses(self, dataset: int) -> None:
        """Collect, for each column with a verdict, the edge sets in which it feeds other columns in a generation."""
        subject, newest = self._subject, dataset == self._subject.newest
        spelt = dict.fromkeys((self._counted.nesting.columns_of(dataset), subject.columns))
        spellings = [_ColumnMatcher(columns, subject.columns.by_key) for columns in spelt]
        for node in self._graph.nodes_of(dataset):
            edges = [edge for edge in self._graph.outgoing.edges(node) if self._leads_to_other_column(edge[0], node)]
            numbers = list(self._used_in(node, edges, newest=newest))
            copies = [edge for edge in edges if self._is_copy(edge[1])]
            copying = list(self._used_in(node, copies, newest=newest))
            read = self._graph.columns[node].key or ""
            for spelling in spellings if edges else ():
                for key in {*spelling.matching(read), *spelling.containing(read)}:
                    self._ever_used_by.setdefault(key, set()).update(number for _, _, number in edges)
            for spelling in spellings if copies else ():
                for key in spelling.nested_in(read):
                    self._ever_used_by.setdefault(key, set()).update(number for _, _, number in copies)
            for spelling in spellings if numbers else ():
                for found, keys in (
                    (self._uses_by_column, spelling.matching(read)),
                    (self._nested_uses, spelling.containing(read)),
                    (self._whole_reads, spelling.nested_in(read)),
                ):
                    _record_uses(found, keys, numbers, newest=newest)
                _record_uses(self._copies_around, spelling.nested_in(read), copying, newest=newest)

    def _used_in(self, node: int, edges: Iterable[tuple[int, int, int]], *, newest: bool) -> Iterator[int]:
        counted = self._counted
        for far, _, number in edges:
            counts = counted.live_mask[number] if newest else counted.reading_mask[number]
            if counts and self._reaches_other_column(far, node, anywhere=bool(counted.reading_mask[number])):
                yield number

    def _is_copy(self, transformation: int) -> bool:
        """Tell whether a transformation copies a column unchanged, including all columns nested in it."""
        found = self._graph.transformations[transformation]
        return found.is_direct and found.subtype == _IDENTITY

    def _leads_to_other_column(self, far: int, node: int) -> bool:
        """Tell whether an edge from `node` to `far` leads to another column than `node`.

        The node `far` is a column, or the hub of dataset-wide edges, which leads to columns.
        """
        if self._graph.dataset_of[far] >= 0:
            return far != node
        return any(each != node for each, _, _ in self._graph.outgoing.edges(far))

    def _reaches_other_column(self, far: int, node: int, *, anywhere: bool) -> bool:
        """Tell whether an edge from `node` to `far` leads to a column in or upstream of a dataset that exists.

        anywhere: whether columns of dropped datasets count even if no existing dataset is downstream of them.
        """
        dataset_of = self._graph.dataset_of
        if dataset_of[far] >= 0:
            return anywhere or self._reaches_existing_dataset(dataset_of[far])
        onward = (each for each, _, _ in self._graph.outgoing.edges(far))
        return any(each != node and (anywhere or self._reaches_existing_dataset(dataset_of[each])) for each in onward)

    def _reaches_existing_dataset(self, dataset: int) -> bool:
        """Tell whether a dataset exists, or lineage leads from it to a dataset that exists."""
        todo, seen = [dataset], {dataset}
        while todo:
            at = todo.pop()
            if at not in self._counted.dropped_datasets:
                return True
            for number in self._graph.edge_sets_reading(at):
                output = self._output_dataset(number)
                if self._counted.is_counted(number) and output is not None and output not in seen:
                    seen.add(output)
                    todo.append(output)
        return False

    def _output_dataset(self, number: int) -> int | None:
        output = self._graph.edge_sets[number][1].output
        return None if output is None else self._graph.dataset_number(output)

    def _readers_of(self, dataset: int) -> list[int]:
        counted = self._counted
        feeds = self._graph.edge_sets_reading(dataset)
        newest = dataset == self._subject.newest
        return [
            each
            for each in feeds
            if counted.reading_mask[each]
            or (newest and counted.is_counted(each) and self._reaches_existing_output(each))
        ]

    def _reaches_existing_output(self, number: int) -> bool:
        """Tell whether an edge set has no output, or an output that exists or has an existing dataset downstream."""
        output = self._output_dataset(number)
        return output is None or self._reaches_existing_dataset(output)

    def _feeds_others(self, readers: Iterable[int]) -> bool:
        """Tell whether a reader writes a dataset at none of the locations of the subject's names."""
        outputs = (self._graph.edge_sets[number][1].output for number in readers)
        return any(
            output is not None and output.without_generation not in self._subject.locations for output in outputs
        )

    def _is_certainly_opaque(self, number: int, dataset: int) -> bool:
        """Tell whether a dataset is an opaque input of an edge set, not only due to an ambiguous name (rule 4.10)."""
        name = self._graph.names[dataset]
        return name in self._graph.edge_sets[number][1].opaque_inputs or name in self._graph.datasets_through_jobs.get(
            number, ()
        )

    def _may_use_columns(self, number: int, dataset: int) -> bool:
        """Tell whether an attempt lists an output, or reports that the dataset feeds a job."""
        return self._graph.edge_sets[number][1].output is not None or self._graph.feeds_a_job(number, dataset)

    def _hides_steps(self, number: int, dataset: int) -> bool:
        lineage, name = self._graph.edge_sets[number][1], self._graph.names[dataset]
        if lineage.has_transformations or name in self._graph.explained_by_job.get(number, ()):
            return False
        return name in lineage.column_sources or (name == lineage.output and name in lineage.other_inputs)


def only_displays(graph: Graph, number: int, dataset: int) -> bool:
    """Tell whether an edge set belongs to a batch job that reads a dataset and writes nothing (rule 9.4)."""
    lineage, name = graph.edge_sets[number][1], graph.names[dataset]
    return lineage.output is None and name not in lineage.opaque_inputs and name not in graph.explained_inputs[number]


def _record_uses(found: _Uses, keys: Iterable[str], numbers: Iterable[int], *, newest: bool) -> None:
    for key in keys:
        for number in numbers:
            known = found.setdefault(key, {})
            known[number] = known.get(number, False) or newest


def _edge_set_numbers(readers: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(sorted({number for number, _ in readers}))
