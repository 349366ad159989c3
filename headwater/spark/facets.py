"""Facets as they are: of each run, job and dataset the newest value of every facet, custom ones too."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import UNSET, Raw
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.decode import decode, repair_surrogates
from headwater.events.times import parse_time
from headwater.events.wire import NULL, read_wire_dataset, read_wire_event
from headwater.lineage.jobs import job_key, run_key
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.part import AHEAD_US
from headwater.lineage.run_facets import Facets, members
from headwater.spark.arrow import Row, map_rows
from headwater.spark.parse import READ
from headwater.tables import FACETS, Table, without

ELSEWHERE = frozenset({"schema", "columnLineage", "lineage"})
"""Content-addressed in bronze; a copy for each run would be most of silver."""

SENT = Table("sent_facets", without(FACETS, "batch", "rules_hash"))
KEY = ["entity", "namespace", "name", "facet"]
_KEPT = 20_000
_FIRST_US = 1 << 62  # makes every time a positive number, so that texts sort as times


def newest_facets(events: DataFrame, names: NameRules) -> DataFrame:
    """Return of each entity and facet the newest value that events give it, null where it was deleted."""
    sent = map_rows(events.select(*READ), Reader(names), SENT)
    rest = [name for name in SENT.columns if name not in KEY]
    return sent.groupBy(*KEY).agg(F.max_by(F.struct(*rest), "event_order").alias("newest")).select(*KEY, "newest.*")


@dataclass(frozen=True)
class Reader:
    """Reads the rows of one partition; what recurs is sent on once."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield rows of `SENT`."""
        found: dict[tuple[str, ...], Row] = {}
        for event_id, received_us, body in rows:
            for entity, name, facets, time_us, order in self._entities(event_id, received_us, body):
                for facet, raw in facets.items():
                    key = (entity, *name, facet)
                    if facet not in ELSEWHERE and raw != NULL and (key not in found or found[key][1] < order):
                        value = None if _is_deleted(raw) else bytes(raw).decode()
                        found[key] = (time_us, order, value)
            if len(found) > _KEPT:
                yield from ((*key, *row) for key, row in found.items())
                found.clear()
        yield from ((*key, *row) for key, row in found.items())

    def _entities(self, event_id: str, received_us: int, body: str) -> Iterator[tuple[str, Name, Facets, int, str]]:
        wire, _ = read_wire_event(repair_surrogates(body.encode()))
        sent_us, _ = parse_time(wire.eventTime)
        time_us = received_us if sent_us is None else sent_us
        credible = int(time_us <= received_us + AHEAD_US)
        at = time_us, f"{credible} {time_us + _FIRST_US:020d} {event_id}"
        job = wire.job if wire.job is not UNSET else None
        if job:
            name = Name(job.namespace, job.name)
            yield "job", job_key(name, None), members(job.facets), *at
            if wire.run is not UNSET:
                yield "run", Name("", run_key(wire.run.runId, name)), members(wire.run.facets), *at
        for raw in (*(wire.inputs or ()), *(wire.outputs or ()), *([] if job else [wire.dataset])):
            read = read_wire_dataset(bytes(raw))
            if read:
                yield "dataset", self.names.canonical(read[0].namespace, read[0].name), members(read[0].facets), *at


def _is_deleted(raw: Raw) -> bool:
    text = bytes(raw)
    if b"_deleted" not in text:
        return False
    value = decode(text)
    return isinstance(value, dict) and value.get("_deleted") is True
