"""Runs by the rules: worked out once, and those that take the schemas of other runs up to twice more."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.schema_history import SeenSchema
from headwater.lineage.names.dataset_history import Span
from headwater.lineage.names.dataset_name import Name
from headwater.spark.delta.arrow_rows import map_rows
from headwater.spark.delta.ranges import begin
from headwater.spark.delta.spark_delta import TableFolder, keep, kept, texts
from headwater.spark.silver.content_texts import read_columns
from headwater.spark.silver.inherited_times import runs_dated_above
from headwater.spark.silver.known import LATEST, Known, SchemaHistory, seen_of, with_columns
from headwater.spark.silver.newest_facets import NewestFacets
from headwater.spark.silver.proven_runs import with_proofs
from headwater.spark.silver.spark_derivation import derive
from headwater.spark.silver.stored_runs import Seen, StoredRuns
from headwater.spark.silver.texts import read_names


@dataclass(frozen=True)
class DerivedRuns:
    """Runs among those that are stored; facets: of the batch and all before it.

    proofs: rows of `COMMIT_PROOFS`, None if there are no proofs.
    """

    folder: TableFolder
    stored: StoredRuns
    facets: NewestFacets
    proofs: DataFrame | None = None

    def of(self, rows: DataFrame, contents: DataFrame, known: Known, *, dated: bool) -> tuple[DataFrame, Seen]:
        """Apply the rules to runs; returns rows of `DERIVED` and what was seen of them.

        dated: silver holds a run with a nominal time, which the runs below it have, too.
        """
        derived, told = self._with_columns_of_others(rows, contents, known)
        if not (dated or told["dated"]):
            return derived, told
        above = runs_dated_above(self.folder, derived)
        if above is None:
            return derived, told
        again = self.stored.facts_of(above.select("run_key")).join(above, "run_key")
        others = keep(derived.join(above, "run_key", "left_anti"))
        return self._with_columns_of_others(again, self.stored.contents_in(again), known, others)

    def _with_columns_of_others(
        self, rows: DataFrame, contents: DataFrame, known: Known, done: DataFrame | None = None
    ) -> tuple[DataFrame, Seen]:
        """Apply the rules to runs; done: rows of `DERIVED` that are added.

        Of a dataset whose schema a run takes mostly the newest is enough, else all that it ever had.
        """
        derived, told = self._derived(rows, contents, known, done)
        for more in (self._with_newest, self._with_histories):
            wanted = names_in(told["missing"])
            if wanted:  # then these runs are worked out once more
                missing = derived.where("missing IS NOT NULL")
                again = rows.join(missing.select("run_key"), "run_key", "left_semi")
                others = derived.where("missing IS NULL")
                known = more(known, wanted)
                derived, told = self._derived(again, contents, known, others)
        return derived, told

    def _derived(
        self, rows: DataFrame, contents: DataFrame, known: Known, others: DataFrame | None = None
    ) -> tuple[DataFrame, Seen]:
        rows = rows if self.proofs is None else self.folder.few(with_proofs(rows, self.proofs))
        derived = derive(rows, contents, known, small=self.folder.small)
        return kept(
            derived if others is None else self.folder.few(derived.unionByName(others)),
            missing=texts(F.col("missing")),
            lenders=texts(F.col("lenders")),
            stored=texts(F.when(F.col("stored"), begin("run_key"))),
            changes=F.sum(F.size("changes")),
            replaced=F.max(F.exists("changes", lambda candidate: candidate["replaced"])),
            executions=texts(F.transform("changes", lambda candidate: begin(candidate["execution"]))),
            dated=F.max(F.col("nominal_at").isNotNull()),
            below=F.max(F.col("parent_run").isNotNull()),
            spelt=F.max(F.size("spellings") > 0),
        )

    def _with_newest(self, known: Known, datasets: set[Name]) -> Known:
        lists = self.facets.lists(datasets)
        columns = {schema: read_columns(text) for each in lists.values() for schema, text in each.texts.items()}
        parted = frozenset(dataset for dataset, each in lists.items() if each.by_parts)
        return replace(known, newest={name: each.known for name, each in lists.items()}, parted=parted, columns=columns)

    def _with_histories(self, known: Known, datasets: set[Name]) -> Known:
        users = (
            self.stored.users(map(Span, known.naming.names_of_any(datasets)))
            .unionByName(self.stored.touched)
            .distinct()
        )
        rows = self.stored.facts_of(users)
        used_dataset = map_rows(
            rows.select("parts"), SchemaHistory(known.naming, frozenset(datasets)), LATEST
        ).distinct()
        found = with_columns(self.folder.few(used_dataset), self.stored.contents_in(rows)).collect()
        histories: dict[Name, list[SeenSchema]] = {dataset: [] for dataset in datasets}
        columns = {}
        for dataset, seen, text in seen_of(found):
            histories[dataset].append(seen)
            columns[seen.schema] = read_columns(text)
        ordered: dict[Name, Sequence[SeenSchema]] = {name: sorted(history) for name, history in histories.items()}
        return replace(known, histories=ordered, columns={**known.columns, **columns})


def names_in(texts_of_names: str) -> set[Name]:
    """Return the names in what `texts` has gathered of texts of names."""
    return {Name(*name) for text in json.loads(texts_of_names) for name in read_names(text)}
