"""Facets as they are: of each run, job and dataset the newest value of every facet, custom ones too."""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names import NameRules
from headwater.lineage.sent_facets import read_stored, sent_facets
from headwater.spark.arrow import Row, map_rows
from headwater.spark.parse import READ
from headwater.tables import FACETS, Table, without

ELSEWHERE = frozenset({"schema", "columnLineage", "lineage"})
"""Content-addressed in bronze; a copy for each run would be most of silver."""

SENT = Table("sent_facets", without(FACETS, "batch", "rules_hash"))
KEY = ["entity", "namespace", "name", "facet"]
_KEPT = 20_000


def newest_facets(events: DataFrame, names: NameRules) -> DataFrame:
    """Return of each entity and facet the newest value that events give it, null where it was deleted."""
    return newest_of(map_rows(events.select(*READ), Reader(names), SENT))


def newest_of(facets: DataFrame) -> DataFrame:
    """Return of each entity and facet the newest row."""
    rest = [name for name in facets.columns if name not in KEY]
    return facets.groupBy(*KEY).agg(F.max_by(F.struct(*rest), "event_order").alias("newest")).select(*KEY, "newest.*")


@dataclass(frozen=True)
class Reader:
    """Reads the rows of one partition; what recurs is sent on once."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield rows of `SENT`."""
        found: dict[tuple[str, ...], Row] = {}
        for event_id, received_us, body in rows:
            for sent in sent_facets(event_id, received_us, read_stored(body), self.names.canonical):
                key = (sent.entity, *sent.name.parts, sent.facet)
                if sent.facet not in ELSEWHERE and (key not in found or found[key][1] < sent.order):
                    value = None if sent.is_deleted else bytes(sent.value).decode()
                    found[key] = (sent.time_us, sent.order, value)
            if len(found) > _KEPT:
                yield from ((*key, *row) for key, row in found.items())
                found.clear()
        yield from ((*key, *row) for key, row in found.items())
