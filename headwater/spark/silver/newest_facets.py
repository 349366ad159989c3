"""Of each name, as sent, the newest schema and tags, once those of a batch have come."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.schema_history import SeenSchema
from headwater.lineage.names.dataset_history import Span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.runs.newest_first import NEWNESS
from headwater.spark.delta.arrow_rows import map_rows
from headwater.spark.delta.spark_delta import TableFolder, keep, kept, texts
from headwater.spark.silver.content_texts import exact_keys
from headwater.spark.silver.known import LATEST, Latest, SchemaHistory, with_columns
from headwater.spark.silver.silver_datasets import DATASET
from headwater.tables import Table

OF_NAME = ["namespace", "name", *DATASET, "facet", "producer"]
"""What there is one row of `LATEST` of."""

IS_NEWER = "s.moved OR " + " > ".join(f"struct({', '.join(f'{side}.{name}' for name in NEWNESS)})" for side in "st")
"""Which rows replace those that are kept, as `State.put` takes it."""

_GENERATIONS = Table("generations", dict.fromkeys(DATASET, "string"))
_SCHEMA = [*NEWNESS, "content_hash", "value"]
_REST = [name for name in LATEST.columns if name not in OF_NAME]


class NewestFacets:
    """Rows of `LATEST`: those that are kept, and what a batch makes of them."""

    def __init__(self, folder: TableFolder, stored: DataFrame, naming: Naming):
        """Take those that are kept, and what names mean now."""
        self._folder = folder
        self._before = self._now = stored.select(*LATEST.columns)
        self._naming = naming
        self._case_conflicts: Sequence[Sequence[str]] = ()

    def take(self, rows: DataFrame, contents: DataFrame, spans: DataFrame | None) -> DataFrame:
        """Read `facts` of runs; return new rows, of names that mean something else `moved` or `gone`.

        contents: rows of `content_texts.CONTENT`, what they refer to; spans: when names moved, then rows are those of
        all runs that use them.
        """
        said = map_rows(rows.select("parts"), Latest(self._naming), LATEST)
        newest = F.max_by(F.struct(*_REST), F.struct(*NEWNESS)).alias("newest")
        said = said.groupBy(*OF_NAME).agg(newest).select(*OF_NAME, "newest.*")
        found, seen = kept(
            with_columns(said, contents), case_conflicts=texts(F.when(F.col("twins"), F.array(*DATASET)))
        )
        self._case_conflicts = json.loads(seen["case_conflicts"])
        fresh = found.withColumns({"gone": F.lit(False), "moved": F.lit(False)})
        if spans is not None:
            stale = self._stale(spans)
            again = fresh.join(stale, OF_NAME, "left_semi").withColumn("moved", F.lit(True))
            others = fresh.join(stale, OF_NAME, "left_anti")
            gone = stale.join(found, OF_NAME, "left_anti").withColumns({"gone": F.lit(True), "moved": F.lit(True)})
            fresh = keep(self._folder.few(others.unionByName(again).unionByName(gone)))
            self._now = self._now.join(stale, OF_NAME, "left_anti")
        self._now = self._now.unionByName(fresh.where("NOT gone").drop("gone", "moved"))
        return fresh

    def _stale(self, spans: DataFrame) -> DataFrame:
        """Return the rows that were mentioned when their name meant something else: all of them are in these spans."""
        inside = self._now.join(F.broadcast(spans), ["namespace", "name"])
        inside = inside.where("time_us BETWEEN since_us AND until_us")
        return keep(inside.select(*LATEST.columns).dropDuplicates(OF_NAME))

    def newest(self, datasets: Iterable[Name]) -> list[tuple[Name, SeenSchema, str]]:
        """Return (dataset, newest schema, its columns) of those of some datasets that have one."""
        return self._newest(self._now, datasets)

    def renewed(self, rows: DataFrame, lenders: Iterable[Name]) -> Iterator[Span]:
        """Yield those of some datasets of which the batch, rows of `facts`, brings another schema, and since when.

        See `Schemas.renewed`; what is mentioned late may bring another one at any time.
        """
        wanted = frozenset(lenders)
        mentioned = map_rows(rows.select("parts"), SchemaHistory(self._naming, wanted), LATEST).groupBy(*DATASET)
        told = mentioned.agg(F.min("time_us"), F.min("credible"), F.collect_set("content_hash")).collect()
        before = {dataset: seen for dataset, seen, _ in self._newest(self._before, wanted)} if told else {}
        for *dataset, since_us, credible, schemas in told:
            known, span = before.get(Name(*dataset)), Span(Name(*dataset))
            if known is None or not (credible and known.credible) or since_us < known.time_us:
                yield span
            elif set(schemas) != {known.schema}:
                yield span._replace(since_us=since_us)

    def _newest(self, latest: DataFrame, datasets: Iterable[Name]) -> list[tuple[Name, SeenSchema, str]]:
        wanted = F.broadcast(self._folder.rows(_GENERATIONS, sorted(datasets)))
        newest = F.max_by(F.struct(*_SCHEMA), F.struct(*NEWNESS)).alias("newest")
        of = latest.where("facet = 'schema'").join(wanted, DATASET).groupBy(*DATASET)
        rows = of.agg(newest).select(*DATASET, "newest.*").collect()
        return [(Name(*row[:3]), SeenSchema(*row[3:9]), row[9]) for row in rows]

    def told_apart(self, before: Iterable[Name], *, moved: bool) -> Mapping[Name, frozenset[str]]:
        """Return the keys that newest schemas tell apart by case: most lakes have none, then nothing is read.

        before: datasets that had such.
        """
        several = {Name(*name) for name in self._case_conflicts} | set(before)
        if moved:  # an older schema may be the newest one again
            several |= {Name(*row) for row in self._now.where("twins").select(*DATASET).collect()}
        if not several:
            return {}
        wanted = F.broadcast(self._folder.rows(_GENERATIONS, sorted(several)))
        of = self._now.where("facet = 'schema'").join(wanted, DATASET).groupBy(*DATASET)
        rows = of.agg(F.max_by("value", F.struct(*NEWNESS))).collect()
        return {Name(*row[:3]): keys for row in rows if (keys := exact_keys(row[3]))}
