"""Answer the five questions from gold in a notebook, as pandas frames of at most `limit` rows for `display`."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pandas as pd
from msgspec.structs import astuple
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.snapshot import Window
from headwater.questions.answer_types.common import Stop
from headwater.questions.answer_types.lineage import ReachedColumn
from headwater.questions.declaring import call_with_notebook_values, parse_as
from headwater.questions.parameter_groups import Between, read_walk
from headwater.questions.parameters import MAX_LIMIT, Limit
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Bounds, Subject, find_dataset
from headwater.questions.surface import find_surface
from headwater.spark.gold.surface_rows import SURFACED, surfaced_rows
from headwater.spark.layer_positions import read_position
from headwater.spark.notebook.layers import COUNTS, Layers, open_layers
from headwater.spark.notebook.snapshot_around import SnapshotAround
from headwater.tables import COLUMN_EDGES, EDGE_RUNS, MASKING_SURFACE, TABLE_EDGES, UNUSED_COLUMNS, columns_without

DEPTH = 25
"""Default depth of a walk. Each step is a Spark job."""

_SHOWN = 20
_FARTHEST = 1_000
"""Maximum number of steps of a walk for a surface. It is high, because a surface ends only where lineage ends."""
_ENDS = ["source_namespace", "source_dataset", "source_column", "target_namespace", "target_dataset", "target_column"]
_VERDICT_KEY = ["namespace", "dataset", "column"]
_SHOWN_OF = columns_without(UNUSED_COLUMNS, "bucket", "group_keys", "valid_from", "valid_to", "rules_hash")
_DATASETS = [name for name in _ENDS if not name.endswith("_column")]


class Reached(NamedTuple):
    """The answer of `impact` and `upstream`.

    asked: namespace, dataset and column of the question. columns: one row for each reached column, nearest first, with
    the last step to this column (`via_…`). stops: datasets at which lineage stops, because jobs report no columns, no
    input or no output (`reason`). truncated: the limits of the question cut off some columns.
    """

    asked: tuple[str, str, str | None]
    columns: pd.DataFrame
    stops: pd.DataFrame
    truncated: bool


class Questions:
    """Answers questions from the current generation of silver and gold. After a rebuild, create a new object."""

    def __init__(self, spark: SparkSession, lake: str, rules: UserRules | None = None):
        """Open a lake. rules: the rules with which silver was built. Raises WrongSetting if the lake has no gold."""
        self._layers = open_layers(spark, lake)
        self._rules = replace(self._layers.rules, names=(rules or UserRules()).names)

    def impact(self, dataset: str, column: str | None = None, **how: Any) -> Reached:
        """Return the columns that depend on a column or on a whole dataset. how: as in `upstream`."""
        return self._reach_answer({"dataset": dataset, "column": column, **how}, forward=True)

    def upstream(self, dataset: str, column: str | None = None, **how: Any) -> Reached:
        """Return the columns that a column or a whole dataset comes from.

        how: the other parameters of the question in the HTTP API: namespace, mode, depth (default 25), limit, roots.
        The column `masked_on_the_way` of the answer is true if every path of at most `depth` steps has a masking step.
        Raises NotKnown if the dataset or column is unknown; the message contains similar names.
        """
        return self._reach_answer({"dataset": dataset, "column": column, **how}, forward=False)

    def surface(
        self, tag: str = "pii", limit: int = MAX_LIMIT, *, dataset: str | None = None, column: str | None = None,
        namespace: str | None = None,
    ) -> pd.DataFrame:  # fmt: skip
        """Return the columns that may contain values of tagged columns, the worst `exposure` first.

        With `dataset` and `column`, the answer is about the values of this column, whether or not it has a tag.
        `without_surface` explains an empty answer.

        Columns of the answer: `exposure` is exposed, once_exposed, unknown or masked. `tagged` is true if the column
        itself has the tag. `exposed_until` is the time up to which rows were written unmasked that may still exist.
        `earlier` is true if only earlier writes lead to the column.

        Raises NotKnown if the dataset or column is unknown; the message contains similar names.
        """
        if dataset:
            return self._surface_of(
                Subject(namespace or None, dataset, column or None), parse_as(Limit, "limit", limit)
            )
        found = self._layers.gold(MASKING_SURFACE).where(F.col("tag") == tag.casefold())
        if "tagged" not in found.columns:  # gold of an older release, until the next refresh
            found = found.withColumn("tagged", F.lit(False))
        found = self._rows_of_now(found)
        worst = F.expr(f"array_position(array({', '.join(map(repr, _WORST_FIRST))}), exposure)")
        rows = found.orderBy(worst, F.desc("tagged"), "namespace", "dataset", "column").limit(
            parse_as(Limit, "limit", limit)
        )
        return _to_pandas(
            rows.select(*(name for name in MASKING_SURFACE.columns if name in SURFACED and name in found.columns))
        )

    def without_surface(self, tag: str = "pii", dataset: str | None = None, column: str | None = None) -> str:
        """Explain an empty answer of `surface`. It does not prove that all values are masked."""
        if dataset:
            return f"No value of {column or 'any column'} in {dataset} is known to reach another column."
        known = self._layers.gold(MASKING_SURFACE).select("tag").distinct().orderBy("tag").limit(_SHOWN).collect()
        return (
            f"There are no results for the tag {tag!r}: no column has it, or no value of its columns is known to reach "
            "another column. Where lineage is missing, values may be exposed all the same. "
            f"Tags with results: {', '.join(row.tag for row in known) or 'none'}. Tag columns in `tags.yaml` or with "
            "the facet `tags`, refresh, and ask again."
        )

    def _surface_of(self, source: Subject, limit: int) -> pd.DataFrame:
        around = SnapshotAround(self._layers, self._rules)
        around.fetch(source, forward=True, bounds=Bounds(_FARTHEST, limit), writers=True)
        found = find_surface(around, self._rules, around.counted_edges_with_earlier(Window()), tag="", source=source)
        rows = pd.DataFrame(surfaced_rows(around, found), columns=SURFACED, dtype=object)
        rows["exposed_until"] = pd.Series(
            [None if at is None else _spark_time(at) for at in rows["exposed_until"]], dtype=object
        )
        rank = {word: place for place, word in enumerate(_WORST_FIRST)}
        order = sorted(
            range(len(rows)),
            key=lambda at: (rank[rows["exposure"][at]], *(rows[name][at] or "" for name in SURFACED[:3])),
        )
        return rows.iloc[order[:limit]].reset_index(drop=True)

    def unused(self, dataset: str | None = None, namespace: str | None = None, limit: int = MAX_LIMIT) -> pd.DataFrame:
        """Return the `verdict` of each column of one dataset or of all datasets: used, unused or unknown.

        The verdict is unknown if lineage proves neither use nor disuse. `reason` explains the verdict. `readers` and
        `consumers` are JSON lists. `earlier` is true if the newest execution of no job uses the column, but an
        execution in the last 92 days did. These days end at the newest event. `last_used` is the time at which a run
        last used the column.
        """
        found = self._layers.gold(UNUSED_COLUMNS)
        if dataset:
            name = find_dataset(
                SnapshotAround(self._layers, self._rules), self._rules.names, Subject(namespace, dataset)
            )
            found = found.where((F.col("namespace") == name.namespace) & (F.col("dataset") == name.name))
        rows = self._rows_of_now(found).orderBy(*_VERDICT_KEY).limit(parse_as(Limit, "limit", limit))
        if "group_keys" in found.columns:
            rows = self._with_recurring(rows).orderBy(*_VERDICT_KEY)
        return _to_pandas(
            rows.select(*(name for name in UNUSED_COLUMNS.columns if name in _SHOWN_OF and name in rows.columns))
        )

    def _rows_of_now(self, answers: DataFrame) -> DataFrame:
        """Return the rows of `answers` that are valid for the window that ends at the newest event."""
        if "valid_to" not in answers.columns:  # gold of older releases has no such column
            return answers
        newest_us = read_position(self._layers.positions.collect()).newest_us
        if newest_us is None:
            return answers
        at = F.timestamp_micros(F.lit(newest_us))
        has_begun = F.col("valid_from").isNull() | (F.col("valid_from") <= at)
        return answers.where(has_begun & (F.col("valid_to").isNull() | (F.col("valid_to") > at)))

    def _with_recurring(self, rows: DataFrame) -> DataFrame:
        """Include recurring runs in the `last_used` of verdicts."""
        keys = rows.select(*_VERDICT_KEY, F.explode(F.from_json("group_keys", "ARRAY<STRING>")).alias("group_key"))
        runs = self._layers.gold(EDGE_RUNS).select("group_key", "last_seen")
        recurring = keys.join(runs, "group_key").groupBy(*_VERDICT_KEY).agg(F.max("last_seen").alias("last_recurrence"))
        return rows.join(recurring, _VERDICT_KEY, "left").withColumn(
            "last_used", F.greatest("last_used", "last_recurrence")
        )

    def diff(
        self, since: datetime | str, until: datetime | str | None = None, limit: int = MAX_LIMIT
    ) -> pd.DataFrame:  # fmt: skip
        """Return the edges that differ between two moments, with their `change`: added, removed, or changed in masking.

        since, until: times, in UTC if they have no time zone; `until` is by default the current time. The columns of an
        edge are null if jobs report only that one table feeds another. If edges between columns replace such an edge,
        the replaced edge does not count as removed.
        """
        between = call_with_notebook_values(Between, {"since": since, "until": until})
        was, now = (_edges_at(self._layers, each and each.fixed_us()) for each in (between.from_, between.to))
        both = was.withColumn("maker", F.col("made")).withColumn("side", F.lit("was"))
        both = both.unionByName(now.withColumn("maker", F.col("made")).withColumn("side", F.lit("now")))
        side = {name: F.first(F.expr(f"CASE WHEN side = '{name}' THEN made END"), ignorenulls=True).alias(name)
                for name in ("was", "now")}  # fmt: skip
        edges = both.groupBy(*_ENDS, "direct").agg(*side.values())
        changed = F.expr(
            "CASE WHEN was IS NULL THEN 'added' WHEN now IS NULL THEN 'removed'"
            " WHEN was.masked <> now.masked THEN 'changed' END"
        )
        reported = now.select(*_DATASETS).distinct().withColumn("is_reported", F.lit(True))
        found = edges.withColumn("change", changed).join(reported, _DATASETS, "left")
        found = found.where(
            "change IS NOT NULL AND NOT (change = 'removed' AND source_column IS NULL AND is_reported <=> true)"
        )
        maker = F.coalesce("now", "was")
        rows = found.select(
            "change", *_ENDS, "direct", maker["masked"].alias("masked"),
            maker["job_namespace"].alias("job_namespace"), maker["job_name"].alias("job_name"),
        ).orderBy(*_ENDS[3:], *_ENDS[:3], "change")  # fmt: skip
        return self._with_spellings(_to_pandas(rows.limit(parse_as(Limit, "limit", limit))))

    def _reach_answer(self, given: dict[str, Any], *, forward: bool) -> Reached:
        walk = call_with_notebook_values(read_walk, {"depth": DEPTH, **given})
        around = SnapshotAround(self._layers, self._rules)
        around.fetch(walk.start, forward=forward, bounds=walk.bounds)
        found = reach_answer(
            around,
            self._rules.names,
            counted=around.counted_edges_with_earlier(Window()),
            forward=forward,
            **walk._asdict(),
        )
        return Reached(
            astuple(found.column),
            pd.DataFrame([_reached_row(item) for item in found.columns], columns=_REACHED),
            pd.DataFrame([row for stop in found.stops for row in _stop_rows(stop)], columns=_STOPS),
            found.truncated,
        )

    def _with_spellings(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Replace the column names of edges by their spellings in the newest schemas."""
        for side in ("source", "target"):
            names = [Name(*name) for name in zip(rows[f"{side}_namespace"], rows[f"{side}_dataset"], strict=True)]
            columns, keys = self._layers.shown_columns(names), rows[f"{side}_column"]
            shown = [
                None if key is None else columns[name].displayed_spelling(key)
                for name, key in zip(names, keys, strict=True)
            ]
            rows[f"{side}_column"] = pd.Series(shown, dtype=object)
        return rows


