"""Columns that expose or mask tagged values, or may do so (docs/reference/lineage.md: the masking surface)."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from tests.reference.gaps import WHOLE, is_near
from tests.reference.generations import NEVER, Dataset
from tests.reference.moves import moved_steps, with_moved
from tests.reference.nesting import Node, Step, Way
from tests.reference.solver import Column, Reference
from tests.reference.walks import carried, reached
from tests.reference.writings import Writing


def surface(lineage: Reference, sources: Iterable[Column]) -> dict[Column, str]:
    """Return the exposure of every column downstream of the tagged columns, without the tagged columns themselves."""
    found = Surface(lineage, sources)
    shown = found.exposures
    if lineage.has_earlier:
        held = Past(lineage, found).there
        wide = Surface(lineage.of_rows(), found.tagged, held.keys())
        earlier = {**wide.exposures, **dict.fromkeys(held.keys(), "exposed")}
        words = {"exposed": "once_exposed"}
        doubted = [node for node, told in shown.items() if told == "masked" and node not in held]
        unknown = {node: "unknown" for node in doubted if earlier.get(node) == "unknown"}
        shown = {node: words.get(exposure, exposure) for node, exposure in earlier.items()} | shown | unknown
    return lineage.shown(shown, found.tagged)


def exposed_until(lineage: Reference, sources: Iterable[Column]) -> dict[Column, int]:
    """Return the last time of a clear write for columns that are not exposed but may still contain clear rows."""
    found = Surface(lineage, sources)
    shown = surface(lineage, sources)
    until = lineage.shown(Past(lineage, found).there, found.tagged)
    return {column: time_us for column, time_us in until.items() if shown.get(column, "exposed") != "exposed"}


def tagged_states(lineage: Reference, sources: Iterable[Column]) -> dict[Column, str]:
    """Return for each tagged column whether every write of it masks (docs/reference/lineage.md: 8.5)."""
    tagged = Tagged(lineage, sources)
    return lineage.shown({node: "masked" if tagged.is_masked(node) else "exposed" for node in tagged.listed}, ())


def tagged_until(lineage: Reference, sources: Iterable[Column]) -> dict[Column, int]:
    """Return the last time of a clear write for tagged columns that are masked but may still contain clear rows."""
    tagged = Tagged(lineage, sources)
    masked = [node for node in tagged.listed if tagged.is_masked(node)]
    return lineage.shown({node: max(times) for node in masked if (times := tagged.clear_times(node))}, ())


class Tagged:
    """The writes of the tagged columns themselves."""

    def __init__(self, lineage: Reference, sources: Iterable[Column]) -> None:
        self.lineage = lineage
        every = Surface(lineage, sources).tagged
        known = {node for node in every if node[:3] in lineage.mentioned}
        counted = {end for edge in lineage.column_edges for end in (edge[:4], edge[4:8])}
        self.listed = {
            node
            for node in known
            if lineage.schemas.base_us(node[:3]) is None
            or node[3] in lineage.schemas.columns(node[:3])
            or node in counted
        }
        self.described = {event.event_id for event in lineage.events if "dataset" in event.event}
        self.writers = [writing for writing in lineage.current if writing.run not in self.described]

    def is_masked(self, node: Node) -> bool:
        """Return whether all writers mask a column: each writer names it, at least one masks it, and none writes it
        clear.
        """
        steps = [step for writing in self.lineage.current for step in self._steps(writing, node)]
        writers = [writing for writing in self.writers if writing.output == node[:3]]
        named = all(any(self._is_whole(step, node) for step in self._steps(each, node, own=True)) for each in writers)
        named = named and not any(map(self._keeps_unknown_rows(node), writers))
        masks = any(step.is_masked and self._is_whole(step, node) for step in steps)
        named = named and not self.lineage.attempts.writing(node[:3])
        return named and masks and all(step.is_masked for step in steps)

    def _keeps_unknown_rows(self, node: Node) -> Callable[[Writing], bool]:
        """Return a predicate for writings that have no source for a column and precede every write that has one."""
        observed = self.lineage.observed
        first_us = min((each.time_us for each in observed if self._steps(each, node)), default=NEVER)

        def keeps(writing: Writing) -> bool:
            return not self._steps(writing, node) and max(self._times(writing), default=NEVER) <= first_us

        return keeps

    def clear_times(self, node: Node) -> list[int]:
        """Return when clear values were written, or may have been, that no whole rewrite has replaced."""
        past = [each for each in self.lineage.observed if any(not step.is_masked for step in self._steps(each, node))]
        past += [each for each in self.lineage.observed if self._is_ignored(each, node[:3])]
        times = [each.time_us for each in past if not self.lineage.is_replaced(each)]
        times += [us for us in self._read_unwritten(node[:3]) if self.lineage.rows_until(node[:3], us) is None]
        return times + [us for each in self._silent_before(node) for us in self._times(each)]

    def _is_ignored(self, writing: Writing, dataset: Dataset) -> bool:
        """Return whether a run without lineage wrote a dataset and no longer counts, because other runs of its job have
        lineage (6.3).
        """
        counts = any(each.content == writing.content for each in self.lineage.current)
        return writing.output == dataset and writing.says_nothing and not counts

    def _read_unwritten(self, dataset: Dataset) -> list[int]:
        """Return when a run first read a dataset, if that was before the first run that wrote it ended."""
        lineage = self.lineage
        reading = [each.time_us for each in lineage.observed if dataset in each.reads | each.opaque]
        reading += [
            run.time_us or run.events[-1].time_us
            for account in [*lineage.working, *lineage.every_attempt.accounts]
            if (run := account.run) and dataset in account.read.union(account.feeding, *account.content.older.values())
        ]
        first = min((each.time_us for each in lineage.observed if each.output == dataset), default=NEVER)
        return [min(reading)] if reading and min(reading) < first < NEVER else []

    def _silent_before(self, node: Node) -> list[Writing]:
        """Return the writings, including those of earlier rows, that do not report the column's sources."""
        keeps = self._keeps_unknown_rows(node)
        return [
            each
            for each in self.lineage.of_rows().current
            if each.output == node[:3] and each.run not in self.described
            if keeps(each) or not any(self._is_whole(step, node) for step in self._steps(each, node, own=True))
        ]

    def _times(self, writing: Writing) -> list[int]:
        return [each.time_us for each in self.lineage.observed if each.content == writing.content]

    def _steps(self, writing: Writing, node: Node, *, own: bool = False) -> list[Step]:
        """Return the DIRECT edges into a column, into its parents and into its nested columns.

        own: include the edges from a column to itself, which only keep existing rows.
        """
        edges = [edge for edge in self.lineage.edges_of([writing]) if edge[8] == "DIRECT" and edge[4:7] == node[:3]]
        steps = [Step(edge[:4], edge[4:8], True, edge[9]) for edge in edges if own or edge[:4] != edge[4:8]]
        return [each for each in steps if self._is_whole(each, node) or self._is_in(each.target, node)]

    def _is_whole(self, step: Step, node: Node) -> bool:
        """Return whether an edge leads into a column or a parent of it, not only into a nested column."""
        return step.target == node or self._is_in(node, step.target)

    def _is_in(self, node: Node, parent: Node) -> bool:
        column, around = node[3], parent[3]
        return column is not None and around is not None and self.lineage.schemas.is_nested(node[:3], column, around)


