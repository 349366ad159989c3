"""The newest schemas and tags of each dataset name as sent, including the schemas and tags of the current batch."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.schema_history import ADDED_COLUMNS
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import NameSpan
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.event_order import ORDER_COLUMNS
from headwater.spark.delta.arrow_rows import map_rows
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates, distinct_values_json
from headwater.spark.silver.content_texts import ambiguous_keys
from headwater.spark.silver.dataset_lists import JoinedColumnLists
from headwater.spark.silver.derivation_context import (
    LATEST,
    PARTS,
    SCHEMA_FACET,
    NewestMentionFinder,
    SchemaMentionFinder,
    mentions_with_columns,
    with_schema_columns,
)
from headwater.spark.silver.silver_datasets import DATASET
from headwater.tables import Table

FACET_KEY = ["namespace", "name", *DATASET, "facet", "producer"]
"""The key of a row of `LATEST`."""

IS_NEWER = "s.moved OR " + " > ".join(
    f"struct({', '.join(f'{side}.{name}' for name in ORDER_COLUMNS)})" for side in "st"
)
"""SQL condition for `State.put`: a row replaces the stored row if it is newer or its column `moved` is true."""

_GENERATIONS = Table("generations", dict.fromkeys(DATASET, "string"))
_VALUE_COLUMNS = [name for name in LATEST.columns if name not in FACET_KEY]


class NewestFacets:
    """Rows of `LATEST`, both before the batch and with the changes of the batch."""

    def __init__(self, folder: TableFolder, stored: DataFrame, naming: NameResolver):
        """naming: the current meaning of names. stored: the rows of `LATEST` before the batch."""
        self._folder = folder
        self._before = self._now = stored.select(*LATEST.columns)
        self._naming = naming
        self._case_conflicts: Sequence[Sequence[str]] = ()

    def add(self, rows: DataFrame, contents: DataFrame, spans: DataFrame | None) -> DataFrame:
        """Add the schemas and tags in the facts of runs. Returns the new rows, with the columns `gone` and `moved`.

        A new row with `moved` replaces the stored row even if the stored row is newer. A row with `gone` deletes the
        stored row.

        rows: the facts of runs (`parts`). contents: rows of `content_texts.CONTENT` for the references of these runs.
        spans: the names that changed their meaning, with the times of the change; None if there are none. If it is set,
        `rows` must contain all runs that use these names.
        """
        mentions = map_rows(rows.select("parts"), NewestMentionFinder(self._naming), LATEST)
        newest = F.max_by(F.struct(*_VALUE_COLUMNS), F.struct(*ORDER_COLUMNS)).alias("newest")
        mentions = mentions.groupBy(*FACET_KEY).agg(newest).select(*FACET_KEY, "newest.*")
        found, aggregates = checkpoint_with_aggregates(
            with_schema_columns(mentions, contents),
            case_conflicts=distinct_values_json(F.when(F.col("twins"), F.array(*DATASET))),
        )
        self._case_conflicts = json.loads(aggregates["case_conflicts"])
        fresh = found.withColumns({"gone": F.lit(False), "moved": F.lit(False)})
        if spans is not None:
            stale = self._rows_in_spans(spans)
            replacing = fresh.join(stale, FACET_KEY, "left_semi").withColumn("moved", F.lit(True))
            others = fresh.join(stale, FACET_KEY, "left_anti")
            gone = stale.join(found, FACET_KEY, "left_anti").withColumns({"gone": F.lit(True), "moved": F.lit(True)})
            fresh = checkpoint(self._folder.coalesce_if_small(others.unionByName(replacing).unionByName(gone)))
            self._now = self._now.join(stale, FACET_KEY, "left_anti")
        self._now = self._now.unionByName(fresh.where("NOT gone").drop("gone", "moved"))
        return fresh

    def _rows_in_spans(self, spans: DataFrame) -> DataFrame:
        """Return the rows of mentions in these spans. The names in these mentions now mean other datasets."""
        inside = self._now.join(F.broadcast(spans), ["namespace", "name"])
        inside = inside.where("time_us BETWEEN since_us AND until_us")
        return checkpoint(inside.select(*LATEST.columns).dropDuplicates(FACET_KEY))

    def lists(self, datasets: Iterable[Name]) -> dict[Name, JoinedColumnLists]:
        """Return the lists of columns of each dataset. An unknown dataset has no lists."""
        return self._lists_of_datasets(self._now, datasets)

    def changed_columns(self, rows: DataFrame, schema_sources: Iterable[Name]) -> Iterator[NameSpan]:
        """Yield the datasets with columns that the batch may change, and the times for which they may change.

        rows: the facts of the batch (`parts`). schema_sources: the datasets to compare. A late mention may change the
        columns of a dataset for all times.
        """
        wanted = frozenset(schema_sources)
        mentioned = map_rows(rows.select("parts"), SchemaMentionFinder(self._naming, wanted), LATEST)
        mentioned_lists = mentioned.groupBy(*DATASET, "producer", "content_hash").agg(
            F.min("time_us"), F.min("credible")
        )
        found = mentioned_lists.collect()
        partitioned = (
            self._partitioned_datasets(self._now, wanted) - self._partitioned_datasets(self._before, wanted)
            if wanted
            else set()
        )
        yield from map(NameSpan, partitioned)
        before = self._lists_of_datasets(self._before, wanted) if found else {}
        for *parts, authority, schema, since_us, credible in found:
            dataset = Name(*parts)
            known = before[dataset].known
            added, changes = before[dataset].compare(schema)
            is_before_base = known.base_list is not None and since_us < known.base_list.time_us
            if not credible or added or is_before_base:
                yield NameSpan(dataset)
            elif int(authority[0]) > ADDED_COLUMNS and changes:
                yield NameSpan(dataset, since_us)

    def _lists_of_datasets(self, latest: DataFrame, datasets: Iterable[Name]) -> dict[Name, JoinedColumnLists]:
        wanted = sorted(datasets)
        named = F.broadcast(self._folder.frame_of_rows(_GENERATIONS, wanted))
        rows = latest.where(F.col("facet") == SCHEMA_FACET).join(named, DATASET).select(*LATEST.columns).collect()
        partitioned = self._partitioned_datasets(latest, wanted)
        found = {dataset: JoinedColumnLists(dataset in partitioned) for dataset in wanted}
        for dataset, mention, text in mentions_with_columns(rows):
            found[dataset].add(mention, text)
        return found

    def _partitioned_datasets(self, latest: DataFrame, datasets: Iterable[Name]) -> set[Name]:
        """Return the datasets of which some event mentions a part."""
        named = F.broadcast(self._folder.frame_of_rows(_GENERATIONS, sorted(datasets)))
        rows = latest.where(F.col("facet") == PARTS).join(named, DATASET).select(*DATASET).distinct().collect()
        return {Name(*row) for row in rows}

    def ambiguous_columns(self, before: Iterable[Name], *, moved: bool) -> Mapping[Name, frozenset[str]]:
        """Return the casefolded names that several columns share in the newest schemas (`ambiguous_keys`), by dataset.

        before: the datasets that had such columns before the batch. moved: the meaning of some names changed. If no
        schema has such columns, as in most lakes, this method reads no table.
        """
        ambiguous = {Name(*name) for name in self._case_conflicts} | set(before)
        if moved:  # an older schema may be the newest again
            ambiguous |= {Name(*row) for row in self._now.where("twins").select(*DATASET).collect()}
        if not ambiguous:
            return {}
        found = {
            dataset: ambiguous_keys(text)
            for dataset, each in self.lists(ambiguous).items()
            if (text := each.columns_json)
        }
        return {dataset: keys for dataset, keys in found.items() if keys}
