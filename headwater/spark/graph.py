"""Masking surface and unused columns: questions about the whole graph as it is now, asked in one Python worker."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from headwater.lineage.columns import Columns
from headwater.lineage.current import Group, Vote
from headwater.lineage.edges import Contribution
from headwater.lineage.graph import Graph
from headwater.lineage.masking import remasked
from headwater.lineage.name import Name
from headwater.lineage.outcome import is_dropped, outcome
from headwater.lineage.part import Tag
from headwater.lineage.surface import Surfaced, surface
from headwater.lineage.tags import has_tag
from headwater.lineage.unused import Subject, judge
from headwater.lineage.user_rules import UserRules
from headwater.lineage.view import View
from headwater.spark.arrow import Row
from headwater.spark.known import read_columns
from headwater.spark.texts import Reading, read_contribution, text_of
from headwater.tables import MASKING_SURFACE, UNUSED_COLUMNS, Table

VOTE_COLUMNS = (
    "output_key", "layer", "job_namespace", "job_name", "dataset_namespace", "dataset_name", "time_us", "tie",
    "run_key", "execution", "carries", "landed", "ended", "drops", "content", "columns", "tags", "ever_read",
)  # fmt: skip
"""Open votes sorted by output, datasets first: rows without `output_key`."""

ANSWERS = Table(
    "answers",
    {
        name: kind
        for table in (MASKING_SURFACE, UNUSED_COLUMNS)
        for name, kind in table.columns.items()
        if name != "rules_hash"
    },
)
"""Rows of both tables; `tag` is null in those of `unused_columns`."""

read_tags = Reading(list[str])
_read_facet = Reading(list[Tag])


class _Known(NamedTuple):
    columns: Columns
    tags: list[Tag]
    ever_read: bool


@dataclass(frozen=True)
class Answers:
    """Answers for all tags and all datasets."""

    rules: UserRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take rows in the columns `VOTE_COLUMNS`, sorted; yield rows of `ANSWERS`."""
        now = Now(rows, self.rules)
        for tag in now.tags():
            yield from self._surface(now, tag)
        for dataset, known in now.datasets.items():
            yield from self._unused(now, dataset, known)

    def _surface(self, now: "Now", tag: str) -> Iterator[Row]:
        nodes, whole = now.sources(tag)
        found = surface(now.graph, nodes, whole, now.view, lambda number: now.columns(now.graph.names[number]).by_key)
        for each in found:
            yield (tag, *now.shown(each.dataset, each.key), each.exposure, *_via(now, each), *_NO_VERDICT)

    def _unused(self, now: "Now", dataset: Name, known: _Known) -> Iterator[Row]:
        number = now.graph.dataset(dataset)
        if number is not None and number in now.view.hidden:
            return
        columns = known.columns
        consumers: dict[str | None, list[str]] = defaultdict(list)
        for consumer in self.rules.consumers_of(*dataset):
            for key, name in columns.by_key.items():
                if consumer.reads(name):
                    consumers[key].append(consumer.consumer)
        subject = Subject(number, list(columns.by_key), columns.top_level, consumers, known.ever_read)
        for each in judge(now.graph, subject, now.view):
            jobs = sorted({now.graph.sets[one][0].job for one in each.edge_sets})
            shown = (*dataset, columns.shown(each.key))
            readers = text_of([f"{job.namespace}/{job.name}" for job in jobs])
            yield (None, *shown, *_NO_EXPOSURE, each.verdict, each.reason, readers, text_of(each.consumers))


_NO_EXPOSURE = (None,) * 7
_NO_VERDICT = (None,) * 4


def _via(now: "Now", each: Surfaced) -> Row:
    hit = each.hit
    if hit is not None:
        parent = now.graph.columns[hit.parent]
        return hit.distance, *now.shown(parent.dataset, parent.key), *now.graph.sets[hit.edge_set][0].job
    job = (None, None) if each.opaque is None else now.graph.sets[each.opaque][0].job
    return None, None, None, None, *job


class Now:
    """The graph as it is now, and what is known of its datasets."""

    def __init__(self, rows: Iterator[Row], rules: UserRules):
        """Take rows in the columns `VOTE_COLUMNS`, sorted."""
        self.graph = Graph()
        self.datasets: dict[Name, _Known] = {}
        self._rules = rules
        self._live, self._latest = bytearray(), bytearray()
        self._dropped: set[Name] = set()
        for output_key, same in groupby(rows, key=lambda row: row[0]):
            if output_key is None:
                for row in same:
                    tags = [tag for text in read_tags(row[16] or "[]") for tag in _read_facet(text)]
                    columns = Columns(read_columns(row[15]) if row[15] else ())
                    self.datasets[Name(row[4], row[5])] = _Known(columns, tags, bool(row[17]))
            else:
                self._put(list(same))

    @cached_property
    def view(self) -> View:
        """What counts."""
        hidden = frozenset(number for name in self._dropped if (number := self.graph.dataset(name)) is not None)
        return View(self._live, self._latest, hidden)

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset's newest schema."""
        known = self.datasets.get(dataset)
        return known.columns if known else _NO_COLUMNS

    def shown(self, dataset: int, key: str | None) -> tuple[str | None, ...]:
        """Return a column as it is shown."""
        name = self.graph.names[dataset]
        return (*name, None if key is None else self.columns(name).shown(key))

    def tags(self) -> list[str]:
        """Return all tags there are, casefolded."""
        return sorted({key.casefold() for _, _, key, value in self._tagged if value.casefold() != "false"})

    def sources(self, asked: str) -> tuple[list[int], list[int]]:
        """Return what carries a tag: columns by node, and datasets whose columns nobody knows."""
        nodes: dict[int, None] = {}
        whole: dict[int, None] = {}
        for dataset, column, key, value in self._tagged:
            number = self.graph.dataset(dataset)
            if number is None or not has_tag(key, value, asked):
                continue
            columns = self.columns(dataset)
            if column is not None:
                nodes[self.graph.node_for(number, columns.key(column))] = None
            elif columns.by_key:
                nodes.update((self.graph.node_for(number, each), None) for each in columns.by_key)
            else:
                whole[number] = None
                nodes.update((node, None) for node in self.graph.nodes_of(number))
        return list(nodes), list(whole)

    @cached_property
    def _tagged(self) -> list[tuple[Name, str | None, str, str]]:
        found = [(name, tag.column, tag.key, tag.value) for name, known in self.datasets.items() for tag in known.tags]
        if self._rules.tags:
            for name, known in self.datasets.items():
                for column in (None, *known.columns.names):
                    found += [(name, column, *tag) for tag in sorted(self._rules.tags_of(*name, column))]
        return found

    def _put(self, rows: Sequence[Row]) -> None:
        votes: dict[Group, list[Vote[Contribution]]] = defaultdict(list)
        for row in rows:
            output = None if row[5] is None else Name(row[4], row[5])
            group = Group(row[1], Name(row[2], row[3]), output)
            votes[group].append(Vote._make((*row[6:14], read_contribution(row[14]))))
        if output is not None and is_dropped(vote for own in votes.values() for vote in own):
            self._dropped.add(output)
        for group, words in outcome(votes, lambda said: said.named).items():
            for word in words:
                self.graph.put(len(self._live), group, remasked(self._rules, group, word.said), word.explained)
                self._live.append(word.live)
                self._latest.append(word.latest)


_NO_COLUMNS = Columns(())