class Surface:
    """How tagged values flow through the columns of all generations."""

    def __init__(self, lineage: Reference, sources: Iterable[Column], held: Iterable[Node] = ()) -> None:
        """`sources`: columns by name, which means all generations of the name, or columns of one generation.

        held: additional sources that are not tagged: columns that contain rows in the clear.
        """
        self.lineage, self.held = lineage, set(held)
        self.open: set[Dataset] = set()
        """Datasets whose columns are all unknown, including those that no event names."""
        sources = {*sources, *self.held}
        asked = {node for column in sources for node in _nodes(lineage, column)}
        self.nesting = lineage.nesting_with(asked)
        self.tagged = with_moved(lineage, {node for each in asked for node in self.nesting.about(each)})
        direct = [step for step in self.nesting.steps(lineage.column_edges) if step.is_direct]
        self.direct = moved_steps(lineage, direct)
        self.clear = [step for step in self.direct if not step.is_masked]
        sure = [step for step in self.clear if step.way is not Way.MAY]
        self.exposed = reached(sure, self.tagged).keys() - self.tagged
        self.reached = reached(self.direct, self.tagged).keys() - self.tagged
        shown = carried(sure, self.tagged) | self.tagged
        may = {step.target for step in self.clear if step.way is Way.MAY and step.source in shown}
        self.unknown = self._unknown(may) - self.tagged - self.exposed

    @property
    def masked(self) -> set[Node]:
        return self.reached - self.exposed - self.unknown

    @property
    def exposures(self) -> dict[Node, str]:
        ranked = [("masked", self.masked), ("unknown", self.unknown), ("exposed", self.exposed)]
        return {node: exposure for exposure, nodes in ranked for node in nodes}

    def _unknown(self, known: set[Node]) -> set[Node]:
        """Return all columns with unknown exposure, given those already known to be unknown."""
        starts, found = known, known
        while True:
            leaking = self._moved_on(datasets(self.exposed | found | self.tagged))
            touched = datasets(self.exposed | self.reached | (found - self.tagged) | self.held)
            starts = self._moved(starts | self._not_named(touched) | self._opaque(leaking))
            behind = [step.source for step in self.clear if self._is_nameless(step.source, leaking)]
            more = starts | reached(self.clear, starts.union(behind)).keys()
            if more <= found:
                return found
            found = found | more

    def _moved_on(self, leaking: set[Dataset]) -> set[Dataset]:
        """Return datasets together with the generations to which their names moved later."""
        return leaking | {each for one in leaking for each in self.lineage.moved_on(one, forward=True)}

    def _moved(self, nodes: set[Node]) -> set[Node]:
        """Return unknown columns together with the same columns after their names moved.

        If the columns of a dataset are not known, all columns after the move are unknown.
        """
        found = with_moved(self.lineage, {node for node in nodes if node[3] is not None})
        for unlisted in {node[:3] for node in nodes if node[3] is None} | self.open:
            for dataset in self.lineage.moved_on(unlisted, forward=True):
                columns = self.lineage.all_columns(dataset)
                found |= {(*dataset, column) for column in columns or [None]}
        return found | nodes

    def _not_named(self, touched: set[Dataset]) -> set[Node]:
        """Return the columns of part (a) without opaque inputs: those that no current writer names."""
        return {node for dataset in touched for node in self._left_open(dataset)}

    def _opaque(self, leaking: set[Dataset]) -> set[Node]:
        """Return the rest of part (a), and part (b): the columns downstream of opaque inputs."""
        lineage = self.lineage
        found: set[Node] = set()
        for writing in lineage.current:
            if lineage.opacity.sources(writing) & leaking:
                found |= self._all_of(writing.output)
            if writing.carries and lineage.opacity.inputs(lineage.opacity.accounts[writing.run], writing) & leaking:
                found |= self._left_open(writing.output)
            for dataset, source in lineage.opacity.may_mean(lineage.opacity.accounts[writing.run], writing):
                if source in leaking:
                    direct = [edge for edge in writing.own_edges if edge[0] == dataset and edge[3] == "DIRECT"]
                    found |= {lineage.node(writing.output, edge[2]) for edge in direct}
            if lineage.opacity.may_fill(lineage.opacity.accounts[writing.run], writing) & leaking:
                found |= {(*writing.output, None if column == WHOLE else column) for column in writing.left_out}
            if leaking and not lineage.opacity.followed(writing).is_complete:
                found |= self._of_anything(writing)
        for attempt in lineage.attempts.counting:
            if attempt.writing and (attempt.written_from & leaking or (leaking and attempt.is_of_anything)):
                found |= self._of_attempt(attempt.writing)
        return found

    def _all_of(self, dataset: Dataset) -> set[Node]:
        if self.lineage.schemas.base_us(dataset) is None:
            self.open.add(dataset)
        return {(*dataset, column) for column in self.lineage.all_columns(dataset) or [None]}

    def _of_attempt(self, writing: Writing) -> set[Node]:
        """Return all columns of an output of a run that did not complete, including those that only its
        lineage names.
        """
        columns, output = self.lineage.all_columns(writing.output), writing.output
        every = self._all_of(output)
        if not columns:
            return every
        named = {edge[2] for edge in writing.edges} | writing.named
        named |= {column for dataset, column in writing.mentions if dataset == output}
        keys = {self.lineage.schemas.key(output, each) for each in named} | (writing.left_out - {WHOLE})
        return {(*output, column) for column in columns | keys}

    def _of_anything(self, writing: Writing) -> set[Node]:
        """Return the columns that may be fed by a job whose inputs no event reports."""
        if not writing.carries:
            return self._all_of(writing.output)
        found: set[Node] = set(self._left_open(writing.output))
        if self.lineage.opacity.may_be_of_anything(writing):
            found |= {(*writing.output, None if column == WHOLE else column) for column in writing.left_out}
        return found

    def _is_nameless(self, node: Node, leaking: set[Dataset]) -> bool:
        """Return whether a column without a known schema may contain something of an opaque write."""
        lineage = self.lineage
        if not lineage.schemas.columns(node[:3]) and any(
            attempt.written_from & leaking or (leaking and attempt.is_of_anything)
            for attempt in lineage.attempts.writing(node[:3])
        ):
            return True
        for writing in lineage.current:
            if writing.output == node[:3]:
                open_to_all = bool(leaking) and lineage.opacity.may_be_of_anything(writing)
                whole = lineage.opacity.sources(writing) & leaking or (open_to_all and not writing.carries)
                if not lineage.schemas.columns(writing.output) and whole:
                    return True
                account = lineage.opacity.accounts[writing.run]
                may_fill = lineage.opacity.may_fill(account, writing) & leaking or open_to_all
                if WHOLE in writing.left_out and may_fill:
                    named = {lineage.schemas.key(writing.output, each) for each in writing.fed_or_empty}
                    if not is_near(node[3] or "", named):
                        return True
        return False

    def _left_open(self, dataset: Dataset) -> set[Node]:
        """Return the columns of a dataset that no current writer names, neither directly nor through a parent or nested
        column.
        """
        earlier = self.lineage.moved_on(dataset, forward=False) | {dataset}
        said = [writing for writing in self.lineage.current if writing.output in earlier]
        named = {self.lineage.node(dataset, column) for writing in said for column in self._accounted(writing)}
        columns: set[Node] = {(*dataset, column) for column in self.lineage.all_columns(dataset)}
        return {
            node
            for node in columns - named
            if not any(self._is_in(node, each) or self._is_in(each, node) for each in named)
        }

    def _accounted(self, writing: Writing) -> set[str]:
        key = self.lineage.schemas.key
        left_out = {key(writing.output, column) for column in writing.left_out}
        return {column for column in writing.fed_or_empty if key(writing.output, column) not in left_out}

    def _is_in(self, node: Node, parent: Node) -> bool:
        """Return whether a column is nested in another, even if only the old location of a name has both."""
        column, around = node[3] or "", parent[3] or ""
        return self.lineage.schemas.is_nested(node[:3], column, around)


