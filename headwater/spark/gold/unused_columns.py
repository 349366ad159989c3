"""Write `unused_columns`: compute the verdicts that a batch may change, and rewrite buckets with changes."""

from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.gold.affected_datasets import AffectedDatasets
from headwater.spark.gold.dataset_answers import compute_answers, redistribute_answers, replace_answers
from headwater.spark.gold.dataset_verdicts import VERDICTS, DatasetVerdicts
from headwater.tables import UNUSED_COLUMNS


def write_unused(gold: TableFolder, affected: AffectedDatasets, *, recompute_all: bool) -> None:
    """Write the verdicts of the datasets that the batch affects, or of all datasets (`recompute_all`).

    A worker holds the candidates that decide the verdicts of one bucket (`affected_datasets`), with 1.2 to 1.6 KB for
    each edge. Buckets in which no verdict changes are not rewritten.
    """
    batch = affected.batch
    scope = affected.scope_of_all() if recompute_all else affected.scope_of_changes()
    if scope is None:
        redistribute_answers(gold, UNUSED_COLUMNS, batch)
        return
    step = DatasetVerdicts.for_batch(affected)
    replace_answers(gold, UNUSED_COLUMNS, batch, compute_answers(affected, scope, step, VERDICTS), scope.names)
