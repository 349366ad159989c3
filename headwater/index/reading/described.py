"""How datasets and jobs describe themselves: of every facet the newest, now or up to a moment."""

from collections.abc import Container, Iterable, Sequence

from msgspec import msgpack

from headwater.events.facet_digests import is_deleted
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.catalog_tables import COUNTED, DATASET, JOB
from headwater.index.stored.database import marks
from headwater.lineage.edges.joined_lists import joined_facet, lists_in
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.newest_first import time_of, until_text

SETS = 1_000
"""Newest sets of facets that are looked at for what held in the past."""

set_from = msgpack.Decoder(list[tuple[str, int]]).decode

_Newest = dict[str, tuple[str, str | int]]
"""Facet → what makes it the newest, its text or the number of that."""


class Described:
    """Reads facets from the index's file. A facet whose newest value is `_deleted` is none."""

    def __init__(self, live: LiveGraph):
        """live: at rest on one generation while this is used."""
        self._live = live
        self._sql = live.sql

    def of_job(self, job: Name) -> dict[str, str]:
        """Return the newest text of each facet of a job, by the name people see."""
        return self._shown({facet: (order, value) for _, facet, order, value in self._newest((JOB,), job, None)})

    def of_dataset(self, dataset: Name, only: str | None = None, without: Container[str] = ()) -> dict[str, str]:
        """Return the newest text of each facet (or of one) of a dataset; its own come before what was counted at it.

        without: facets that are not wanted, and not read.
        """
        names, naming = self._live.naming.names_of(dataset), self._live.naming
        found: dict[int, _Newest] = {DATASET: {}, COUNTED: {}}
        for name in names:
            for kind, facet, order, value in self._newest((DATASET, COUNTED), name, only):
                is_newer = facet not in found[kind] or found[kind][facet][0] < order
                if is_newer and facet not in without and naming.resolve(name, time_of(order)).plain == dataset.plain:
                    found[kind][facet] = order, value
        found[DATASET].pop("schema", None)
        schema = self._schema(dataset, names) if only in (None, "schema") else {}
        return self._shown(found[COUNTED]) | self._shown(found[DATASET]) | schema

    def until(
        self, time_us: int, kind: int, names: Iterable[Name], only: str | None = None, without: Container[str] = ()
    ) -> dict[str, str]:
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
                if facet in found or facet in without or only not in (None, facet):
                    continue
                text = self._live.facet_text(number)
                if text and not (facet == "schema" and '"name"' not in text):
                    found[facet] = "", number
        return self._shown(found)

    def _newest(self, kinds: Sequence[int], name: Name, only: str | None) -> list[tuple[int, str, str, str | int]]:
        """Return (kind, facet, order, its text or the number of that) of what is the newest under one name."""
        return self._sql.execute(
            f"SELECT kind, facet, event_order, value FROM newest_facets WHERE kind IN ({marks(kinds)}) AND name = ? "
            "AND facet = coalesce(?, facet) ORDER BY kind, facet",
            (*kinds, self._live.names.known(name) or 0, only),
        ).fetchall()

    def _schema(self, dataset: Name, names: Iterable[Name]) -> dict[str, str]:
        """Return the columns as rule 12 has them, as a facet; texts of one list differ in who sent it alone.

        It is that of the newest generation that says one, as in `Snapshot.shown_columns`.
        """
        every = self._live.naming.generations.meanings(dataset.plain)
        joined = next((found for each in every if (found := self._live.schema(each))), None)
        texts = [self._schema_text(names, schema) for schema in lists_in(joined)] if joined else []
        known = [text for text in texts if text]
        return {"schema": known[0] if len(known) == 1 else joined_facet(known)} if known else {}

    def _schema_text(self, names: Iterable[Name], schema: str) -> str | None:
        sets = [
            row
            for name in names
            for row in self._sql.execute(
                "SELECT d.event_order, s.digest, s.value FROM described d JOIN facet_sets s ON s.id = d.facet_set "
                "WHERE d.kind = ? AND d.name = ? AND s.schema = ? ORDER BY d.event_order DESC, s.digest DESC LIMIT 1",
                (DATASET, self._live.names.known(name) or 0, schema),
            )
        ]
        return self._live.facet_text(dict(set_from(max(sets)[2]))["schema"]) if sets else None

    def _shown(self, found: _Newest) -> dict[str, str]:
        """Return the texts of facets but for those that are `_deleted`."""
        texts = {
            facet: value if isinstance(value, str) else self._live.facet_text(value)
            for facet, (_, value) in found.items()
        }
        return {facet: text for facet, text in texts.items() if "_deleted" not in text or not is_deleted(text.encode())}
