"""Find the newest value of each facet of each run, job and dataset, including custom facets."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Raw
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.facet_digests import is_deleted
from headwater.events.stored_cells import shape_from_cells
from headwater.events.wire import NULL
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import event_order, order_text, order_text_at_index
from headwater.lineage.runs.jobs import run_key
from headwater.lineage.runs.sent_facets import (
    RUN_INDEX,
    decode_members,
    facets_of_shape,
    parse_stored_event,
    sent_facets,
)
from headwater.spark.delta.arrow_rows import Row, map_rows
from headwater.spark.delta.spark_delta import TableFolder, checkpoint
from headwater.spark.silver.bronze_reading import BODY_COLUMNS
from headwater.spark.silver.content_texts import rows_by_key
from headwater.spark.silver.event_shapes import CONTENT_ADDRESSED, EventShapes
from headwater.tables import FACETS, VALUES, Table, columns_without

SENT = Table(
    "sent_facets", {**columns_without(FACETS, "batch", "rules_hash"), "content_hash": "string", "in_body": "boolean"}
)
"""One row for each facet of a run, job or dataset in an event.

`content_hash`: identifies the value in table `facets` of bronze. `in_body`: only the body of the event contains the
value.
"""

KEY = ["entity", "namespace", "name", "facet"]
_RUN_COLUMNS = [
    "event_id",
    "received_us",
    "event_type",
    "event_time",
    "run_id",
    "job_namespace",
    "job_name",
    "run_facets",
]
_SHARED = ["shape", "event_kind", "job_namespace", "job_name", "producer"]
_MAX_ROWS = 20_000


def newest_facets(
    bronze: TableFolder,
    events: DataFrame,
    parsed: DataFrame,
    shapes: EventShapes,
    names: NameRules,
    *,
    run_facets_in_body: bool,
) -> DataFrame:
    """Return the newest value of each facet in these events. The value of a deleted facet is null.

    parsed: the rows of `PARSED` for the events. run_facets_in_body: only bodies of events contain the facets of some
    runs.
    """
    runs = map_rows(
        events.where("run_facets IS NOT NULL AND shape IS NOT NULL").select(*_RUN_COLUMNS), run_facets, SENT
    )
    newest = parsed.groupBy(*_SHARED).agg(F.max(F.struct("event_order", "time_us")).alias("newest"))
    shared_rows = newest.join(shapes.rows, "shape").select("shape_row", *_SHARED[1:], "newest.*")
    found = newest_of(bronze.coalesce_if_small(runs.unionByName(map_rows(shared_rows, ShapeFacets(names), SENT))))
    if run_facets_in_body or shapes.has_events_without_shape or shapes.has_facets_in_body:
        found = _with_bodies(bronze, events, parsed, checkpoint(found), names)
    found = checkpoint(found)
    values = rows_by_key(bronze, VALUES, found, "content_hash")
    values = values.groupBy("content_hash").agg(F.min("value").alias("stored"))
    return found.join(values, "content_hash", "left").withColumn("value", F.coalesce("value", "stored"))


def newest_of(facets: DataFrame) -> DataFrame:
    """Return the newest row for each facet of each run, job and dataset."""
    rest = [name for name in facets.columns if name not in KEY]
    return facets.groupBy(*KEY).agg(F.max_by(F.struct(*rest), "event_order").alias("newest")).select(*KEY, "newest.*")


def _with_bodies(
    bronze: TableFolder, events: DataFrame, parsed: DataFrame, found: DataFrame, names: NameRules
) -> DataFrame:
    """Add the facets that only bodies of events contain. Spark reads only the bodies of events with such facets."""
    needed = parsed.where("run_facets_in_body OR shape IS NULL").select("event_id")
    needed = needed.union(found.where("in_body").select(F.split("event_order", " ")[3])).distinct()
    bodies = events.join(bronze.coalesce_if_small(needed), "event_id", "left_semi").select(*BODY_COLUMNS)
    every = found.where("NOT in_body").unionByName(map_rows(bodies, BodyFacets(names), SENT))
    return newest_of(bronze.coalesce_if_small(every))


def run_facets(rows: Iterator[Row]) -> Iterator[Row]:
    """Convert the rows of one partition, in the columns `_RUN_COLUMNS`, to rows of `SENT`."""
    newest = _Newest()
    for event_id, received_us, kind, sent_us, run_id, namespace, name, text in rows:
        time_us = received_us if sent_us is None else sent_us
        order = order_text_at_index(order_text(event_order(event_id, kind or "OTHER", time_us, received_us)), RUN_INDEX)
        key = "run", "", run_key(run_id or "", Name(namespace or "", name or ""))
        for facet, value in decode_members(Raw(text.encode())).items():
            if value != NULL:
                raw = bytes(value)
                newest.add((*key, facet), (time_us, order, None if is_deleted(raw) else raw.decode(), None, False))
        yield from newest.flush_if_full()
    yield from newest.flush()


@dataclass(frozen=True)
class ShapeFacets:
    """Reads the facets of jobs and datasets from shapes."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Convert rows (row of `shapes`, kind, job namespace, job name, producer, order, time) to rows of `SENT`.

        order, time: values of the newest event with this shape, kind, job and producer.
        """
        newest = _Newest()
        for shape_row, kind, namespace, name, producer, order, time_us in rows:
            shape, job = shape_from_cells(tuple(shape_row.values())), Name(namespace, name)
            canonical = self.names.canonical_in_event(producer, namespace if kind != "DATASET" else "")
            for entity, of, text, facet in facets_of_shape(
                kind, job, order, shape, canonical, jobs=self.names.canonical_job
            ):
                in_body = facet.content_hash is None and not facet.deleted
                value = None, None if facet.deleted else facet.content_hash, in_body
                newest.add((entity, *of.parts, facet.name), (time_us, text, *value))
            yield from newest.flush_if_full()
        yield from newest.flush()


@dataclass(frozen=True)
class BodyFacets:
    """Reads the facets of jobs, datasets and runs from bodies."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Convert the rows of one partition, in the columns `BODY_COLUMNS`, to rows of `SENT`."""
        newest = _Newest()
        for event_id, received_us, body in rows:
            for sent in sent_facets(
                event_id, received_us, parse_stored_event(body), self.names.canonical_in_event, self.names.canonical_job
            ):
                value = None if sent.is_deleted else bytes(sent.value).decode()
                key = sent.entity, *sent.name.parts, sent.facet
                newest.add(key, (sent.time_us, sent.order, value, None, False))
            yield from newest.flush_if_full()
        yield from newest.flush()


class _Newest:
    """Collects the newest row of each facet, so that a task returns recurring facets once."""

    def __init__(self) -> None:
        self._rows: dict[Row, Row] = {}

    def add(self, key: Row, row: Row) -> None:
        if key[3] not in CONTENT_ADDRESSED and (key not in self._rows or self._rows[key][1] < row[1]):
            self._rows[key] = row

    def flush_if_full(self) -> Iterator[Row]:
        """Yield and remove all rows if there are more than `_MAX_ROWS`."""
        if len(self._rows) > _MAX_ROWS:
            yield from self.flush()

    def flush(self) -> Iterator[Row]:
        yield from ((*key, *row) for key, row in self._rows.items())
        self._rows.clear()
