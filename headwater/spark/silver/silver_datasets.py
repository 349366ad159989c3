"""Compute the rows of `datasets`, `fields` and `jobs` that a batch changes."""

import json
from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.candidates import ATTEMPTED
from headwater.lineage.runs.event_order import ORDER_COLUMNS
from headwater.spark.delta.arrow_rows import Row, map_rows
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates, distinct_values_json
from headwater.spark.silver.dataset_lists import JoinedColumnLists
from headwater.spark.silver.derivation_context import LATEST, PARTS, SCHEMA_FACET, mentions_with_columns
from headwater.tables import FIELDS, RUNS, Table

DATASET = ["dataset_namespace", "dataset_name", "generation"]
_NAME = DATASET[:2]
_VALUES = ["schema_hash", "columns", "tags", "spellings", "ever_read", "base_us"]
_JOB = ["job_namespace", "job_name"]
_READS = "STRUCT<output: ARRAY<STRING>, tables: ARRAY<ARRAY<STRING>>, also_read: ARRAY<ARRAY<STRING>>>"


def datasets_read(candidates: DataFrame) -> DataFrame:
    """Return the datasets that candidates read to write a different dataset, in the columns `DATASET`.

    `generation` is "". A MERGE that reads and writes the same dataset does not count.
    """
    counted = candidates.where(f"layer <> '{ATTEMPTED}'")
    decoded = counted.select(F.from_json("content", _READS).alias("lineage")).where("lineage.output IS NOT NULL")
    read = decoded.select(
        "lineage.output", F.explode(F.expr("concat(lineage.tables, lineage.also_read)")).alias("name")
    )
    other = read.where("slice(name, 1, 2) <> slice(output, 1, 2)").select(
        F.expr("name[0]").alias(DATASET[0]), F.expr("name[1]").alias(DATASET[1]), F.lit("").alias(DATASET[2])
    )
    return other.distinct()


def with_ever_read(lost: DataFrame, candidates: DataFrame) -> DataFrame:
    """Return the datasets in `lost` with the column `ever_read`: whether some candidate still reads the dataset."""
    found = lost.join(datasets_read(candidates).withColumn("ever_read", F.lit(True)), DATASET, "left")
    return found.na.fill(False, ["ever_read"])


def sent_spellings(derived: DataFrame) -> DataFrame:
    """Return (`DATASET`, `sent`), where `sent` lists the spellings of the dataset's columns in lineage.

    `generation` is "". derived: rows of `DERIVED`.
    """
    column = derived.select(F.explode("spellings").alias("of")).select("of.*")
    of_dataset = column.withColumn("generation", F.lit("")).groupBy(*DATASET)
    return of_dataset.agg(F.collect_set("column").alias("sent"))


def dataset_rows(
    latest: DataFrame, known: DataFrame, wanted: DataFrame, spellings: DataFrame | None = None
) -> DataFrame:
    """Return the changed rows of `datasets`, with `gone` and `was_hash`.

    `gone`: the dataset has no schema, tags, spellings or readers any more. `was_hash`: the former `schema_hash`. Tags,
    readers and spellings are common to all generations of a dataset; the row of the first generation contains them.

    latest: the newest facets, as rows of `LATEST`. known: the stored rows of `datasets`.
    wanted: the datasets to compute, with `ever_read`, which is null if the stored value applies.
    spellings: rows of `sent_spellings` to add, or None.
    """
    facets = latest.join(wanted.select(*_NAME), _NAME, "left_semi")
    columns_of = facets.where(F.col("facet").isin(SCHEMA_FACET, PARTS)).groupBy(*DATASET)
    lists = columns_of.agg(F.collect_list(F.struct(*LATEST.columns)).alias("lists"))
    schemas = map_rows(lists, _column_rows, _LISTED).select(
        *DATASET, F.struct("content_hash", "value", "base_us").alias("schema")
    )
    of_producer = (
        facets.where("facet = 'tags'")
        .groupBy(*_NAME, "producer")
        .agg(F.max_by("value", F.struct(*ORDER_COLUMNS)).alias("tags"))
    )
    tags = of_producer.groupBy(*_NAME).agg(F.to_json(F.sort_array(F.collect_list("tags"))).alias("tags"))
    tags = tags.withColumn("generation", F.lit(""))
    was = known.select(*DATASET, F.struct(*_VALUES).alias("was"))
    found = wanted.join(schemas, DATASET, "left").join(tags, DATASET, "left").join(was, DATASET, "left")
    known_spellings = F.col("was.spellings")
    if spellings is not None:
        found = found.join(spellings, DATASET, "left")
        both = F.expr("array_union(coalesce(from_json(was.spellings, 'ARRAY<STRING>'), array()), sent)")
        known_spellings = F.when(F.col("sent").isNull(), known_spellings).otherwise(F.to_json(F.sort_array(both)))
    rows = found.select(
        *DATASET,
        F.col("schema.content_hash").alias("schema_hash"),
        F.col("schema.value").alias("columns"),
        "tags",
        known_spellings.alias("spellings"),
        F.coalesce("ever_read", "was.ever_read", F.lit(False)).alias("ever_read"),
        F.col("schema.base_us").alias("base_us"),
        "was",
    )
    is_empty = "coalesce(schema_hash, tags, spellings) IS NULL AND NOT ever_read"
    # A dataset becomes empty if its names come to mean another dataset.
    rows = rows.withColumn("gone", F.expr(is_empty))
    changed = rows.where(
        F.when(F.col("gone"), F.col("was").isNotNull()).otherwise(~F.struct(*_VALUES).eqNullSafe(F.col("was")))
    )
    return changed.withColumn("was_hash", F.col("was.schema_hash")).drop("was")


