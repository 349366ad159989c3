"""Rule 9: may this column be dropped? Used, unused, or not provable; never a guess."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from headwater.lineage.adjacency import NO_EDGES, triples
from headwater.lineage.graph import Graph
from headwater.lineage.nesting import parents
from headwater.lineage.view import View

Verdict = Literal["used", "unused", "unknown"]

READ = "read by a job"
DECLARED = "read as declared"
NESTED_READ = "a column nested in it is read"
NESTED = "a column that it is nested in is read as a whole"
OPAQUE = "a reader reports no column lineage"
NO_STEPS = "a reader reports no transformation, so that its filters and joins are not seen"
NO_READER = "no reader of this dataset reports"
SHOWN = "a job read this dataset to show it, and does not say which columns"
UNUSED = "every reader reports its columns, and none reads this one"


class Subject(NamedTuple):
    """The dataset that is judged.

    numbers: its generations in the graph, the newest first, none where no job that counts mentions it; newest:
    the first of them is the newest one there is.
    keys: of the columns of its newest schema; top_level: those of them that are in no struct.
    consumers: column key (None: the whole dataset) → who reads it, as the consumers file declares.
    ever_read: some job read it and wrote another dataset, be it long ago: its readers report.
    strict: to be shown to somebody is to be used, perhaps.
    """

    numbers: Sequence[int]
    newest: int | None
    keys: Sequence[str]
    top_level: frozenset[str]
    consumers: Mapping[str | None, Collection[str]]
    ever_read: bool
    strict: bool = False


class Judged(NamedTuple):
    """A column's verdict; `edge_sets` and `consumers` are the readers behind it.

    recreated: all that use it read a generation before the newest; shown: batch jobs that read the dataset and wrote
    nothing.
    """

    key: str
    verdict: Verdict
    reason: str
    edge_sets: tuple[int, ...]
    consumers: tuple[str, ...]
    recreated: bool = False
    shown: tuple[int, ...] = ()


def judge(graph: Graph, subject: Subject, view: View) -> list[Judged]:
    """Return a verdict for each column of a dataset, in their order."""
    return _Judge(graph, subject, view).verdicts()


class _Judge:
    def __init__(self, graph: Graph, subject: Subject, view: View):
        self._graph = graph
        self._subject = subject
        self._view = view
        self._onward: dict[int, bool] = {}
        keys = {*subject.keys, *self._mentioned()}
        self._uses = {key: numbers for key in keys if (numbers := self._edge_sets(key))}
        readers = [(number, dataset) for dataset in subject.numbers for number in self._readers(dataset)]
        self._opaque = _sets(each for each in readers if graph.is_opaque(*each))
        self._silent = _sets(each for each in readers if self._hides_steps(*each))
        self._shown = _sets(each for each in readers if self._only_shows(*each))
        self._reading = _sets(readers)

    def verdicts(self) -> list[Judged]:
        return [self._verdict(key) for key in self._subject.keys]

    def _verdict(self, key: str) -> Judged:
        subject, uses = self._subject, self._uses
        declared = tuple(sorted({*subject.consumers.get(key, ()), *subject.consumers.get(None, ())}))
        inside = [each for each in uses if key in parents(each, subject.top_level)]
        used = self._together((key, *inside))
        if used or declared:
            reason = READ if key in uses else NESTED_READ if inside else DECLARED
            recreated = not declared and not any(used.values())
            return Judged(key, "used", reason, tuple(sorted(used)), declared, recreated)
        whole = tuple(sorted(self._together(parents(key, subject.top_level))))
        for why, numbers in ((NESTED, whole), (OPAQUE, self._opaque), (NO_STEPS, self._silent)):
            if numbers:
                return Judged(key, "unknown", why, numbers, ())
        if not subject.ever_read:
            return Judged(key, "unknown", NO_READER, (), ())
        if self._shown and subject.strict:
            return Judged(key, "unknown", SHOWN, self._shown, (), shown=self._shown)
        return Judged(key, "unused", UNUSED, self._reading, (), shown=self._shown)

    def _together(self, keys: Iterable[str]) -> dict[int, bool]:
        """Return the edge sets that use some of these columns, and whether one does so from the newest generation."""
        found: dict[int, bool] = {}
        for key in keys:
            for number, newest in self._uses.get(key, {}).items():
                found[number] = found.get(number, False) or newest
        return found

    def _mentioned(self) -> Iterator[str]:
        columns = self._graph.columns
        nodes = (node for dataset in self._subject.numbers for node in self._graph.nodes_of(dataset))
        return (key for node in nodes if (key := columns[node].key))

    def _edge_sets(self, key: str) -> dict[int, bool]:
        """Return the edge sets in which a column feeds another, and whether one did so from the newest generation."""
        found: dict[int, bool] = {}
        for dataset in self._subject.numbers:
            node = self._graph.node(dataset, key)
            for number in () if node is None else self._used_in(node, newest=dataset == self._subject.newest):
                found[number] = found.get(number, False) or dataset == self._subject.newest
        return found

    def _used_in(self, node: int, *, newest: bool) -> Iterator[int]:
        view = self._view
        for far, _, number in triples(self._graph.out.get(node, NO_EDGES)):
            counts = view.live[number] if newest else view.reading[number]
            if counts and far != node and self._leads_on(far, node, anywhere=bool(view.reading[number])):
                yield number

    def _leads_on(self, far: int, node: int, *, anywhere: bool) -> bool:
        """Tell whether an edge leads to another column; anywhere: also to what is gone and leads no further."""
        if self._graph.columns[far].dataset >= 0:
            return anywhere or self._arrives(far)
        onward = (each for each, _, _ in triples(self._graph.out.get(far, NO_EDGES)))
        return any(each != node and (anywhere or self._arrives(each)) for each in onward)

    def _arrives(self, node: int) -> bool:
        """Tell whether a column is in a dataset that is there, or leads on to one over edges that count."""
        todo, seen = [node], {node}
        while todo:
            at = todo.pop()
            dataset = self._graph.dataset_of[at]
            if dataset >= 0 and dataset not in self._view.hidden:
                return True
            for far, _, number in triples(self._graph.out.get(at, NO_EDGES)):
                if self._view.live[number] and far not in seen:
                    seen.add(far)
                    todo.append(far)
        return False

    def _readers(self, dataset: int) -> list[int]:
        view = self._view
        feeds = self._graph.feeds.get(dataset, ())
        newest = dataset == self._subject.newest
        return [each for each in feeds if view.reading[each] or (newest and view.says(each) and self._counts(each))]

    def _counts(self, number: int) -> bool:
        """Tell whether an edge set is about a dataset that is there, or that something which is there came of."""
        output = self._graph.sets[number][1].output
        todo = [self._graph.dataset(output)] if output is not None else []
        seen = set(todo)
        while todo:
            dataset = todo.pop()
            if dataset is not None and dataset not in self._view.hidden:
                return True
            for each in self._graph.feeds.get(-1 if dataset is None else dataset, ()):
                said = self._graph.sets[each][1]
                far = self._graph.dataset(said.output) if said.output is not None else None
                if self._view.says(each) and far is not None and far not in seen:
                    seen.add(far)
                    todo.append(far)
        return output is None

    def _hides_steps(self, number: int, dataset: int) -> bool:
        said, name = self._graph.sets[number][1], self._graph.names[dataset]
        return not said.shows and (name in said.named or (name == said.output and name in said.also_read))

    def _only_shows(self, number: int, dataset: int) -> bool:
        said = self._graph.sets[number][1]
        name = self._graph.names[dataset]
        return said.output is None and name not in said.opaque and name not in self._graph.explained[number]


def _sets(readers: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(sorted({number for number, _ in readers}))
