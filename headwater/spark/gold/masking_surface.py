"""Write `masking_surface`: compute the parts of lineage that a batch may change, and rewrite the changed buckets."""

from collections.abc import Mapping

import msgspec

from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.gold.affected_datasets import AffectedDatasets
from headwater.spark.gold.dataset_answers import compute_answers, redistribute_answers, replace_answers
from headwater.spark.gold.surface_parts import SurfaceParts, sensitive_rows_condition
from headwater.spark.gold.surface_rows import SURFACES, PartSurfaces
from headwater.tables import MASKING_SURFACE


class _SurfaceFacts(msgspec.Struct):
    """The facts about `masking_surface` that the next batch needs.

    is_sensitive: the table contains rows that recurring runs may change. used_tags: as in `PartSurfaces`.
    """

    is_sensitive: bool
    used_tags: list[str]


def write_surface(gold: TableFolder, affected: AffectedDatasets, before: Mapping[str, str]) -> Mapping[str, str]:
    """Write the parts of the surface that the batch may change, or all parts if `before` is empty.

    A worker holds the candidates of one part, with 1.2 to 1.6 KB for each edge. Buckets in which no row changes are not
    rewritten.

    before: the notes of the last batch as JSON, by table name (`LayerPosition.answers`). Returns the notes for the next
    batch in the same form.
    """
    batch, table = affected.batch, MASKING_SURFACE
    note = msgspec.json.decode(before[table.name], type=_SurfaceFacts) if before else None
    changes = affected.changed_datasets is not None or bool(batch.newly_partitioned) or affected.retires_jobs
    parts = SurfaceParts(gold, affected, is_sensitive=note is None or note.is_sensitive)
    if note and not changes and parts.datasets_of_recurring_runs is None:
        redistribute_answers(gold, table, batch)
        return before
    used_tags = sorted(parts.used_tags)
    is_all = note is None or affected.retires_jobs or note.used_tags != used_tags
    scope = parts.scope_of_all() if is_all else parts.scope_of_changes()
    if scope is None:
        redistribute_answers(gold, table, batch)
        return before
    step = PartSurfaces.for_batch(affected, used_tags=parts.used_tags)
    is_written = replace_answers(gold, table, batch, compute_answers(affected, scope, step, SURFACES), scope.names)
    has_sensitive = note.is_sensitive if note else False
    if is_written:
        has_sensitive = bool(gold.read(table).where(sensitive_rows_condition(batch.rules)).take(1))
    return {table.name: msgspec.json.encode(_SurfaceFacts(has_sensitive, used_tags)).decode()}