def _column_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Convert rows (`DATASET`, rows of `LATEST`) to rows of `_LISTED`, one for each dataset with columns.

    base_us: the time of the dataset's base list, or null.
    """
    for *dataset, lists in rows:
        cells = [tuple(each.values()) for each in lists]
        found = JoinedColumnLists(any(row[5] == PARTS for row in cells))
        for _, mention, text in mentions_with_columns(row for row in cells if row[5] == SCHEMA_FACET):
            found.add(mention, text)
        if found.known.lists:
            base = found.known.base_list
            yield (*dataset, found.schema_hash, found.columns_json, base.time_us if base else None)


_LISTED = Table(
    "listed",
    {**dict.fromkeys(DATASET, "string"), "content_hash": "string", "value": "string", "base_us": "long"},
)


def field_rows(folder: TableFolder, rows: DataFrame) -> DataFrame:
    """Return all rows of `fields` after the batch. rows: the changed rows of `datasets`."""
    changed = rows.where("gone OR NOT schema_hash <=> was_hash")
    path = changed.where("NOT gone").select(
        *DATASET, "schema_hash", "batch", "rules_hash", F.posexplode(F.from_json("columns", "ARRAY<ARRAY<STRING>>"))
    )
    fresh = path.select(
        *DATASET,
        F.array_join("col", ".").alias("field"),
        F.expr("CASE WHEN size(col) > 1 THEN array_join(slice(col, 1, size(col) - 1), '.') END").alias("parent"),
        F.col("pos").alias("ordinal"),
        "schema_hash",
        "batch",
        "rules_hash",
    ).dropDuplicates([*DATASET, "field"])
    stays = folder.read(FIELDS).join(changed.select(*DATASET), DATASET, "left_anti")
    return folder.coalesce_if_small(stays.select(*fresh.columns).unionByName(fresh))


def job_rows(folder: TableFolder, stored: DataFrame, runs: DataFrame, *, known: bool) -> DataFrame:
    """Return the new rows of `jobs` for the jobs of these runs.

    stored: the rows of these jobs before the batch. runs: rows of `DERIVED`. known: silver already contained some of
    the runs before the batch.
    """
    before = stored.select(*_JOB, F.struct("*").alias("was"))
    if not known:
        return _changed_job_rows(runs, before).drop("time_moved_back")
    found, aggregates = checkpoint_with_aggregates(
        _changed_job_rows(runs, before),
        moved_back=distinct_values_json(F.when(F.col("time_moved_back"), F.array(*_JOB))),
    )
    if moved_back := json.loads(aggregates["moved_back"]):  # rare, so reading all runs of the job is acceptable
        older = folder.spark.createDataFrame(moved_back, "job_namespace string, job_name string")
        others = folder.read(RUNS).where("kind = 'RUN'").join(older, _JOB, "left_semi")
        every = runs.unionByName(others.join(runs, "run_key", "left_anti"), allowMissingColumns=True)
        found = checkpoint(_changed_job_rows(folder.coalesce_if_small(every), before.join(older, _JOB, "left_anti")))
    return found.drop("time_moved_back")


def _changed_job_rows(runs: DataFrame, known: DataFrame) -> DataFrame:
    """Return rows of `jobs`, with the column `time_moved_back`.

    time_moved_back: the last event time of the job's newest run is now earlier than before the batch. This happens if
    the time was far in the future until the run sent an event with a credible time.
    """
    order = F.struct("last_event_at", "run_key")
    has_moved_back = F.expr("run_key = was.last_run AND last_event_at < was.last_seen_at")
    found = (
        runs.join(known, _JOB, "left")
        .groupBy(*_JOB)
        .agg(
            F.max_by(F.struct("processing", "producer", "run_key", "state", "last_event_at"), order).alias("newest"),
            F.min("started_at").alias("first_seen_at"),
            F.first("was").alias("was"),
            F.coalesce(F.max(has_moved_back), F.lit(False)).alias("time_moved_back"),
        )
    )
    newer = F.expr(
        "was IS NULL OR newest.last_event_at > was.last_seen_at"
        " OR (newest.last_event_at = was.last_seen_at AND newest.run_key >= was.last_run)"
    )
    names = {"last_seen_at": "last_event_at", "last_run": "run_key", "last_state": "state"}
    newest = ("processing", "producer", *names)
    return found.select(
        *_JOB,
        F.least("first_seen_at", "was.first_seen_at").alias("first_seen_at"),
        *(
            F.when(newer, F.col(f"newest.{names.get(name, name)}")).otherwise(F.col(f"was.{name}")).alias(name)
            for name in newest
        ),
        "time_moved_back",
    )
