"""Find the datasets whose answers a batch may change, and the candidates that decide the verdicts of rule 9.

The verdicts of a dataset depend on the candidates that name it, and on the columns of all datasets that these
candidates name. Other candidates matter in two cases. Lineage that knows a dataset settles doubts about its name
(rule 4.10). The search for readers continues through dropped or renamed datasets, and through jobs that lineage names
(rule 4.12).
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import job_key
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates, with_new_ids
from headwater.spark.gold.buckets import bucket_column
from headwater.spark.silver.candidate_rows import JOB, SETTLES, WRITTEN
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.tables import DATASETS, EDGE_SETS, Table

REPRESENTATIVE = ["representative_namespace", "representative_name"]
"""Columns with the smallest of the names that symlinks and renames relate to a dataset.

The verdicts of datasets with the same representative are computed together.
"""

_NAME = ["namespace", "name"]
_REPRESENTATIVES = Table(
    "representatives", {**dict.fromkeys((*_NAME, *REPRESENTATIVE), "string"), "follows": "boolean"}
)
OF_JOB = "\0job"
"""The namespace of entries for jobs that lineage names or that `jobs.yaml` retires.

All candidates of such a job have the same entry, so a join by this entry finds all of them.
"""
_JOBS = Table("jobs", dict.fromkeys((*_NAME, "job_namespace", "job_name"), "string"))

_NAMES = "ARRAY<ARRAY<STRING>>"


class AnswerScope(NamedTuple):
    """The datasets whose answers are computed, and the rows that decide these answers.

    A bucket groups datasets. A worker holds the rows of one bucket at a time.

    targets: (`REPRESENTATIVE`, `bucket`) of the datasets whose answers are computed.
    names: (`namespace`, `name`) of all names of the targets; None if the targets are all datasets.
    outputs: (`output_key`, `bucket`) of the candidates that decide the answers.
    neighbors: (`REPRESENTATIVE`, `bucket`) of the targets and of all datasets that these candidates name.
    """

    targets: DataFrame
    names: DataFrame | None
    outputs: DataFrame
    neighbors: DataFrame


@dataclass(frozen=True)
class AffectedDatasets:
    """Finds the datasets that a batch affects.

    Every step is a join of distributed frames. The driver holds only the names that symlinks and renames relate, and
    one row for each job that lineage names.

    representatives: the representative of each related name, as `NameResolver.representatives` returns them.
    """

    folder: TableFolder
    batch: SilverBatch
    representatives: Mapping[Name, Name]

    def scope_of_all(self) -> AnswerScope:
        """Return the scope of all datasets, to build a table of answers from scratch."""
        named, _ = self.datasets_of_candidates
        related = self.with_representative(self._name_rows(self.representatives)).select(*REPRESENTATIVE)
        every = (
            named.select(*REPRESENTATIVE)
            .unionByName(self.representative_datasets().select(*REPRESENTATIVE))
            .unionByName(related)
        )
        return self._scope(checkpoint(self.folder.coalesce_if_small(every).distinct()))._replace(names=None)

    def scope_of_changes(self) -> AnswerScope | None:
        """Return the scope of the datasets whose verdicts the batch may change, or None if there are none."""
        if self.retires_jobs:
            return self.scope_of_all()
        if self.affected_datasets is None:
            return None
        return self._scope(with_new_ids(self.affected_datasets))

    def representatives_of(self, names: Iterable[Name]) -> DataFrame:
        """Return the `REPRESENTATIVE` of each name, one row per name."""
        return self.with_representative(self._name_rows(names)).select(*REPRESENTATIVE)

    def representative_datasets(self) -> DataFrame:
        """Return rows of `DATASETS` with their `REPRESENTATIVE`."""
        rows = self.batch.state.read(DATASETS)
        return self.with_representative(rows.withColumns(dict(zip(_NAME, _dataset_columns(), strict=True)))).drop(
            *_NAME
        )

    # Changes

    @cached_property
    def affected_datasets(self) -> DataFrame | None:
        """The changed datasets and the datasets whose verdicts depend on them, as `REPRESENTATIVE`.

        The rows include jobs that lineage names. None if the batch changes no dataset.
        """
        if self.changed_datasets is None:
            return None
        return self._affected(self.datasets_of_candidates[0], self.changed_datasets, self.datasets_of_candidates[1])

    @cached_property
    def changed_datasets(self) -> DataFrame | None:
        """The datasets that the batch changes, as (`REPRESENTATIVE`, `has_new_columns`). None if there are none.

        has_new_columns: the columns of the dataset may have changed, not only the lineage that names the dataset.
        """
        batch, found = self.batch, list[DataFrame]()
        names = {*batch.moved, *batch.ambiguity_changes}
        if names:
            found.append(self.representatives_of(names).withColumn("has_new_columns", F.lit(True)))
        if batch.changed_datasets is not None:
            changed = self.with_representative(batch.changed_datasets.select(*_dataset_columns()))
            found.append(changed.select(*REPRESENTATIVE).withColumn("has_new_columns", F.lit(True)))
        if batch.counted is not None:
            found += self._datasets_of_changed_candidates(batch.counted)
        if not found:
            return None
        rows, aggregates = checkpoint_with_aggregates(
            self.folder.coalesce_if_small(reduce(DataFrame.unionByName, found))
            .groupBy(*REPRESENTATIVE)
            .agg(F.max("has_new_columns").alias("has_new_columns")),
            count=F.count("*"),
        )
        return rows if aggregates["count"] else None

    @cached_property
    def retires_jobs(self) -> bool:
        """Whether the newest event of this batch is the first at or after a time at which `jobs.yaml` retires a job."""
        before_us, now_us = self.batch.newest_before_us, self.batch.newest_us
        times = self.batch.rules.names.jobs.retired.values()
        return now_us is not None and any(before_us is None or before_us < at_us <= now_us for at_us in times)

    def _datasets_of_changed_candidates(self, counted: DataFrame) -> Iterable[DataFrame]:
        batch, after = self.batch, self.batch.state.read(EDGE_SETS)
        condition = (
            "NOT repeats_lineage"
            if not (retired := self._retired_condition())
            else f"(NOT repeats_lineage OR {retired})"
        )
        if batch.changes_edges or retired:
            outputs = counted.where(condition).select("output_key").distinct()
            either = batch.before.unionByName(after).join(with_new_ids(outputs), "output_key", "left_semi")
            yield self._names_in(either).select(*REPRESENTATIVE).distinct().withColumn("has_new_columns", F.lit(False))
        if batch.repeats_lineage and batch.had_base_lists:
            yield self._datasets_with_columns_named_again(counted, after).withColumn("has_new_columns", F.lit(False))

    def _datasets_with_columns_named_again(self, counted: DataFrame, after: DataFrame) -> DataFrame:
        """Return the datasets with columns that recurring lineage names again after a base list (rule 12.9).

        counted: candidates of the batch, as rows of `COUNTED`. after: all open candidates after the batch.
        """
        relisted = (
            counted.where("repeats_lineage AND fresh")
            .groupBy("output_key", "group_key")
            .agg(F.max("time_us").alias("now_us"))
        )
        before = self.batch.before.groupBy("group_key").agg(F.max("time_us").alias("was_us"))
        relisted = (
            relisted.join(before, "group_key")
            .groupBy("output_key")
            .agg(F.min("was_us").alias("was_us"), F.max("now_us").alias("now_us"))
        )
        rows = after.join(with_new_ids(relisted).select("output_key"), "output_key", "left_semi")
        named = self._names_in(rows, with_jobs=False)
        bases = self.representative_datasets().where("base_us IS NOT NULL").select(*REPRESENTATIVE, "base_us")
        found = with_new_ids(named).join(with_new_ids(relisted), "output_key").join(bases, REPRESENTATIVE)
        return found.where("was_us <= base_us AND base_us < now_us").select(*REPRESENTATIVE).distinct()

    def _affected(self, named: DataFrame, changed: DataFrame, aggregates: Mapping[str, Any]) -> DataFrame:
        """Compute `affected_datasets` from the values of `datasets_of_candidates` and `changed_datasets`."""
        if not (aggregates["settles"] or aggregates["follows"] or self._changes_columns):
            return changed.select(*REPRESENTATIVE)
        reaches = f"(kind = '{SETTLES}' OR follows OR (kind = '{WRITTEN}' AND has_new_columns))"
        found, frontier = changed.select(*REPRESENTATIVE), changed
        while True:
            outputs = (
                with_new_ids(named)
                .join(with_new_ids(frontier), REPRESENTATIVE)
                .where(reaches)
                .select("output_key")
                .distinct()
            )
            more = (
                with_new_ids(named)
                .join(with_new_ids(outputs), "output_key", "left_semi")
                .groupBy(*REPRESENTATIVE)
                .agg(F.max("follows").alias("follows"))
            )
            more, step_aggregates = checkpoint_with_aggregates(
                self.folder.coalesce_if_small(more.join(with_new_ids(found), REPRESENTATIVE, "left_anti")),
                count=F.count("*"),
                follows=F.max("follows"),
            )
            found = self.folder.coalesce_if_small(found.unionByName(more.select(*REPRESENTATIVE)))
            if not (step_aggregates["count"] and step_aggregates["follows"]):
                return checkpoint(found)
            frontier = more.where("follows").select(*REPRESENTATIVE).withColumn("has_new_columns", F.lit(False))

    @property
    def _changes_columns(self) -> bool:
        return bool(self.batch.moved or self.batch.ambiguity_changes) or self.batch.changed_datasets is not None

    # Candidates and datasets that decide the verdicts

    def _scope(self, targets: DataFrame) -> AnswerScope:
        targets = targets.withColumn("bucket", bucket_column(REPRESENTATIVE[0], REPRESENTATIVE[1], self.batch.buckets))
        return self.scope_of(targets)

    def scope_of(self, targets: DataFrame) -> AnswerScope:
        """Return the scope of the given datasets. targets: (`REPRESENTATIVE`, `bucket`) of the datasets."""
        named, aggregates = self.datasets_of_candidates
        outputs = (
            with_new_ids(named).join(with_new_ids(targets), REPRESENTATIVE).select("output_key", "bucket").distinct()
        )
        outputs = self._with_followed_outputs(named, outputs, aggregates)
        neighbors = with_new_ids(named).join(with_new_ids(outputs), "output_key").select(*REPRESENTATIVE, "bucket")
        neighbors = neighbors.unionByName(targets).distinct()
        return AnswerScope(targets, self._names_of_targets(targets), outputs, neighbors)

    def _names_of_targets(self, targets: DataFrame) -> DataFrame:
        """Return all names of the target datasets, as (`namespace`, `name`)."""
        own = targets.select(
            *(F.col(from_name).alias(name) for name, from_name in zip(_NAME, REPRESENTATIVE, strict=True))
        )
        if not self.representatives:
            return own
        related = self.with_representative(self._name_rows(self.representatives)).join(
            with_new_ids(targets).select(*REPRESENTATIVE), REPRESENTATIVE, "left_semi"
        )
        return self.folder.coalesce_if_small(own.unionByName(related.select(*_NAME))).distinct()

    def _with_followed_outputs(self, named: DataFrame, outputs: DataFrame, aggregates: Mapping[str, Any]) -> DataFrame:
        """Add outputs of two kinds to `outputs`, and return all.

        The first kind settles doubts about names. The second kind is reached through dropped or renamed datasets, and
        through jobs.
        """
        if not (aggregates["settles"] or aggregates["follows"]):
            return outputs
        onward = f"follows OR kind = '{SETTLES}'"
        found = frontier = checkpoint(outputs)
        while True:
            representatives = (
                with_new_ids(named)
                .where(onward)
                .join(with_new_ids(frontier), "output_key")
                .select(*REPRESENTATIVE, "bucket")
                .distinct()
            )
            more = (
                with_new_ids(named)
                .join(with_new_ids(representatives), REPRESENTATIVE)
                .select("output_key", "bucket")
                .distinct()
            )
            more, step_aggregates = checkpoint_with_aggregates(
                self.folder.coalesce_if_small(more.join(with_new_ids(found), ["output_key", "bucket"], "left_anti")),
                count=F.count("*"),
            )
            if not step_aggregates["count"]:
                return found
            found, frontier, onward = (
                checkpoint(self.folder.coalesce_if_small(found.unionByName(more))),
                more,
                "follows",
            )

    # Names

    @cached_property
    def datasets_of_candidates(self) -> tuple[DataFrame, Mapping[str, Any]]:
        """The datasets and jobs that open candidates name, and three facts about them.

        The first value has the distinct rows (`output_key`, `REPRESENTATIVE`, `kind`, `follows`). follows: the search
        for readers continues through this dataset or job. kind: see `candidate_rows.names_json`.

        The second value states whether any row settles a doubt (`settles`), has `follows` set (`follows`), or is of a
        job (`jobs`).
        """
        found = self._names_in(self.batch.state.read(EDGE_SETS))
        return checkpoint_with_aggregates(
            self.folder.coalesce_if_small(found.distinct()),
            settles=F.max(F.col("kind") == SETTLES),
            follows=F.max("follows"),
            jobs=F.max(F.col(REPRESENTATIVE[0]) == OF_JOB),
        )

    def _names_in(self, candidates: DataFrame, *, with_jobs: bool = True) -> DataFrame:
        """Return the datasets that candidates name, in the columns of `datasets_of_candidates`.

        The result includes jobs that `jobs.yaml` retires. with_jobs: also include jobs that lineage names.
        """
        of = candidates.select("output_key", F.explode(F.from_json("names", _NAMES)).alias("of"))
        every = of.selectExpr("output_key", "of[0] AS namespace", "of[1] AS name", "get(of, 2) AS kind")
        named = every.where(f"kind IS NULL OR kind <> '{JOB}'")
        own = {
            "namespace": F.lit(OF_JOB),
            "name": _joined_key("job_namespace", "job_name"),
            "kind": F.lit(None).cast("string"),
        }
        if retired := self._retired_condition():
            named = named.unionByName(candidates.where(retired).withColumns(own).select(*named.columns))
        if with_jobs and self._jobs:
            job_rows = [(*sent, *key.parts) for sent, key in self._jobs.items()]
            jobs = self.folder.coalesce_if_small(self.folder.frame_of_rows(_JOBS, sorted(job_rows)))
            sent = every.where(f"kind = '{JOB}'").join(jobs, _NAME).withColumns(own)
            keys = jobs.select("job_namespace", "job_name").distinct()
            job_candidates = candidates.join(keys, keys.columns, "left_semi").withColumns(own)
            named = named.unionByName(sent.select(*named.columns)).unionByName(job_candidates.select(*named.columns))
        return self.with_representative(named).drop(*_NAME)

    @cached_property
    def _jobs(self) -> Mapping[tuple[str, str], Name]:
        """The keys of the jobs that lineage names (rules 4.12 and 4.13), by the job's (namespace, name) in events.

        The driver collects these jobs from the open candidates before and after the batch.
        """
        every = self.batch.before.unionByName(self.batch.state.read(EDGE_SETS))
        every = every.where(F.col("names").contains(f'"{JOB}"')).select(F.from_json("names", _NAMES).alias("names"))
        of = every.select(F.explode("names").alias("of")).where(f"get(of, 2) = '{JOB}'").selectExpr("of[0]", "of[1]")
        key_of = self.batch.rules.names.canonical_job
        return {(*row,): job_key(key_of(Name(*row)), None) for row in of.distinct().collect()}

    def with_representative(self, rows: DataFrame) -> DataFrame:
        """Add `REPRESENTATIVE` and `follows` of the dataset or job in the columns `namespace` and `name`."""
        is_job = F.col(_NAME[0]) == OF_JOB
        touched = self._changed_names
        if not self.representatives and not touched:
            own = {to: F.col(name) for name, to in zip(_NAME, REPRESENTATIVE, strict=True)}
            return rows.withColumns({**own, "follows": is_job})
        related = {**self.representatives, **{name: self.representatives.get(name, name) for name in touched}}
        followed = {related[name] for name in touched}
        name_rows = [(*name.parts, *home.parts, home in followed) for name, home in sorted(related.items())]
        renamed = {**{name: f"other_{name}" for name in REPRESENTATIVE}, "follows": "touched"}
        of = self.folder.coalesce_if_small(self.folder.frame_of_rows(_REPRESENTATIVES, name_rows)).withColumnsRenamed(
            renamed
        )
        found = rows.join(of, _NAME, "left")
        own = {to: F.coalesce(f"other_{to}", name) for name, to in zip(_NAME, REPRESENTATIVE, strict=True)}
        found = found.withColumns({**own, "follows": is_job | F.coalesce("touched", F.lit(False))})
        return found.drop("touched", *(f"other_{name}" for name in REPRESENTATIVE))

    @property
    def _changed_names(self) -> Set[Name]:
        generations = self.batch.naming.generations
        return {*generations.changed_locations(), *generations.renamed}

    def _name_rows(self, names: Iterable[Name]) -> DataFrame:
        return self.folder.coalesce_if_small(
            self.folder.frame_of_rows(_DATASETS, sorted({name.parts for name in names}))
        )

    def _retired_condition(self) -> str:
        """Return the SQL condition for candidates of jobs that `jobs.yaml` retires, or "" if it retires no job."""
        jobs = self.batch.rules.names.jobs.retired
        terms = [
            f"(job_namespace = {_text(job.namespace)}" + (f" AND job_name = {_text(job.name)})" if job.name else ")")
            for job in sorted(jobs)
        ]
        return f"({' OR '.join(terms)})" if terms else ""


_DATASETS = Table("datasets", dict.fromkeys(_NAME, "string"))


def _joined_key(*columns: str) -> Column:
    return F.concat_ws("/", *columns)


def _dataset_columns() -> list[Column]:
    return [F.col(f"dataset_{name}").alias(name) for name in _NAME]


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
