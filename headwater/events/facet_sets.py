"""The parsed facet objects of a run, a job or a dataset."""

from typing import NamedTuple

from msgspec import Struct

from headwater.events.event import Content, Facet, SentSymlink, SentTag
from headwater.events.facet_digests import is_deleted
from headwater.events.rule_facets import JobType, Lifecycle, Parent

OF_COLUMNS = ("columnLineage",)
"""Facets with the column lineage of a dataset; if there are several, the first counts. `rows.py` parses them."""

TABLES = {"schema": "schemas", "lineage": "column_lineage", **dict.fromkeys(OF_COLUMNS, "column_lineage")}
"""Facets with a row per field or edge in a separate table. The texts of other facets are rows of `facets`."""

CHANGING = frozenset({"version", "dataQualityMetrics", "dataQualityAssertions"})
"""Facets of datasets that differ from run to run."""


class FacetSet(Struct, frozen=True, gc=False):
    """A parsed facet object.

    digest: of the names and digests of the facets, independent of their order; empty without facets.
    names: of all facets; facets: those that are not null; values, tables: those whose text, or rows, are stored by
    content.
    """

    digest: bytes = b""
    names: tuple[str, ...] = ()
    facets: tuple[Facet, ...] = ()
    values: tuple[Content, ...] = ()
    tables: tuple[Content, ...] = ()

    def content_hash(self, *keys: str) -> str | None:
        """Return the content hash of the first of these schema or lineage facets, or None."""
        found = self._first_content(keys)
        return found.content_hash if found else None

    def hash_or_deleted(self, *keys: str) -> str | None:
        """Return the content hash of the first of these facets; empty if it was deleted, None if there is none."""
        found = self._first_content(keys)
        return None if found is None else "" if is_deleted(found.raw) else found.content_hash

    def _first_content(self, keys: tuple[str, ...]) -> Content | None:
        by_key = {content.key: content for content in self.tables}
        return next((by_key[key] for key in keys if key in by_key), None)


class RunFacets(FacetSet, frozen=True, gc=False):
    """The facets of a run. text: as sent; known: names of facets that are not null; artifact: id of the Fabric item."""

    text: str | None = None
    known: tuple[str, ...] = ()
    parent: Parent = Parent()
    artifact: str | None = None


class JobFacets(FacetSet, frozen=True, gc=False):
    """The facets of a job."""

    type: JobType = JobType()


class DatasetFacets(FacetSet, frozen=True, gc=False):
    """The facets of a dataset, without input and output facets.

    shape: like digest, but with only the names of changing facets.
    """

    shape: bytes = b""
    symlinks: tuple[SentSymlink, ...] = ()
    tags: tuple[SentTag, ...] | None = None
    lifecycle: Lifecycle = Lifecycle()
    version: str | None = None


class StatisticsFacets(NamedTuple):
    """Input or output facets: statistics of one run about a dataset.

    known: names of facets that are not null; filters: the sorted columns in the condition of an input's `subset`.
    parts_read: this condition names partitions or locations.
    """

    digest: bytes = b""
    names: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    parts_read: bool = False


NO_RUN = RunFacets()
NO_JOB = JobFacets()
NO_DATASET = DatasetFacets()
NOT_COUNTED = StatisticsFacets()
