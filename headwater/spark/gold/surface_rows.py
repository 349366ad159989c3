"""Compute rows of `masking_surface`: the surfaces of tags in one part of the lineage, each row with its period."""

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.derived_snapshots import CandidateSnapshot
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.traversal.masking_surface import SurfaceColumn
from headwater.questions.surface import FoundSurface, all_tags, find_surface
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.gold.bucket_step import BucketStep, changed_windows
from headwater.spark.gold.snapshot_of_rows import RowSnapshot
from headwater.tables import MASKING_SURFACE, Table, columns_without

SURFACES = Table("surfaces", columns_without(MASKING_SURFACE, "bucket", "rules_hash"))
"""Rows of `masking_surface` without `bucket` and `rules_hash`."""

SURFACED = [name for name in SURFACES.columns if name not in ("tag", "valid_from", "valid_to")]
"""The columns of `surfaced_rows`."""


@dataclass(frozen=True)
class PartSurfaces(BucketStep):
    """Computes the surfaces of a part, as rows of `SURFACES`. Each bucket contains one part.

    used_tags: the tags of datasets that lineage names anywhere, for lineage that names jobs as sources (rule 8.2 g).
    """

    used_tags: frozenset[str]

    def _answers(self, now: RowSnapshot, targets: Set[Name]) -> Iterator[Row]:
        for row in surface_rows(now, self.rules, self.used_tags):
            if self._is_target(Name(row[_NAMESPACE], row[_DATASET]), targets):
                yield row


_NAMESPACE, _DATASET = (list(SURFACES.columns).index(name) for name in ("namespace", "dataset"))


def surface_rows(now: CandidateSnapshot, rules: UserRules, used_tags: Set[str] = frozenset()) -> Iterator[Row]:
    """Yield the surfaces of all tags as rows of `SURFACES`. used_tags: as in `PartSurfaces`."""
    own = {key.casefold() for *_, (key, value) in all_tags(now, rules) if value.casefold() != "false"}
    for tag in sorted(own | used_tags if now.graph.with_source_jobs else own):
        yield from _SurfacePeriods(now, rules, tag, tagged_elsewhere=tag in used_tags).rows()


class _SurfacePeriods:
    """Computes the surface of one tag for windows with different ends.

    The first window ends at the newest event (None). The others end at each time at which the surface may change.
    """

    def __init__(self, now: CandidateSnapshot, rules: UserRules, tag: str, *, tagged_elsewhere: bool):
        self._now, self._rules, self._tag = now, rules, tag
        self._tagged_elsewhere = tagged_elsewhere
        self._newest_us = now.newest_us
        self._known: dict[int, Set[_NumberedRow]] = {}
        self._ends: list[int | None] = [None]
        found = self._find()
        self._known[0] = _number_equal_rows(surfaced_rows(now, found))
        self._ends += sorted(_end_times_us(now, rules, found))

    def rows(self) -> Iterator[Row]:
        """Yield rows of `SURFACES`. A row that never changes has neither `valid_from` nor `valid_to`."""
        found = list(changed_windows(self._rows_at, 0, len(self._ends) - 1, lambda rows: rows))
        begins = [*(self._ends[index] for index, _ in found), None]
        for place, (_, rows) in enumerate(found):
            before = found[place - 1][1] if place else frozenset[_NumberedRow]()
            for each in sorted(rows - before, key=repr):
                last = next((later for later in range(place, len(found)) if each not in found[later][1]), len(found))
                yield (self._tag, *each.row, begins[place], begins[last])

    def _rows_at(self, index: int) -> Set["_NumberedRow"]:
        if index not in self._known:
            self._now.newest_us = self._ends[index]
            self._known[index] = _number_equal_rows(surfaced_rows(self._now, self._find()))
            self._now.newest_us = self._newest_us
        return self._known[index]

    def _find(self) -> FoundSurface:
        counted = self._now.counted_edges_with_earlier(self._now.default_window())
        return find_surface(
            self._now, self._rules, counted, tag=self._tag, source=None, tagged_elsewhere=self._tagged_elsewhere
        )


class _NumberedRow(NamedTuple):
    """A row and its number among equal rows, because two generations of a dataset may have equal rows."""

    row: Row
    number: int


def _number_equal_rows(rows: Iterable[Row]) -> Set[_NumberedRow]:
    counts = Counter[Row]()
    found = set()
    for row in rows:
        found.add(_NumberedRow(row, counts[row]))
        counts[row] += 1
    return found


def _end_times_us(now: Snapshot, rules: UserRules, found: FoundSurface) -> set[int]:
    """Return the times (us) after the newest event at which the surface may change.

    At these times, an attempt leaves the window, or the retention time of written rows ends. found: the surface at the
    newest event.
    """
    newest_us, length_us, graph = now.newest_event_us(), now.default_window().length_us, now.graph
    if newest_us is None:
        return set()
    ends = (
        {now.report_times(number).last_us + length_us for number in now.counted_edges().attempted}
        if length_us
        else set[int]()
    )
    if rules.rewrites:
        writes = [(output, now.report_times(number).last_us) for number, (_, lineage) in graph.edge_sets.items()
                  if (output := lineage.output)]  # fmt: skip
        writes += ((graph.names[dataset], until_us) for (dataset, _), until_us in found.last_clear_write_us.items())
        keeps = ((at_us, rules.retention_us(name.without_generation)) for name, at_us in writes)
        ends |= {at_us + keeps_us for at_us, keeps_us in keeps if keeps_us is not None}
    return {end_us + 1 for end_us in ends if end_us >= newest_us}


def surfaced_rows(now: Snapshot, found: FoundSurface) -> Iterator[Row]:
    """Yield a masking surface as rows with the columns `SURFACED`."""
    for each in found.columns:
        column = _shown_column(now, each.dataset, each.key)
        yield (*column, each.exposure, each.tagged, *_via_cells(now, each), found.exposed_until_us(each), each.earlier)


def _via_cells(now: Snapshot, each: SurfaceColumn) -> Row:
    hit = each.hit
    if hit is not None:
        parent = now.graph.columns[hit.parent]
        distance = hit.distance if each.exposure != "once_exposed" else None  # its path may include replaced rows
        return (
            distance,
            *_shown_column(now, parent.dataset, parent.key),
            *now.graph.edge_sets[hit.edge_set][0].job.parts,
        )
    job = (None, None) if each.opaque is None else now.graph.edge_sets[each.opaque][0].job.parts
    return None, None, None, None, *job


def _shown_column(now: Snapshot, dataset: int, key: str | None) -> Row:
    name = now.graph.names[dataset]
    return (*name.parts, None if key is None else now.columns(name).displayed_spelling(key))
