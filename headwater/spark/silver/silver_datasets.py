"""What silver keeps of each dataset, of its columns and of each job: of those that a batch concerns."""

import json
from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.current_candidates import ATTEMPTED
from headwater.lineage.runs.newest_first import NEWNESS
from headwater.spark.delta.arrow_rows import Row, map_rows
from headwater.spark.delta.spark_delta import TableFolder, keep, kept, texts
from headwater.spark.silver.dataset_lists import DatasetLists
from headwater.spark.silver.known import LATEST, PARTS, SCHEMA_FACET, seen_of
from headwater.tables import FIELDS, RUNS, Table

DATASET = ["dataset_namespace", "dataset_name", "generation"]
_PLAIN = DATASET[:2]
_SAID = ["schema_hash", "columns", "tags", "spellings", "ever_read", "base_us"]
_JOB = ["job_namespace", "job_name"]
_READS = "STRUCT<output: ARRAY<STRING>, tables: ARRAY<ARRAY<STRING>>, also_read: ARRAY<ARRAY<STRING>>>"


def reads(candidates: DataFrame) -> DataFrame:
    """Return the datasets that are read to write another, without generation: a MERGE into itself shows no reader."""
    counted = candidates.where(f"layer <> '{ATTEMPTED}'")
    said = counted.select(F.from_json("content", _READS).alias("said")).where("said.output IS NOT NULL")
    read = said.select("said.output", F.explode(F.expr("concat(said.tables, said.also_read)")).alias("name"))
    other = read.where("slice(name, 1, 2) <> slice(output, 1, 2)").select(
        F.expr("name[0]").alias(DATASET[0]), F.expr("name[1]").alias(DATASET[1]), F.lit("").alias(DATASET[2])
    )
    return other.distinct()


def still_read(lost: DataFrame, candidates: DataFrame) -> DataFrame:
    """Look through candidates for datasets that some candidate reads no more."""
    found = lost.join(reads(candidates).withColumn("ever_read", F.lit(True)), DATASET, "left")
    return found.na.fill(False, ["ever_read"])


def sent_spellings(derived: DataFrame) -> DataFrame:
    """Return how the lineage of runs spells columns: a row for each dataset, without generation; from `DERIVED`."""
    column = derived.select(F.explode("spellings").alias("of")).select("of.*")
    of_dataset = column.withColumn("generation", F.lit("")).groupBy(*DATASET)
    return of_dataset.agg(F.collect_set("column").alias("sent"))


def datasets(
    latest: DataFrame, known: DataFrame, concerned: DataFrame, spellings: DataFrame | None = None
) -> DataFrame:
    """Return rows of `datasets` that are other than those that are known, empty ones as `gone`.

    latest: newest facets; concerned: dataset, `ever_read`, null where that stays as it is; `was_hash`: of the schema.
    spellings: rows of `sent_spellings` of runs that may not be known yet. Tags, readers and spellings are of all
    generations together: they stand with the first.
    """
    facets = latest.join(concerned.select(*_PLAIN), _PLAIN, "left_semi")
    columns_of = facets.where(F.col("facet").isin(SCHEMA_FACET, PARTS)).groupBy(*DATASET)
    lists = columns_of.agg(F.collect_list(F.struct(*LATEST.columns)).alias("lists"))
    schemas = map_rows(lists, _columns, _LISTED).select(
        *DATASET, F.struct("content_hash", "value", "base_us").alias("schema")
    )
    of_producer = (
        facets.where("facet = 'tags'")
        .groupBy(*_PLAIN, "producer")
        .agg(F.max_by("value", F.struct(*NEWNESS)).alias("tags"))
    )
    tags = of_producer.groupBy(*_PLAIN).agg(F.to_json(F.sort_array(F.collect_list("tags"))).alias("tags"))
    tags = tags.withColumn("generation", F.lit(""))
    was = known.select(*DATASET, F.struct(*_SAID).alias("was"))
    found = concerned.join(schemas, DATASET, "left").join(tags, DATASET, "left").join(was, DATASET, "left")
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
    nothing = "coalesce(schema_hash, tags, spellings) IS NULL AND NOT ever_read"
    rows = rows.withColumn("gone", F.expr(nothing))
    changed = rows.where(
        F.when(F.col("gone"), F.col("was").isNotNull()).otherwise(~F.struct(*_SAID).eqNullSafe(F.col("was")))
    )
    return changed.withColumn("was_hash", F.col("was.schema_hash")).drop("was")  # gone: its names mean another one now


def _columns(rows: Iterable[Row]) -> Iterator[Row]:
    """Take datasets with their lists; yield those with columns: hash, columns as text, time of the base list."""
    for *dataset, lists in rows:
        cells = [tuple(each.values()) for each in lists]
        found = DatasetLists(any(row[5] == PARTS for row in cells))
        for _, seen, text in seen_of(row for row in cells if row[5] == SCHEMA_FACET):
            found.take(seen, text)
        if found.known.lists:
            base = found.known.base
            yield (*dataset, found.schema, found.columns, base.time_us if base else None)


_LISTED = Table(
    "listed",
    {**dict.fromkeys(DATASET, "string"), "content_hash": "string", "value": "string", "base_us": "long"},
)


def fields(folder: TableFolder, rows: DataFrame) -> DataFrame:
    """Return all rows of `fields`, where these rows of `datasets` have changed."""
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
    return folder.few(stays.select(*fresh.columns).unionByName(fresh))


def jobs(folder: TableFolder, stored: DataFrame, runs: DataFrame, *, known: bool) -> DataFrame:
    """Return rows of `jobs` for the jobs of some runs; stored: all rows as they were; known: some runs were stored."""
    before = stored.select(*_JOB, F.struct("*").alias("was"))
    if not known:
        return _jobs(runs, before).drop("back")
    found, seen = kept(_jobs(runs, before), back=texts(F.when(F.col("back"), F.array(*_JOB))))
    if back := json.loads(seen["back"]):  # rare: then all runs of the job are looked at
        older = folder.spark.createDataFrame(back, "job_namespace string, job_name string")
        others = folder.read(RUNS).where("kind = 'RUN'").join(older, _JOB, "left_semi")
        every = runs.unionByName(others.join(runs, "run_key", "left_anti"), allowMissingColumns=True)
        found = keep(_jobs(folder.few(every), before.join(older, _JOB, "left_anti")))
    return found.drop("back")


def _jobs(runs: DataFrame, known: DataFrame) -> DataFrame:
    """Return rows of `jobs`.

    back: its newest run was seen last by a clock far ahead, and has told a credible time since.
    """
    order = F.struct("last_event_at", "run_key")
    is_back = F.expr("run_key = was.last_run AND last_event_at < was.last_seen_at")
    found = (
        runs.join(known, _JOB, "left")
        .groupBy(*_JOB)
        .agg(
            F.max_by(F.struct("processing", "producer", "run_key", "state", "last_event_at"), order).alias("newest"),
            F.min("started_at").alias("first_seen_at"),
            F.first("was").alias("was"),
            F.coalesce(F.max(is_back), F.lit(False)).alias("back"),
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
        "back",
    )
