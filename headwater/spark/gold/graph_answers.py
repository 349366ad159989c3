"""Masking surface and unused columns: questions about the whole graph as it is now, asked in one Python worker."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headwater.events.times import iso
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.walks.masking_surface import Surfaced
from headwater.questions.surface import FoundSurface, all_tags, find_surface
from headwater.questions.unused import dataset_verdicts, last_used, observed_since, reason_formatter
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
    """Answers for all tags and all datasets; newest_us, parted, removed_before_us: as in `LayerPosition`."""

    rules: UserRules
    naming: Naming
    newest_us: int | None
    parted: frozenset[Name] = frozenset()
    removed_before_us: int | None = None

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take rows in the columns `VOTE_COLUMNS`, sorted; yield rows of `ANSWERS`."""
        now = SnapshotOfRows(self.rules, self.naming, rows, self.parted)
        now.newest_us = self.newest_us
        now.removed_before_us = self.removed_before_us
        counted = now.counted_since(now.usual_window())
        tags = {key.casefold() for *_, (key, value) in all_tags(now, self.rules) if value.casefold() != "false"}
        for tag in sorted(tags):
            found = find_surface(now, self.rules, counted, tag=tag, source=None)
            for row in surfaced_rows(now, found):
                yield _answer({"tag": tag, **dict(zip(SURFACED, row, strict=True))})
        for dataset in sorted(now.own_names(attempted=True)):
            if not now.naming.moved.former(dataset):
                yield from self._unused(now, counted, dataset)

    def _unused(self, now: SnapshotOfRows, counted: CountedEdges, dataset: Name) -> Iterator[Row]:
        columns, reason_of = now.shown_columns(dataset), reason_formatter(now)
        for each in dataset_verdicts(now, self.rules, counted, dataset):
            readers = text_of(sorted({_job(now, number) for number in each.edge_sets}))
            shown_by = [f"{_job(now, number)} at {iso(now.seen(number).last_us)}" for number in each.shown]
            namespace, name = dataset.parts
            yield _answer({
                "namespace": namespace, "dataset": name, "column": columns.shown(each.key), "verdict": each.verdict,
                "reason": reason_of(each), "readers": readers, "consumers": text_of(each.consumers),
                "read_before_recreation": each.recreated, "shown_by": text_of(sorted(shown_by)),
                "last_used": last_used(now, each), "observed_since": observed_since(now, each),
                "earlier": each.earlier,
            })  # fmt: skip


def _answer(cells: Mapping[str, object]) -> Row:
    return tuple(cells.get(name) for name in ANSWERS.columns)


SURFACED = [name for name in MASKING_SURFACE.columns if name not in ("tag", "rules_hash")]
"""The columns of `surfaced_rows`."""


def surfaced_rows(now: SnapshotOfRows, found: FoundSurface) -> Iterator[Row]:
    """Yield a masking surface as rows of `masking_surface`, without the tag and the hash of the rules."""
    for each in found.columns:
        column = _shown(now, each.dataset, each.key)
        yield (*column, each.exposure, each.tagged, *_via(now, each), found.exposed_until(each), each.earlier)


def _via(now: SnapshotOfRows, each: Surfaced) -> Row:
    hit = each.hit
    if hit is not None:
        parent = now.graph.columns[hit.parent]
        distance = hit.distance if each.exposure != "once_exposed" else None  # it may lead over what is replaced
        return distance, *_shown(now, parent.dataset, parent.key), *now.graph.sets[hit.edge_set][0].job.parts
    job = (None, None) if each.opaque is None else now.graph.sets[each.opaque][0].job.parts
    return None, None, None, None, *job


def _shown(now: SnapshotOfRows, dataset: int, key: str | None) -> Row:
    name = now.graph.names[dataset]
    return (*name.parts, None if key is None else now.columns(name).shown(key))


def _job(now: SnapshotOfRows, number: int) -> str:
    return "/".join(now.graph.sets[number][0].job.parts)
