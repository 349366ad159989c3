"""Masking surface and unused columns: questions about the whole graph as it is now, asked in one Python worker."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headwater.events.times import iso
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.walks.masking_surface import Surfaced, surface
from headwater.lineage.walks.tagged_columns import tagged_columns
from headwater.questions.exposure import all_tags, tagged_sources
from headwater.questions.verdicts import dataset_verdicts, reasons_of
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.gold.snapshot_of_rows import SnapshotOfRows
from headwater.spark.silver.texts import text_of
from headwater.tables import MASKING_SURFACE, UNUSED_COLUMNS, Table

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


@dataclass(frozen=True)
class Answers:
    """Answers for all tags and all datasets."""

    rules: UserRules
    naming: Naming

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take rows in the columns `VOTE_COLUMNS`, sorted; yield rows of `ANSWERS`."""
        now = SnapshotOfRows(self.rules, self.naming, rows)
        tags = {key.casefold() for *_, (key, value) in all_tags(now, self.rules) if value.casefold() != "false"}
        for tag in sorted(tags):
            yield from self._surface(now, tag)
        for dataset in sorted(now.own_names()):
            if not now.naming.moved.former(dataset):
                yield from self._unused(now, dataset)

    def _surface(self, now: SnapshotOfRows, tag: str) -> Iterator[Row]:
        sources, counted = tagged_sources(now, self.rules, now.counted(), tag), now.counted()
        columns = [*tagged_columns(now.graph, *sources, counted), *surface(now.graph, *sources, counted).columns]
        yield from ((tag, *row, *_NO_VERDICT) for row in surfaced_rows(now, columns))

    def _unused(self, now: SnapshotOfRows, dataset: Name) -> Iterator[Row]:
        columns, reason_of = now.shown_columns(dataset), reasons_of(now)
        for each in dataset_verdicts(now, self.rules, now.counted(), dataset):
            shown = (*dataset.parts, columns.shown(each.key))
            readers = text_of(sorted({_job(now, number) for number in each.edge_sets}))
            shown_by = [f"{_job(now, number)} at {iso(now.stats(number).last_us)}" for number in each.shown]
            verdict = (each.verdict, reason_of(each), readers, text_of(each.consumers))
            yield (None, *shown, *_NO_EXPOSURE, *verdict, each.recreated, text_of(sorted(shown_by)))


def surfaced_rows(now: SnapshotOfRows, columns: Iterable[Surfaced]) -> Iterator[Row]:
    """Yield columns of a masking surface as rows of `masking_surface`, without the tag and the hash of the rules."""
    return ((*_shown(now, each.dataset, each.key), each.exposure, each.tagged, *_via(now, each)) for each in columns)


_NO_EXPOSURE = (None,) * 8
_NO_VERDICT = (None,) * 6


def _via(now: SnapshotOfRows, each: Surfaced) -> Row:
    hit = each.hit
    if hit is not None:
        parent = now.graph.columns[hit.parent]
        return hit.distance, *_shown(now, parent.dataset, parent.key), *now.graph.sets[hit.edge_set][0].job.parts
    job = (None, None) if each.opaque is None else now.graph.sets[each.opaque][0].job.parts
    return None, None, None, None, *job


def _shown(now: SnapshotOfRows, dataset: int, key: str | None) -> Row:
    name = now.graph.names[dataset]
    return (*name.parts, None if key is None else now.columns(name).shown(key))


def _job(now: SnapshotOfRows, number: int) -> str:
    return "/".join(now.graph.sets[number][0].job.parts)
