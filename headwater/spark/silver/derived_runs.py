"""Derive runs. A run that needs the schemas of other runs is derived up to three times."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.schema_history import SchemaMention
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import NameSpan
from headwater.spark.delta.arrow_rows import map_rows
from headwater.spark.delta.ranges import key_prefix
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates, distinct_values_json
from headwater.spark.silver.content_texts import read_columns
from headwater.spark.silver.derivation_context import (
    LATEST,
    DerivationContext,
    SchemaMentionFinder,
    mentions_with_columns,
    with_schema_columns,
)
from headwater.spark.silver.inherited_times import runs_with_changed_inherited_times
from headwater.spark.silver.newest_facets import NewestFacets
from headwater.spark.silver.proven_runs import with_proofs
from headwater.spark.silver.spark_derivation import derive
from headwater.spark.silver.stored_runs import Aggregates, StoredRuns
from headwater.spark.silver.texts import read_names


@dataclass(frozen=True)
class DerivedRuns:
    """Applies the rules to runs, with access to the stored runs and the newest facets.

    facets: the newest facets, including the facets of the batch.
    proofs: rows of `COMMIT_PROOFS`, or None if there are no proofs.
    """

    folder: TableFolder
    stored: StoredRuns
    facets: NewestFacets
    proofs: DataFrame | None = None

    def derive(
        self, rows: DataFrame, contents: DataFrame, context: DerivationContext, *, has_nominal_times: bool
    ) -> tuple[DataFrame, Aggregates]:
        """Apply the rules to runs. Return rows of `DERIVED` and aggregates over these rows.

        If some run has a nominal time, this method also derives the runs that inherit the time (rule 6.1).

        rows: the rows of the runs, in the columns `RUN_COLUMNS`. contents: rows of `CONTENT` for all references in
        `rows`. has_nominal_times: silver contains a run with a nominal time.
        """
        derived, aggregates = self._derive_with_schemas(rows, contents, context)
        if not (has_nominal_times or aggregates["has_nominal_times"]):
            return derived, aggregates
        above = runs_with_changed_inherited_times(self.folder, derived)
        if above is None:
            return derived, aggregates
        to_derive = self.stored.facts_of(above.select("run_key")).join(above, "run_key")
        others = checkpoint(derived.join(above, "run_key", "left_anti"))
        return self._derive_with_schemas(to_derive, self.stored.contents_in(to_derive), context, others)

    def _derive_with_schemas(
        self, rows: DataFrame, contents: DataFrame, context: DerivationContext, done: DataFrame | None = None
    ) -> tuple[DataFrame, Aggregates]:
        """Apply the rules to runs. Derive runs again if they need schemas of datasets that other runs report.

        The second derivation uses the newest lists of columns of these datasets. The third derivation uses all mentions
        of their lists. done: rows of `DERIVED` to add to the result.
        """
        derived, aggregates = self._derive_once(rows, contents, context, done)
        for more in (self._with_newest_lists, self._with_histories):
            wanted = names_of_texts(aggregates["missing"])
            if wanted:
                missing = derived.where("missing IS NOT NULL")
                to_derive = rows.join(missing.select("run_key"), "run_key", "left_semi")
                others = derived.where("missing IS NULL")
                context = more(context, wanted)
                derived, aggregates = self._derive_once(to_derive, contents, context, others)
        return derived, aggregates

    def _derive_once(
        self, rows: DataFrame, contents: DataFrame, context: DerivationContext, others: DataFrame | None = None
    ) -> tuple[DataFrame, Aggregates]:
        rows = rows if self.proofs is None else self.folder.coalesce_if_small(with_proofs(rows, self.proofs))
        derived = derive(rows, contents, context, small=self.folder.small)
        return checkpoint_with_aggregates(
            derived if others is None else self.folder.coalesce_if_small(derived.unionByName(others)),
            missing=distinct_values_json(F.col("missing")),
            schema_sources=distinct_values_json(F.col("schema_sources")),
            stored=distinct_values_json(F.when(F.col("stored"), key_prefix("run_key"))),
            changes=F.sum(F.size("changes")),
            replaced=F.max(F.exists("changes", lambda candidate: candidate["replaced"])),
            executions=distinct_values_json(
                F.transform("changes", lambda candidate: key_prefix(candidate["execution"]))
            ),
            has_nominal_times=F.max(F.col("nominal_at").isNotNull()),
            has_parents=F.max(F.col("parent_run").isNotNull()),
            has_spellings=F.max(F.size("spellings") > 0),
        )

    def _with_newest_lists(self, context: DerivationContext, datasets: set[Name]) -> DerivationContext:
        lists = self.facets.lists(datasets)
        columns = {schema: read_columns(text) for each in lists.values() for schema, text in each.texts.items()}
        partitioned = frozenset(dataset for dataset, each in lists.items() if each.by_parts)
        return replace(
            context,
            newest_lists={name: each.known for name, each in lists.items()},
            partitioned_names=partitioned,
            columns=columns,
        )

    def _with_histories(self, context: DerivationContext, datasets: set[Name]) -> DerivationContext:
        users = (
            self.stored.runs_using_spans(map(NameSpan, context.naming.names_of_any(datasets)))
            .unionByName(self.stored.batch_run_keys)
            .distinct()
        )
        rows = self.stored.facts_of(users)
        used_dataset = map_rows(
            rows.select("parts"), SchemaMentionFinder(context.naming, frozenset(datasets)), LATEST
        ).distinct()
        found = with_schema_columns(
            self.folder.coalesce_if_small(used_dataset), self.stored.contents_in(rows)
        ).collect()
        histories: dict[Name, list[SchemaMention]] = {dataset: [] for dataset in datasets}
        columns = {}
        for dataset, mention, text in mentions_with_columns(found):
            histories[dataset].append(mention)
            columns[mention.schema] = read_columns(text)
        ordered: dict[Name, Sequence[SchemaMention]] = {name: sorted(history) for name, history in histories.items()}
        return replace(context, mention_histories=ordered, columns={**context.columns, **columns})


def names_of_texts(texts_of_names: str) -> set[Name]:
    """Return all names in the aggregate `distinct_values_json` of a column that contains lists of names as JSON."""
    return {Name(*name) for text in json.loads(texts_of_names) for name in read_names(text)}