class Past:
    """The clear writes of all runs, current or not, and which of their rows may still exist."""

    def __init__(self, lineage: Reference, found: Surface) -> None:
        self.lineage, self.clear = lineage, found.exposed | found.tagged
        self.times: dict[tuple[Node, Node], list[int]] = defaultdict(list)
        for writing in lineage.observed:
            for source, column, output, kind, masked in writing.own_edges:
                if kind == "DIRECT" and not masked:
                    edge = lineage.node(source, column), lineage.node(writing.output, output)
                    self.times[edge].append(writing.time_us)
        self.wrote: dict[Node, int] = {}
        while self._go_on():
            pass
        held = {node: time_us for node, time_us in self.wrote.items() if self._until(node) == NEVER}
        parts = {each: held[node] for node in held for each in found.nesting.about(node) - self.clear} | held
        in_time = sorted(parts, key=parts.__getitem__)  # if several locations contribute, the latest time wins
        moved = {each: parts[node] for node in in_time for each in with_moved(lineage, {node}) - self.clear}
        self.there = moved | parts

    def _go_on(self) -> bool:
        """Add the columns written from columns that contained clear values then. Returns whether any column is new."""
        before = dict(self.wrote)
        for (source, target), times in self.times.items():
            if target not in self.clear and (source in self.clear or source in self.wrote):
                until_us = NEVER if source in self.clear else self._until(source)
                if min(times) <= until_us:
                    at_us = min(max(times), until_us)
                    self.wrote[target] = max(at_us, self.wrote.get(target, at_us))
        return before != self.wrote

    def _until(self, node: Node) -> int:
        """Return when the rows of the last clear write were removed."""
        until_us = self.lineage.rows_until(node[:3], self.wrote[node])
        return NEVER if until_us is None else until_us


def datasets(nodes: Iterable[Node]) -> set[Dataset]:
    return {node[:3] for node in nodes}


def _nodes(lineage: Reference, column: Column) -> set[Node]:
    if len(column) == 4:
        return {column}
    known = lineage.generations.of_name(column[:2])
    if column[2] is None:
        return {node for dataset in known for node in lineage.every_column(dataset)}
    return {lineage.node(dataset, column[2]) for dataset in known}
