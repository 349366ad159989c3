"""Find the connected parts of the masking surface that a batch may change, and the candidates that decide them.

A part contains tagged datasets and all datasets that open candidates connect with them. The candidates that name the
datasets of a part decide which columns of these datasets are on the surface. A test with random lineage shows that the
surfaces of all parts together equal the surface of the whole graph (`tests/spark/test_surface_parts.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.run_facts import Tag
from headwater.spark.delta.arrow_rows import Row, map_rows
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates, with_new_ids
from headwater.spark.gold.affected_datasets import OF_JOB, REPRESENTATIVE, AffectedDatasets, AnswerScope
from headwater.spark.gold.snapshot_of_rows import read_facet, read_tags
from headwater.spark.silver.candidate_rows import SETTLES, WRITTEN
from headwater.spark.silver.content_texts import read_columns
from headwater.tables import MASKING_SURFACE, Table


def sensitive_rows_condition(rules: UserRules) -> str:
    """Return the SQL condition for rows of `masking_surface` that recurring runs may change.

    Recurring runs extend the time of a write (rules 8.4 and 8.5), or rewrite a dataset.
    """
    by_time = ("exposed_until IS NOT NULL", "earlier", "(tagged AND distance IS NULL AND job_name IS NOT NULL)")
    return " OR ".join((*by_time, "valid_to IS NOT NULL") if rules.rewrites else by_time)


_IS_JOB = f"{REPRESENTATIVE[0]} = '{OF_JOB}'"
_NAME = ["namespace", "name"]
_TAGGED = Table("tagged", dict.fromkeys((*REPRESENTATIVE, *_NAME, "tag"), "string"))


@dataclass(frozen=True)
class SurfaceParts:
    """Finds parts by joins of distributed frames, one step between neighboring datasets at a time.

    is_sensitive: recurring runs may change some rows of the table.
    """

    gold: TableFolder
    affected: AffectedDatasets
    is_sensitive: bool

    def scope_of_all(self) -> AnswerScope:
        """Return the scope of all parts."""
        seeds = with_new_ids(self._tagged_in_lineage)
        if self._names_jobs:
            is_any = with_new_ids(self._tagged_in_lineage).limit(1).select(F.lit(1).alias("any"))
            jobs = self._datasets_of_candidates.where(_IS_JOB).select(*REPRESENTATIVE).distinct()
            seeds = seeds.unionByName(jobs.crossJoin(is_any).select(*REPRESENTATIVE))
        return self._scope(seeds, None)._replace(names=None)

    def scope_of_changes(self) -> AnswerScope | None:
        """Return the scope of the parts with datasets that the batch may change, or None if there are none."""
        changes = list(self._changes())
        if not changes:
            return None
        on_surface = [
            self._stored_datasets(),
            with_new_ids(self._tagged_in_lineage),
            self._datasets_of_candidates.where("follows").select(*REPRESENTATIVE),
        ]
        folder = self.affected.folder
        boundary = checkpoint(folder.coalesce_if_small(reduce(DataFrame.unionByName, on_surface)).distinct())
        changed = folder.coalesce_if_small(reduce(DataFrame.unionByName, changes)).distinct()
        seeds, aggregates = checkpoint_with_aggregates(
            with_new_ids(boundary).join(with_new_ids(changed), REPRESENTATIVE, "left_semi"), count=F.count("*")
        )
        return self._scope(seeds, boundary) if aggregates["count"] else None

    @cached_property
    def used_tags(self) -> frozenset[str]:
        """The tags of datasets that lineage names, if lineage also names jobs as sources (rule 8.2 g); else empty.

        The driver collects one row for each tag.
        """
        if not self._names_jobs:
            return frozenset()
        used = self._datasets_of_candidates.where(f"kind IS NULL OR kind <> '{SETTLES}'").select(*REPRESENTATIVE)
        found = with_new_ids(self._tagged_datasets).join(with_new_ids(used), REPRESENTATIVE, "left_semi")
        return frozenset(row.tag for row in found.select("tag").distinct().collect())

    @property
    def _datasets_of_candidates(self) -> DataFrame:
        return with_new_ids(self.affected.datasets_of_candidates[0])

    @property
    def _names_jobs(self) -> bool:
        return bool(self.affected.datasets_of_candidates[1]["jobs"])

    # Changes

    def _changes(self) -> Iterator[DataFrame]:
        """Yield the datasets whose rows the batch may change, and the datasets in these rows, as `REPRESENTATIVE`."""
        batch = self.affected.batch
        if self.affected.affected_datasets is not None and self.affected.changed_datasets is not None:
            yield with_new_ids(self.affected.affected_datasets).select(*REPRESENTATIVE)
            renamed = with_new_ids(self.affected.changed_datasets).where("has_new_columns")
            readers = (
                self._datasets_of_candidates.join(renamed, REPRESENTATIVE, "left_semi").select("output_key").distinct()
            )
            written = self._datasets_of_candidates.where(f"kind = '{WRITTEN}'").join(
                with_new_ids(readers), "output_key", "left_semi"
            )
            yield written.select(*REPRESENTATIVE)
        if batch.newly_partitioned:
            yield self.affected.representatives_of(batch.newly_partitioned)
        if self.datasets_of_recurring_runs is not None:
            yield with_new_ids(self.datasets_of_recurring_runs)

    @cached_property
    def datasets_of_recurring_runs(self) -> DataFrame | None:
        """The datasets with rows that recurring runs of the batch may change, as `REPRESENTATIVE`, or None."""
        batch = self.affected.batch
        if not self.is_sensitive or batch.counted is None or not batch.repeats_lineage:
            return None
        names = ("dataset_namespace", "dataset_name")
        outputs = batch.counted.where("repeats_lineage AND fresh").select(*names).distinct()
        outputs = outputs.withColumnsRenamed(dict(zip(names, _NAME, strict=True)))
        written = self.affected.with_representative(outputs).select(*REPRESENTATIVE)
        sensitive = self._stored_datasets(sensitive_rows_condition(batch.rules))
        rows, aggregates = checkpoint_with_aggregates(
            with_new_ids(written).join(with_new_ids(sensitive), REPRESENTATIVE, "left_semi"), count=F.count("*")
        )
        return rows if aggregates["count"] else None

    def _stored_datasets(self, where: str = "true") -> DataFrame:
        names = self.gold.read(MASKING_SURFACE).where(where).selectExpr("namespace", "dataset AS name").distinct()
        return self.affected.with_representative(with_new_ids(names)).select(*REPRESENTATIVE).distinct()

    # Tagged datasets

    @cached_property
    def _tagged_in_lineage(self) -> DataFrame:
        """The tagged datasets that candidates name, as `REPRESENTATIVE`."""
        named = self._datasets_of_candidates.select(*REPRESENTATIVE)
        roots = with_new_ids(self._tagged_datasets).select(*REPRESENTATIVE).distinct()
        return checkpoint(roots.join(with_new_ids(named), REPRESENTATIVE, "left_semi"))

    @cached_property
    def _tagged_datasets(self) -> DataFrame:
        """The tags of datasets, as (`REPRESENTATIVE`, `tag`). Some of these tags may apply to no column."""
        rules, folder = self.affected.batch.rules, self.affected.folder
        columns = {"namespace": "dataset_namespace", "name": "dataset_name"}
        rows = self.affected.representative_datasets().select(
            *REPRESENTATIVE, *(F.col(name).alias(to) for to, name in columns.items()), "columns", "tags"
        )
        if not rules.tags:
            rows = rows.where("tags IS NOT NULL")
        else:
            empty = dict.fromkeys(("columns", "tags"), F.lit(None).cast("string"))
            own = {to: F.col(name) for to, name in zip(_NAME, REPRESENTATIVE, strict=True)}
            named = self._datasets_of_candidates.where(f"NOT {_IS_JOB}").select(*REPRESENTATIVE).distinct()
            rows = rows.unionByName(named.withColumns({**own, **empty}).select(*rows.columns))
        found = map_rows(folder.coalesce_if_small(rows), _Tags(rules, self.affected.representatives), _TAGGED)
        return checkpoint(folder.coalesce_if_small(found.select(*REPRESENTATIVE, "tag")).distinct())

    # Parts

    def _scope(self, seeds: DataFrame, boundary: DataFrame | None) -> AnswerScope:
        parts = self._connected_parts(seeds, boundary)
        return self.affected.scope_of(parts.withColumnRenamed("part", "bucket"))

    def _connected_parts(self, seeds: DataFrame, boundary: DataFrame | None) -> DataFrame:
        """Return (`REPRESENTATIVE`, `part`) of the datasets that are connected with the datasets in `seeds`.

        A part is named after its smallest dataset. Each step starts at the datasets that the previous step added or
        moved to another part. It goes to datasets that are written from them, and to connected datasets in `boundary`.
        The number of steps is at most the distance between the farthest datasets of a part.

        boundary: further datasets that belong to a part if they are connected, as `REPRESENTATIVE`; None: no others.
        """
        folder = self.affected.folder
        own = F.concat_ws("\0", *REPRESENTATIVE).alias("part")
        parts = frontier = checkpoint(folder.coalesce_if_small(seeds.distinct()).select(*REPRESENTATIVE, own))
        while True:
            outputs = self._datasets_of_candidates.join(with_new_ids(frontier), REPRESENTATIVE, "left_semi").select(
                "output_key"
            )
            members = self._datasets_of_candidates.join(with_new_ids(outputs.distinct()), "output_key", "left_semi")
            members = members.join(with_new_ids(parts).withColumnRenamed("part", "was"), REPRESENTATIVE, "left")
            members = checkpoint(folder.coalesce_if_small(members))
            of_outputs = (
                with_new_ids(members)
                .groupBy("output_key")
                .agg(
                    F.min("was").alias("part"),
                    F.max(F.expr(f"was IS NOT NULL AND NOT kind <=> '{WRITTEN}'")).alias("is_read"),
                )
            )
            reached = with_new_ids(members).join(with_new_ids(of_outputs), "output_key")
            belongs = f"was IS NOT NULL OR (is_read AND (kind <=> '{WRITTEN}' OR {_IS_JOB}))"
            if boundary is not None:
                flagged = with_new_ids(boundary).withColumn("on_surface", F.lit(True))
                reached = reached.join(flagged, REPRESENTATIVE, "left")
                belongs = f"{belongs} OR on_surface"
            found = (
                reached.where(belongs)
                .groupBy(*REPRESENTATIVE)
                .agg(F.min("part").alias("part"), F.min("was").alias("was"))
            )
            found, aggregates = checkpoint_with_aggregates(
                folder.coalesce_if_small(found.where("was IS NULL OR part < was").drop("was")), count=F.count("*")
            )
            if not aggregates["count"]:
                return parts
            others = with_new_ids(parts).join(with_new_ids(found), REPRESENTATIVE, "left_anti")
            parts, frontier = checkpoint(folder.coalesce_if_small(others.unionByName(found))), found


class _Tags:
    """Converts rows about datasets to rows of `_TAGGED`.

    A user rule may match any column, and any of the names that symlinks and renames relate to a dataset.
    """

    def __init__(self, rules: UserRules, representatives: Mapping[Name, Name]):
        self._rules = rules
        self._related: dict[Name, list[Name]] = {}
        if rules.tags:
            for name, representative in representatives.items():
                self._related.setdefault(representative, []).append(name)

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        for representative_namespace, representative_name, namespace, name, columns, tags in rows:
            representative = Name(representative_namespace, representative_name)
            for tag in set(self._of(representative, Name(namespace, name), columns, tags)):
                yield (*representative.parts, namespace, name, tag)

    def _of(self, representative: Name, own: Name, columns: str | None, tags: str | None) -> Iterator[str]:
        facets: list[Tag] = [tag for text in read_tags(tags) for tag in read_facet(text)] if tags else []
        found: list[tuple[Any, Any]] = [(tag.key, tag.value) for tag in facets]
        if self._rules.tags:
            listed = Columns(read_columns(columns)).names if columns else ()
            for name in {own, *self._related.get(representative, ())}:
                for column in (None, *listed):
                    found += self._rules.tags_of(name.namespace, name.name, column)
        return (key.casefold() for key, value in found if value.casefold() != "false")
