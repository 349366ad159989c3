"""Compute the masking surface from the whole graph, in one Python worker."""

from collections.abc import Iterator
from dataclasses import dataclass

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.traversal.masking_surface import SurfaceColumn
from headwater.questions.surface import FoundSurface, all_tags, find_surface
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.gold.snapshot_of_rows import SnapshotOfRows
from headwater.tables import MASKING_SURFACE, Table, without

SURFACES = Table("surfaces", without(MASKING_SURFACE, "rules_hash"))
"""Rows of `masking_surface`."""


@dataclass(frozen=True)
class Surfaces:
    """Computes the surfaces of all tags. newest_us, partitioned_names, removed_before_us: as in `LayerPosition`."""

    rules: UserRules
    naming: NameResolver
    newest_us: int | None
    partitioned_names: frozenset[Name] = frozenset()
    removed_before_us: int | None = None

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take rows in the columns `CANDIDATE_COLUMNS`, sorted; yield rows of `SURFACES`."""
        now = SnapshotOfRows(self.rules, self.naming, rows, self.partitioned_names)
        now.newest_us = self.newest_us
        now.removed_before_us = self.removed_before_us
        counted = now.counted_with_earlier(now.default_window())
        tags = {key.casefold() for *_, (key, value) in all_tags(now, self.rules) if value.casefold() != "false"}
        for tag in sorted(tags):
            found = find_surface(now, self.rules, counted, tag=tag, source=None)
            for row in surfaced_rows(now, found):
                yield (tag, *row)


SURFACED = [name for name in MASKING_SURFACE.columns if name not in ("tag", "rules_hash")]
"""The columns of `surfaced_rows`."""


def surfaced_rows(now: SnapshotOfRows, found: FoundSurface) -> Iterator[Row]:
    """Yield a masking surface as rows of `masking_surface`, without the tag and the hash of the rules."""
    for each in found.columns:
        column = _shown(now, each.dataset, each.key)
        yield (*column, each.exposure, each.tagged, *_via(now, each), found.exposed_until(each), each.earlier)


def _via(now: SnapshotOfRows, each: SurfaceColumn) -> Row:
    hit = each.hit
    if hit is not None:
        parent = now.graph.columns[hit.parent]
        distance = hit.distance if each.exposure != "once_exposed" else None  # its path may include replaced rows
        return distance, *_shown(now, parent.dataset, parent.key), *now.graph.sets[hit.edge_set][0].job.parts
    job = (None, None) if each.opaque is None else now.graph.sets[each.opaque][0].job.parts
    return None, None, None, None, *job


def _shown(now: SnapshotOfRows, dataset: int, key: str | None) -> Row:
    name = now.graph.names[dataset]
    return (*name.parts, None if key is None else now.columns(name).displayed_spelling(key))
