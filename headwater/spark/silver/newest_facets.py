"""Of each name, as sent, the newest schema and tags, once those of a batch have come."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.complete_lists import ADDED
from headwater.lineage.names.dataset_history import Span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.runs.newest_first import NEWNESS
from headwater.spark.delta.arrow_rows import map_rows
from headwater.spark.delta.spark_delta import TableFolder, keep, kept, texts
from headwater.spark.silver.content_texts import exact_keys
from headwater.spark.silver.dataset_lists import DatasetLists
from headwater.spark.silver.known import LATEST, PARTS, SCHEMA_FACET, Latest, SchemaHistory, seen_of, with_columns
from headwater.spark.silver.silver_datasets import DATASET
from headwater.tables import Table

OF_NAME = ["namespace", "name", *DATASET, "facet", "producer"]
"""The key of a row of `LATEST`."""

IS_NEWER = "s.moved OR " + " > ".join(f"struct({', '.join(f'{side}.{name}' for name in NEWNESS)})" for side in "st")
"""Which rows replace those that are kept, as `State.put` takes it."""

_GENERATIONS = Table("generations", dict.fromkeys(DATASET, "string"))
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

    def lists(self, datasets: Iterable[Name]) -> dict[Name, DatasetLists]:
        """Return the lists of columns of some datasets; none of one of which nothing is known."""
        return self._lists(self._now, datasets)

    def renewed(self, rows: DataFrame, lenders: Iterable[Name]) -> Iterator[Span]:
        """Yield those of some datasets whose columns the batch, rows of `facts`, may change, and since when.

        See `Schemas.renewed`; what is mentioned late may change them at any time.
        """
        wanted = frozenset(lenders)
        mentioned = map_rows(rows.select("parts"), SchemaHistory(self._naming, wanted), LATEST)
        told = mentioned.groupBy(*DATASET, "producer", "content_hash").agg(F.min("time_us"), F.min("credible"))
        found = told.collect()
        parted = self._parted(self._now, wanted) - self._parted(self._before, wanted) if wanted else set()
        yield from map(Span, parted)
        before = self._lists(self._before, wanted) if found else {}
        for *parts, worth, schema, since_us, credible in found:
            dataset = Name(*parts)
            known = before[dataset].known
            added, changes = before[dataset].differs(schema)
            late = known.base is not None and since_us < known.base.time_us
            if not credible or added or late:
                yield Span(dataset)
            elif int(worth[0]) > ADDED and changes:
                yield Span(dataset, since_us)

    def _lists(self, latest: DataFrame, datasets: Iterable[Name]) -> dict[Name, DatasetLists]:
        wanted = sorted(datasets)
        named = F.broadcast(self._folder.rows(_GENERATIONS, wanted))
        rows = latest.where(F.col("facet") == SCHEMA_FACET).join(named, DATASET).select(*LATEST.columns).collect()
        parted = self._parted(latest, wanted)
        found = {dataset: DatasetLists(dataset in parted) for dataset in wanted}
        for dataset, seen, text in seen_of(rows):
            found[dataset].take(seen, text)
        return found

    def _parted(self, latest: DataFrame, datasets: Iterable[Name]) -> set[Name]:
        """Return those of some datasets of which some event mentions a part."""
        named = F.broadcast(self._folder.rows(_GENERATIONS, sorted(datasets)))
        rows = latest.where(F.col("facet") == PARTS).join(named, DATASET).select(*DATASET).distinct().collect()
        return {Name(*row) for row in rows}

    def told_apart(self, before: Iterable[Name], *, moved: bool) -> Mapping[Name, frozenset[str]]:
        """Return the keys that newest schemas tell apart by case: most lakes have none, then nothing is read.

        before: datasets that had such.
        """
        several = {Name(*name) for name in self._case_conflicts} | set(before)
        if moved:  # an older schema may be the newest one again
            several |= {Name(*row) for row in self._now.where("twins").select(*DATASET).collect()}
        if not several:
            return {}
        found = {dataset: exact_keys(text) for dataset, each in self.lists(several).items() if (text := each.columns)}
        return {dataset: keys for dataset, keys in found.items() if keys}
