"""Look up runs in the events of a batch and among the runs that silver contains."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import NameSpan
from headwater.spark.delta.ranges import key_prefix, prefix_condition
from headwater.spark.delta.spark_delta import TableFolder, checkpoint_with_aggregates, distinct_values_json
from headwater.spark.silver.content_texts import contents_of, distinct_references
from headwater.spark.silver.event_shapes import EventShapes
from headwater.spark.silver.spark_derivation import RUN_COLUMNS
from headwater.tables import RUN_DATASETS, RUNS, Table

_NAMES = Table("names", {"namespace": "string", "name": "string"})
_RUN_KEYS = Table("run_keys", {"run_key": "string"})
_SPANS = Table("spans", {**_NAMES.columns, "since_us": "long", "until_us": "long"})

Aggregates = Mapping[str, Any]
"""The aggregates that `checkpoint_with_aggregates` returns, by name."""


class StoredRuns:
    """Finds the rows of runs, and the contents to which these rows refer.

    parsed: rows of `PARSED` for the events of the batch. batch_run_keys: the keys (`run_key`) of the runs in the batch.
    """

    def __init__(
        self,
        folder: TableFolder,
        bronze: TableFolder,
        parsed: DataFrame,
        prefixes: Sequence[str],
        *,
        shapes: EventShapes,
        names: NameRules,
    ):
        """prefixes: the prefixes of the run keys in `parsed`, which contains rows of `bronze_reading.PARSED`.

        shapes: the shapes of the events in the batch. names: the rules for names in lineage facets.
        """
        self.parsed = parsed
        self.batch_run_keys = parsed.select("run_key").distinct()
        self._folder = folder
        self._bronze = bronze
        self._prefixes = prefixes
        self._shapes = shapes
        self._names = names

    def name_rows(self, names: Iterable[Name]) -> DataFrame:
        """Return names as rows (`namespace`, `name`)."""
        return self._folder.frame_of_rows(_NAMES, sorted({name.parts for name in names}))

    def run_key_rows(self, run_keys: Iterable[str]) -> DataFrame:
        """Return run keys as rows (`run_key`)."""
        return self._folder.frame_of_rows(_RUN_KEYS, [(key,) for key in sorted(run_keys)])

    def span_rows(self, spans: Iterable[NameSpan]) -> DataFrame:
        """Return spans as rows (`namespace`, `name`, `since_us`, `until_us`)."""
        return self._folder.frame_of_rows(_SPANS, [(*name.parts, *times) for name, *times in sorted(set(spans))])

    def runs_using_spans(self, spans: Iterable[NameSpan]) -> DataFrame:
        """Return the keys (`run_key`) of stored runs that use the name of a span, as sent, at a time in this span."""
        used = self._folder.read(RUN_DATASETS).join(F.broadcast(self.span_rows(spans)), ["namespace", "name"])
        return used.where("first_us <= until_us AND last_us >= since_us").select("run_key").distinct()

    def facts_of(self, run_keys: DataFrame) -> DataFrame:
        """Return the stored rows and the batch's rows of the given runs, in the columns `RUN_COLUMNS`."""
        run_keys, aggregates = checkpoint_with_aggregates(
            run_keys, prefixes=distinct_values_json(key_prefix("run_key"))
        )
        batch_rows = self.parsed.select(*RUN_COLUMNS).join(run_keys, "run_key", "left_semi")
        return self._folder.coalesce_if_small(
            self._stored_facts(run_keys, json.loads(aggregates["prefixes"])).unionByName(batch_rows)
        )

    def rows_with_contents(self, others: DataFrame | None) -> tuple[DataFrame, DataFrame]:
        """Return the rows of the batch's runs in the columns `RUN_COLUMNS`, and the contents to which they refer.

        others: the keys (`run_key`) of further stored runs to return, or None.
        """
        stored = self._stored_facts(self.batch_run_keys, self._prefixes)
        if others is not None:
            keys, aggregates = checkpoint_with_aggregates(
                others.join(self.batch_run_keys, "run_key", "left_anti"),
                prefixes=distinct_values_json(key_prefix("run_key")),
            )
            stored = self._folder.coalesce_if_small(
                stored.unionByName(self._stored_facts(keys, json.loads(aggregates["prefixes"])))
            )
        stored, found = checkpoint_with_aggregates(stored, count=F.count("*"))
        fresh = self.parsed.select(*RUN_COLUMNS)
        if not found["count"]:
            return fresh, self.contents_of_batch()
        return self._folder.coalesce_if_small(fresh.unionByName(stored)), self.contents_of_batch(stored)

    def contents_of_batch(self, more: DataFrame | None = None) -> DataFrame:
        """Return rows of `content_texts.CONTENT` for all references in the batch and in `more`.

        more: further rows with the column `contents`.
        """
        known = self._shapes.contents
        rows = [self.parsed.where("shape IS NULL")] if self._shapes.has_events_without_shape else []
        rows = [each.select("contents") for each in (*rows, *([] if more is None else [more]))]
        if not rows:
            return known
        refs = distinct_references(self._folder.coalesce_if_small(reduce(DataFrame.unionByName, rows))).join(
            known, "ref", "left_anti"
        )
        return self._folder.coalesce_if_small(known.unionByName(contents_of(self._bronze, refs, self._names)))

    def contents_in(self, rows: DataFrame) -> DataFrame:
        """Return rows of `content_texts.CONTENT` for all references in these rows."""
        return contents_of(self._bronze, distinct_references(rows), self._names)

    def _stored_facts(self, run_keys: DataFrame, prefixes: Sequence[str]) -> DataFrame:
        near = self._folder.read(RUNS).where(prefix_condition("run_key", prefixes)).select(*RUN_COLUMNS)
        return near.join(run_keys, "run_key", "left_semi")
