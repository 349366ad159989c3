"""How datasets and jobs describe themselves: of every facet the newest, now or up to a moment."""

from collections.abc import Iterable, Iterator

from msgspec import msgpack

from headwater.events.facet_digests import is_deleted
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.catalog_tables import COUNTED, DATASET, JOB
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.newest_first import time_of, until_text

SETS = 1_000
"""Newest sets of facets that are looked at for what held in the past."""

set_from = msgpack.Decoder(list[tuple[str, int]]).decode

_Newest = dict[str, tuple[str, str]]
"""Facet → what makes it the newest, its text."""


class Described:
    """Reads facets from the index's file. A facet whose newest value is `_deleted` is none."""

    def __init__(self, live: LiveGraph):
        """live: at rest on one generation while this is used."""
        self._live = live
        self._sql = live.sql

    def of_job(self, job: Name) -> dict[str, str]:
        """Return the newest text of each facet of a job, by the name people see."""
        return _shown(dict(self._newest(JOB, self._live.names.known(job) or 0, None)))

    def of_dataset(self, dataset: Name, only: str | None = None) -> dict[str, str]:
        """Return the newest text of each facet (or of one) of a dataset; its own come before what was counted at it."""
        names = self._live.naming.names_of(dataset)
        own = _shown(self._of_names(DATASET, dataset, names, only))
        schema = self._schema(dataset, names)
        own = {facet: text for facet, text in own.items() if facet != "schema"} | schema
        found = _shown(self._of_names(COUNTED, dataset, names, only)) | own
        return found if only is None else {facet: text for facet, text in found.items() if facet == only}

    def until(self, time_us: int, kind: int, names: Iterable[Name], only: str | None = None) -> dict[str, str]:
        """Return the same as of a moment.

        A set of facets that was sent before and after it counts as sent at it: when in between is not kept.
        """
        sets: list[tuple[str, bytes, bytes]] = []
        for name in names:
            sets += self._sql.execute(
                "SELECT min(d.event_order, ?1), s.digest, s.value FROM described d "
                "JOIN facet_sets s ON s.id = d.facet_set WHERE d.kind = ?2 AND d.name = ?3 AND d.first_us <= ?4 "
                "ORDER BY d.event_order DESC, s.digest LIMIT ?5",
                (until_text(time_us), kind, self._live.names.known(name) or 0, time_us, SETS),
            )
        found: _Newest = {}
        for _, _, value in sorted(sets, reverse=True):
            for facet, number in set_from(value):
                text = "" if facet in found else self._live.facet_text(number)
                if only in (None, facet) and text and not (facet == "schema" and '"name"' not in text):
                    found[facet] = "", text
        return _shown(found)

    def _of_names(self, kind: int, dataset: Name, names: Iterable[Name], only: str | None) -> _Newest:
        found: _Newest = {}
        for name in names:
            for facet, told in self._newest(kind, self._live.names.known(name) or 0, only):
                means = self._live.naming.resolve(name, time_of(told[0]))
                if means == dataset and (facet not in found or found[facet] < told):
                    found[facet] = told
        return found

    def _newest(self, kind: int, name: int, only: str | None) -> Iterator[tuple[str, tuple[str, str]]]:
        rows = self._sql.execute(
            "SELECT facet, event_order, value FROM newest_facets "
            "WHERE kind = ? AND name = ? AND facet = coalesce(?, facet) ORDER BY facet",
            (kind, name, only),
        )
        for facet, order, value in rows.fetchall():
            yield facet, (order, value if isinstance(value, str) else self._live.facet_text(value))

    def _schema(self, dataset: Name, names: Iterable[Name]) -> dict[str, str]:
        """Return a text of the newest schema as rule 12 has it; texts of one schema differ in who sent it alone."""
        schema = self._live.schema(dataset)
        sets = [
            row
            for name in names
            for row in self._sql.execute(
                "SELECT d.event_order, s.digest, s.value FROM described d JOIN facet_sets s ON s.id = d.facet_set "
                "WHERE d.kind = ? AND d.name = ? AND s.schema = ? ORDER BY d.event_order DESC, s.digest DESC LIMIT 1",
                (DATASET, self._live.names.known(name) or 0, schema),
            )
        ]
        if schema is None or not sets:
            return {}
        return {"schema": self._live.facet_text(dict(set_from(max(sets)[2]))["schema"])}


def _shown(found: _Newest) -> dict[str, str]:
    return {facet: text for facet, (_, text) in found.items() if not is_deleted(text.encode())}
