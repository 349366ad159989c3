"""Facets as they are: of each run, job and dataset the newest value of every facet, custom ones too."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Raw
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.facet_digests import is_deleted
from headwater.events.stored_cells import shape_of
from headwater.events.wire import NULL
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_key
from headwater.lineage.runs.newest_first import order_of, order_text, placed
from headwater.lineage.runs.sent_facets import RUN_PLACE, members, read_stored, sent_facets, told_by_shape
from headwater.spark.delta.arrow_rows import Row, map_rows
from headwater.spark.delta.spark_delta import TableFolder, keep
from headwater.spark.silver.bronze_reading import BODY
from headwater.spark.silver.content_texts import stored
from headwater.spark.silver.event_shapes import ELSEWHERE, Shapes
from headwater.tables import FACETS, VALUES, Table, without

SENT = Table("sent_facets", {**without(FACETS, "batch", "rules_hash"), "content_hash": "string", "in_body": "boolean"})
"""content_hash: names the value in bronze's `facets`; in_body: the body alone has it."""

KEY = ["entity", "namespace", "name", "facet"]
_OF_RUN = ["event_id", "received_us", "event_type", "event_time", "run_id", "job_namespace", "job_name", "run_facets"]
_ALIKE = ["shape", "event_kind", "job_namespace", "job_name", "producer"]
_KEPT = 20_000


def newest_facets(
    bronze: TableFolder, events: DataFrame, parsed: DataFrame, shapes: Shapes, names: NameRules, *, cut: bool
) -> DataFrame:
    """Return of each entity and facet the newest value that events give it, null where it was deleted.

    parsed: the same events, rows of `PARSED`; cut: the body alone has the facets of some runs.
    """
    runs = map_rows(events.where("run_facets IS NOT NULL AND shape IS NOT NULL").select(*_OF_RUN), of_runs, SENT)
    newest = parsed.groupBy(*_ALIKE).agg(F.max(F.struct("event_order", "time_us")).alias("newest"))
    alike = newest.join(shapes.rows, "shape").select("told", *_ALIKE[1:], "newest.*")
    found = newest_of(bronze.few(runs.unionByName(map_rows(alike, OfShapes(names), SENT))))
    if cut or shapes.old or shapes.vary:
        found = _with_bodies(bronze, events, parsed, keep(found), names)
    values = stored(bronze, VALUES).groupBy("content_hash").agg(F.min("value").alias("stored"))
    return found.join(values, "content_hash", "left").withColumn("value", F.coalesce("value", "stored"))


def newest_of(facets: DataFrame) -> DataFrame:
    """Return of each entity and facet the newest row."""
    rest = [name for name in facets.columns if name not in KEY]
    return facets.groupBy(*KEY).agg(F.max_by(F.struct(*rest), "event_order").alias("newest")).select(*KEY, "newest.*")


def _with_bodies(
    bronze: TableFolder, events: DataFrame, parsed: DataFrame, found: DataFrame, names: NameRules
) -> DataFrame:
    """Read the facets that columns do not hold from the bodies of their events, no others."""
    needed = parsed.where("cut OR shape IS NULL").select("event_id")
    needed = needed.union(found.where("in_body").select(F.split("event_order", " ")[3])).distinct()
    bodies = events.join(bronze.few(needed), "event_id", "left_semi").select(*BODY)
    every = found.where("NOT in_body").unionByName(map_rows(bodies, OfBodies(names), SENT))
    return newest_of(bronze.few(every))


def of_runs(rows: Iterator[Row]) -> Iterator[Row]:
    """Take rows in the columns `_OF_RUN` of one partition; yield rows of `SENT`."""
    newest = _Newest()
    for event_id, received_us, kind, sent_us, run_id, namespace, name, text in rows:
        time_us = received_us if sent_us is None else sent_us
        order = placed(order_text(order_of(event_id, kind or "OTHER", time_us, received_us)), RUN_PLACE)
        key = "run", "", run_key(run_id or "", Name(namespace or "", name or ""))
        for facet, value in members(Raw(text.encode())).items():
            if value != NULL:
                raw = bytes(value)
                newest.take((*key, facet), (time_us, order, None if is_deleted(raw) else raw.decode(), None, False))
        yield from newest.full()
    yield from newest.rest()


@dataclass(frozen=True)
class OfShapes:
    """Reads what shapes say of jobs and datasets."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take (told, kind, job namespace, job name, producer, newest order and time); yield rows of `SENT`."""
        newest = _Newest()
        for told, kind, namespace, name, producer, order, time_us in rows:
            shape, job = shape_of(tuple(told.values())), Name(namespace, name)
            canonical = self.names.in_event(producer, namespace if kind != "DATASET" else "")
            for entity, of, text, facet in told_by_shape(kind, job, order, shape, canonical, jobs=self.names.job):
                in_body = facet.content_hash is None and not facet.deleted
                value = None, None if facet.deleted else facet.content_hash, in_body
                newest.take((entity, *of.parts, facet.name), (time_us, text, *value))
            yield from newest.full()
        yield from newest.rest()


@dataclass(frozen=True)
class OfBodies:
    """Reads bodies."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take rows of `BODY` of one partition; yield rows of `SENT`."""
        newest = _Newest()
        for event_id, received_us, body in rows:
            for sent in sent_facets(event_id, received_us, read_stored(body), self.names.in_event, self.names.job):
                value = None if sent.is_deleted else bytes(sent.value).decode()
                key = sent.entity, *sent.name.parts, sent.facet
                newest.take(key, (sent.time_us, sent.order, value, None, False))
            yield from newest.full()
        yield from newest.rest()


class _Newest:
    """Of each facet the newest row; what recurs is sent on once."""

    def __init__(self) -> None:
        self._rows: dict[Row, Row] = {}

    def take(self, key: Row, row: Row) -> None:
        if key[3] not in ELSEWHERE and (key not in self._rows or self._rows[key][1] < row[1]):
            self._rows[key] = row

    def full(self) -> Iterator[Row]:
        """Yield all rows, once they are many."""
        if len(self._rows) > _KEPT:
            yield from self.rest()

    def rest(self) -> Iterator[Row]:
        yield from ((*key, *row) for key, row in self._rows.items())
        self._rows.clear()
