"""What silver keeps of each dataset, of its columns and of each job: of those that a batch concerns."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.newest import NEWNESS
from headwater.spark.delta import Folder, keep
from headwater.tables import DATASETS, FIELDS, JOBS, LATEST_FACETS, RUNS

DATASET = ["dataset_namespace", "dataset_name", "generation"]
_PLAIN = DATASET[:2]
_JOB = ["job_namespace", "job_name"]
_READS = "STRUCT<output: ARRAY<STRING>, tables: ARRAY<ARRAY<STRING>>, also_read: ARRAY<ARRAY<STRING>>>"


def reads(votes: DataFrame) -> DataFrame:
    """Return the datasets that votes read to write another, without generation: a MERGE into itself shows no reader."""
    said = votes.select(F.from_json("content", _READS).alias("said")).where("said.output IS NOT NULL")
    read = said.select("said.output", F.explode(F.expr("concat(said.tables, said.also_read)")).alias("name"))
    other = read.where("slice(name, 1, 2) <> slice(output, 1, 2)").select(
        F.expr("name[0]").alias(DATASET[0]), F.expr("name[1]").alias(DATASET[1]), F.lit("").alias(DATASET[2])
    )
    return other.distinct()


def still_read(lost: DataFrame, votes: DataFrame) -> DataFrame:
    """Look through votes for datasets that some vote reads no more."""
    found = lost.join(reads(votes).withColumn("ever_read", F.lit(True)), DATASET, "left")
    return found.na.fill(False, ["ever_read"])


def datasets(folder: Folder, concerned: DataFrame) -> DataFrame:
    """Return rows of `datasets` for (dataset, `ever_read`, null where that stays as it is), empty ones as `gone`.

    Tags and readers are of all generations together: they stand with the first.
    """
    facets = folder.read(LATEST_FACETS).join(concerned.select(*_PLAIN), _PLAIN, "left_semi")
    newest = facets.where("facet = 'schema'").groupBy(*DATASET)
    schemas = newest.agg(F.max_by(F.struct("content_hash", "value"), F.struct(*NEWNESS)).alias("schema"))
    of_producer = (
        facets.where("facet = 'tags'")
        .groupBy(*_PLAIN, "producer")
        .agg(F.max_by("value", F.struct(*NEWNESS)).alias("tags"))
    )
    tags = of_producer.groupBy(*_PLAIN).agg(F.to_json(F.sort_array(F.collect_list("tags"))).alias("tags"))
    tags = tags.withColumn("generation", F.lit(""))
    known = folder.read(DATASETS).select(*DATASET, F.col("ever_read").alias("was_read"))
    found = concerned.join(schemas, DATASET, "left").join(tags, DATASET, "left").join(known, DATASET, "left")
    rows = found.select(
        *DATASET,
        F.col("schema.content_hash").alias("schema_hash"),
        F.col("schema.value").alias("columns"),
        "tags",
        F.coalesce("ever_read", "was_read", F.lit(False)).alias("ever_read"),
    )
    nothing_left = F.expr("schema_hash IS NULL AND tags IS NULL AND NOT ever_read")
    return rows.withColumn("gone", nothing_left)  # its names mean another dataset now


def fields(folder: Folder, rows: DataFrame) -> DataFrame:
    """Return rows of `fields` for datasets with another newest schema than before, old columns as `gone`."""
    stored = folder.read(FIELDS)
    before = stored.groupBy(*DATASET).agg(F.first("schema_hash").alias("was"))
    changed = rows.join(before, DATASET, "left").where("NOT schema_hash <=> was")
    path = changed.select(*DATASET, "schema_hash", F.posexplode(F.from_json("columns", "ARRAY<ARRAY<STRING>>")))
    fresh = path.select(
        *DATASET,
        F.array_join("col", ".").alias("field"),
        F.expr("CASE WHEN size(col) > 1 THEN array_join(slice(col, 1, size(col) - 1), '.') END").alias("parent"),
        F.col("pos").alias("ordinal"),
        "schema_hash",
        F.lit(False).alias("gone"),
    ).dropDuplicates([*DATASET, "field"])
    stale = stored.join(changed.select(*DATASET), DATASET, "left_semi").join(fresh, [*DATASET, "field"], "left_anti")
    return fresh.unionByName(stale.select(*fresh.columns[:-1], F.lit(True).alias("gone")))


def _set_back(stored: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the jobs whose newest run was seen last by a clock far ahead, and has told a credible time since."""
    last = stored.select(*_JOB, F.col("last_run").alias("run_key"), "last_seen_at")
    return (
        last.join(runs.select("run_key", "last_event_at"), "run_key")
        .where("last_event_at < last_seen_at")
        .select(*_JOB)
    )


def jobs(folder: Folder, runs: DataFrame) -> DataFrame:
    """Return rows of `jobs` for the jobs of some runs."""
    order = F.struct("last_event_at", "run_key")
    stored = folder.read(JOBS)
    older = keep(_set_back(stored, runs))
    if not older.isEmpty():  # rare: then all runs of the job are looked at
        stored = stored.join(older, _JOB, "left_anti")
        others = folder.read(RUNS).where("kind = 'RUN'").join(older, _JOB, "left_semi")
        runs = runs.unionByName(others.join(runs, "run_key", "left_anti"), allowMissingColumns=True)
    found = runs.groupBy(*_JOB).agg(
        F.max_by(F.struct("processing", "producer", "run_key", "state", "last_event_at"), order).alias("newest"),
        F.min("started_at").alias("first_seen_at"),
    )
    known = stored.select(*_JOB, F.struct("*").alias("was"))
    both = found.join(known, _JOB, "left")
    newer = F.expr(
        "was IS NULL OR newest.last_event_at > was.last_seen_at"
        " OR (newest.last_event_at = was.last_seen_at AND newest.run_key >= was.last_run)"
    )
    names = {"last_seen_at": "last_event_at", "last_run": "run_key", "last_state": "state"}
    newest = ("processing", "producer", *names)
    return both.select(
        *_JOB,
        F.least("first_seen_at", "was.first_seen_at").alias("first_seen_at"),
        *(
            F.when(newer, F.col(f"newest.{names.get(name, name)}")).otherwise(F.col(f"was.{name}")).alias(name)
            for name in newest
        ),
    )
