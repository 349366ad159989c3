"""The newest facets of datasets and jobs, now or up to a time."""

from collections.abc import Container, Iterable, Sequence

from msgspec import msgpack

from headwater.events.facet_digests import is_deleted
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import COUNTED, DATASET, JOB, question_marks
from headwater.lineage.edges.schema_columns import join_schema_facets, split_schema_hash
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import order_text_after, time_us_of_order_text

MAX_SETS = 1_000
"""The maximum number of the newest facet sets that are read to find the facets at a time in the past."""

facet_set_from = msgpack.Decoder(list[tuple[str, int]]).decode

_Newest = dict[str, tuple[str, str | int]]
"""Facet name → (a text that sorts like the facet's newest event, the facet's text or the number of its text)."""


class DescriptiveFacets:
    """Reads facets from the index file. Facets that the newest event deletes (`_deleted`) are left out."""

    def __init__(self, live: LiveGraph):
        """Read from `live`, which must not be refreshed while this object is in use."""
        self._live = live
        self._sql = live.sql

    def job_facets(self, job: Name) -> dict[str, str]:
        """Return the newest text of each facet of a job, by facet name. job: the display name."""
        return self._without_deleted(
            {facet: (order, value) for _, facet, order, value in self._newest_facets((JOB,), job, None)}
        )

    def dataset_facets(
        self, dataset: Name, only_facet: str | None = None, excluded: Container[str] = ()
    ) -> dict[str, str]:
        """Return the newest text of each facet of a dataset, by facet name.

        If an input facet and a dataset facet have the same name, the dataset facet is returned.
        only_facet: return only this facet. excluded: the names of facets to leave out.
        """
        names, naming = self._live.naming.names_of(dataset), self._live.naming
        found: dict[int, _Newest] = {DATASET: {}, COUNTED: {}}
        for name in names:
            for kind, facet, order, value in self._newest_facets((DATASET, COUNTED), name, only_facet):
                is_newer = facet not in found[kind] or found[kind][facet][0] < order
                if (
                    is_newer
                    and facet not in excluded
                    and naming.resolve(name, time_us_of_order_text(order)).without_generation
                    == dataset.without_generation
                ):
                    found[kind][facet] = order, value
        found[DATASET].pop("schema", None)
        schema = self._schema_facet(dataset, names) if only_facet in (None, "schema") else {}
        return self._without_deleted(found[COUNTED]) | self._without_deleted(found[DATASET]) | schema

    def facets_at(
        self,
        time_us: int,
        kind: int,
        names: Iterable[Name],
        only_facet: str | None = None,
        excluded: Container[str] = (),
    ) -> dict[str, str]:
        """Return the newest text of each facet at a time (us), by facet name.

        If a set of facets was sent before and after that time, it counts as sent at that time, because the index stores
        only the first and last time of a set.
        kind: DATASET or JOB. names: all names of the dataset, or the display name of the job. only_facet: return only
        this facet. excluded: the names of facets to leave out.
        """
        sets: list[tuple[str, bytes, bytes]] = []
        for name in names:
            sets += self._sql.execute(
                "SELECT min(d.event_order, ?1), s.digest, s.value FROM facet_set_uses d "
                "JOIN facet_sets s ON s.id = d.facet_set WHERE d.kind = ?2 AND d.name = ?3 AND d.first_us <= ?4 "
                "ORDER BY d.event_order DESC, s.digest LIMIT ?5",
                (order_text_after(time_us), kind, self._live.names.find_number(name) or 0, time_us, MAX_SETS),
            )
        found: _Newest = {}
        for _, _, value in sorted(sets, reverse=True):
            for facet, number in facet_set_from(value):
                if facet in found or facet in excluded or only_facet not in (None, facet):
                    continue
                text = self._live.facet_text(number)
                if text and not (facet == "schema" and '"name"' not in text):
                    found[facet] = "", number
        return self._without_deleted(found)

    def _newest_facets(
        self, kinds: Sequence[int], name: Name, only_facet: str | None
    ) -> list[tuple[int, str, str, str | int]]:
        """Return (kind, facet name, order, text or number of the text) of the newest facets under one name."""
        return self._sql.execute(
            f"SELECT kind, facet, event_order, value FROM newest_facets WHERE kind IN ({question_marks(kinds)}) "
            "AND name = ? "
            "AND facet = coalesce(?, facet) ORDER BY kind, facet",
            (*kinds, self._live.names.find_number(name) or 0, only_facet),
        ).fetchall()

    def _schema_facet(self, dataset: Name, names: Iterable[Name]) -> dict[str, str]:
        """Return the columns of a dataset as a `schema` facet (rule 12), or an empty dictionary without columns.

        The schema is that of the newest generation with a schema, as in `Snapshot.shown_columns`. If several texts have
        the same columns, any of the texts is used.
        """
        every = self._live.naming.generations.all_generations(dataset.without_generation)
        joined = next((found for each in every if (found := self._live.schema(each))), None)
        texts = [self._schema_text(names, schema) for schema in split_schema_hash(joined)] if joined else []
        known = [text for text in texts if text]
        return {"schema": known[0] if len(known) == 1 else join_schema_facets(known)} if known else {}

    def _schema_text(self, names: Iterable[Name], schema: str) -> str | None:
        sets = [
            row
            for name in names
            for row in self._sql.execute(
                "SELECT d.event_order, s.digest, s.value FROM facet_set_uses d JOIN facet_sets s ON s.id = d.facet_set "
                "WHERE d.kind = ? AND d.name = ? AND s.schema = ? ORDER BY d.event_order DESC, s.digest DESC LIMIT 1",
                (DATASET, self._live.names.find_number(name) or 0, schema),
            )
        ]
        return self._live.facet_text(dict(facet_set_from(max(sets)[2]))["schema"]) if sets else None

    def _without_deleted(self, found: _Newest) -> dict[str, str]:
        """Return the texts of facets by facet name, without deleted facets (`_deleted`)."""
        texts = {
            facet: value if isinstance(value, str) else self._live.facet_text(value)
            for facet, (_, value) in found.items()
        }
        return {facet: text for facet, text in texts.items() if "_deleted" not in text or not is_deleted(text.encode())}
