"""The runs that a batch tells of, and those that silver holds, as rows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_history import Span
from headwater.lineage.names.dataset_name import Name
from headwater.spark.delta.ranges import begin, ranges
from headwater.spark.delta.spark_delta import TableFolder, kept, texts
from headwater.spark.silver.content_texts import contents_of, refs_in
from headwater.spark.silver.event_shapes import Shapes
from headwater.spark.silver.spark_derivation import GROUP
from headwater.tables import RUN_DATASETS, RUNS, Table

_NAMES = Table("names", {"namespace": "string", "name": "string"})
_RUN_KEYS = Table("run_keys", {"run_key": "string"})
_SPANS = Table("spans", {**_NAMES.columns, "since_us": "long", "until_us": "long"})

Seen = Mapping[str, Any]
"""What `kept` has found out."""


class StoredRuns:
    """Runs, by what is asked of them; parsed: of the batch; touched: the keys of its runs."""

    def __init__(
        self,
        folder: TableFolder,
        bronze: TableFolder,
        parsed: DataFrame,
        begins: Sequence[str],
        *,
        shapes: Shapes,
        names: NameRules,
    ):
        """Take rows of `parse.PARSED`; begins: what the keys of their runs begin with."""
        self.parsed = parsed
        self.touched = parsed.select("run_key").distinct()
        self._folder = folder
        self._bronze = bronze
        self._begins = begins
        self._shapes = shapes
        self._names = names

    def named(self, names: Iterable[Name]) -> DataFrame:
        """Return names as rows (`namespace`, `name`)."""
        return self._folder.rows(_NAMES, sorted({name.parts for name in names}))

    def keyed(self, run_keys: Iterable[str]) -> DataFrame:
        """Return the keys of runs as rows (`run_key`)."""
        return self._folder.rows(_RUN_KEYS, [(key,) for key in sorted(run_keys)])

    def spans(self, spans: Iterable[Span]) -> DataFrame:
        """Return spans as rows (`namespace`, `name`, `since_us`, `until_us`)."""
        return self._folder.rows(_SPANS, [(*name.parts, *times) for name, *times in sorted(set(spans))])

    def users(self, spans: Iterable[Span]) -> DataFrame:
        """Return `run_key` of the stored runs that use one of these names, as sent, at such a time."""
        used = self._folder.read(RUN_DATASETS).join(F.broadcast(self.spans(spans)), ["namespace", "name"])
        return used.where("first_us <= until_us AND last_us >= since_us").select("run_key").distinct()

    def facts_of(self, run_keys: DataFrame) -> DataFrame:
        """Return rows in the columns `GROUP` of these runs, stored and in the batch."""
        run_keys, seen = kept(run_keys, begins=texts(begin("run_key")))
        own = self.parsed.select(*GROUP).join(run_keys, "run_key", "left_semi")
        return self._folder.few(self._stored(run_keys, json.loads(seen["begins"])).unionByName(own))

    def rows_of(self, others: DataFrame | None) -> tuple[DataFrame, DataFrame]:
        """Return rows in the columns `GROUP` of the runs of the batch and of others, and what they refer to."""
        stored = self._stored(self.touched, self._begins)
        if others is not None:
            keys, seen = kept(others.join(self.touched, "run_key", "left_anti"), begins=texts(begin("run_key")))
            stored = self._folder.few(stored.unionByName(self._stored(keys, json.loads(seen["begins"]))))
        stored, found = kept(stored, count=F.count("*"))
        fresh = self.parsed.select(*GROUP)
        if not found["count"]:
            return fresh, self.contents()
        return self._folder.few(fresh.unionByName(stored)), self.contents(stored)

    def contents(self, more: DataFrame | None = None) -> DataFrame:
        """Return rows of `content_texts.CONTENT` for all that the batch refers to, and `more` rows."""
        known = self._shapes.contents
        rows = [self.parsed.where("shape IS NULL")] if self._shapes.old else []
        rows = [each.select("contents") for each in (*rows, *([] if more is None else [more]))]
        if not rows:
            return known
        refs = refs_in(self._folder.few(reduce(DataFrame.unionByName, rows))).join(known, "ref", "left_anti")
        return self._folder.few(known.unionByName(contents_of(self._bronze, refs, self._names)))

    def contents_in(self, rows: DataFrame) -> DataFrame:
        """Return rows of `content_texts.CONTENT` for all that rows refer to."""
        return contents_of(self._bronze, refs_in(rows), self._names)

    def _stored(self, run_keys: DataFrame, begins: Sequence[str]) -> DataFrame:
        near = self._folder.read(RUNS).where(ranges("run_key", begins)).select(*GROUP)
        return near.join(run_keys, "run_key", "left_semi")