_REACHED = [
    "namespace", "dataset", "column", "distance", "masked_on_the_way", "read_before_recreation", "in_schema",
    "via_namespace", "via_dataset", "via_column", "type", "subtype", "job_namespace", "job_name", "earlier",
    "last_seen",
]  # fmt: skip
_WORST_FIRST = ("exposed", "once_exposed", "unknown", "masked")
_STOPS = ["namespace", "dataset", "reason", "onward_namespace", "onward_dataset", "jobs", "may_be_connected"]


def _spark_time(time_us: int) -> datetime:
    """Return a time as Spark returns it: UTC, without a zone."""
    return datetime.fromtimestamp(0, UTC).replace(tzinfo=None) + timedelta(microseconds=time_us)


def _reached_row(item: ReachedColumn) -> tuple[Any, ...]:
    via, how = item.via, item.via.transformation
    attributes = (item.distance, item.masked, item.read_before_recreation, item.in_schema)
    step = (via.namespace, via.dataset, via.column, how.type, how.subtype, via.job.namespace, via.job.name)
    return item.namespace, item.dataset, item.column, *attributes, *step, item.earlier, item.last_seen


def _stop_rows(stop: Stop) -> list[tuple[str | None, ...]]:
    """Return one row for each dataset after a stop.

    If no dataset follows, because a job reports no input or no output, return one row with nulls for this dataset.
    """
    jobs = ", ".join(f"{job.namespace}/{job.name}" for job in stop.jobs)
    links = ", ".join(dict.fromkeys(f"{link.namespace}/{link.dataset}" for link in stop.may_be_connected)) or None
    ends: list[tuple[str | None, str | None]] = [(way.namespace, way.dataset) for way in stop.onward]
    return [(stop.namespace, stop.dataset, stop.reason, *end, jobs, links) for end in ends or [(None, None)]]


def _edges_at(layers: Layers, moment_us: int | None) -> DataFrame:
    """Return the edges that counted at a time (us), or that currently count if the time is None.

    The column `made` contains one job of each edge and whether this job masks. Jobs that do not mask come first.
    """
    columns, tables = (layers.gold(table).where(_counted_condition(moment_us)) for table in (COLUMN_EDGES, TABLE_EDGES))
    null = F.lit(None).cast("string")
    without_columns = {"source_column": null, "target_column": null, "direct": F.lit(True), "masked": F.lit(False)}
    every = columns.unionByName(tables.where("opaque").withColumns(without_columns), allowMissingColumns=True)
    made = F.min(F.struct("masked", "job_namespace", "job_name")).alias("made")
    return every.groupBy(*_ENDS, "direct").agg(made)


def _counted_condition(moment_us: int | None) -> Any:
    if moment_us is None:
        return F.expr(COUNTS)
    at = F.expr(f"timestamp_micros({moment_us})")
    return (F.col("valid_from") <= at) & (F.col("valid_to").isNull() | (F.col("valid_to") > at))


def _to_pandas(rows: DataFrame) -> pd.DataFrame:
    """Return rows as pandas objects. Missing values are None in columns of all types."""
    return pd.DataFrame([tuple(row) for row in rows.collect()], columns=rows.columns, dtype=object)


def overview(spark: SparkSession, lake: str) -> pd.DataFrame:
    """Return the position of silver and gold: the newest sequence of each partition, and the last batch."""
    columns = ["log", "incarnation", "partition", "sequence", "batch"]
    return _to_pandas(open_layers(spark, lake).positions.select(*columns).orderBy(*columns))
