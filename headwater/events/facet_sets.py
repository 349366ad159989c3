"""What is known of the `facets` of one run, job or dataset, read as a whole."""

from typing import NamedTuple

from msgspec import Struct

from headwater.events.event import Content, Facet, SentSymlink, SentTag
from headwater.events.facet_digests import is_deleted
from headwater.events.rule_facets import JobType, Lifecycle, Parent

OF_COLUMNS = ("columnLineage",)
"""Facets by which a dataset tells what its columns are made of; of several the first counts. `rows.py` reads them."""

TABLES = {"schema": "schemas", "lineage": "column_lineage", **dict.fromkeys(OF_COLUMNS, "column_lineage")}
"""Facets that have a row for each field or edge in a table of their own; of others the text is a row of `facets`."""

CHANGING = frozenset({"version", "dataQualityMetrics", "dataQualityAssertions"})
"""Facets of datasets that differ from run to run."""


class FacetSet(Struct, frozen=True, gc=False):
    """What the rest of the pipeline needs of an object of facets.

    digest: over names and digests of the facets, whatever their order; empty without facets.
    names: of all; facets: those that are not null; values, tables: those whose texts, or rows, are stored by content.
    """

    digest: bytes = b""
    names: tuple[str, ...] = ()
    facets: tuple[Facet, ...] = ()
    values: tuple[Content, ...] = ()
    tables: tuple[Content, ...] = ()

    def content_hash(self, *keys: str) -> str | None:
        """Return the hash of a schema or lineage facet, the first there is of these; None where there is none."""
        found = self._content(keys)
        return found.content_hash if found else None

    def says(self, *keys: str) -> str | None:
        """Return the same, empty where it was deleted."""
        found = self._content(keys)
        return None if found is None else "" if is_deleted(found.raw) else found.content_hash

    def _content(self, keys: tuple[str, ...]) -> Content | None:
        by_key = {content.key: content for content in self.tables}
        return next((by_key[key] for key in keys if key in by_key), None)


class RunFacets(FacetSet, frozen=True, gc=False):
    """The facets of a run; text: all as sent; known: names of those not null; artifact: of which Fabric item it is."""

    text: str | None = None
    known: tuple[str, ...] = ()
    parent: Parent = Parent()
    artifact: str | None = None


class JobFacets(FacetSet, frozen=True, gc=False):
    """The facets of a job."""

    type: JobType = JobType()


class DatasetFacets(FacetSet, frozen=True, gc=False):
    """The facets of a dataset but those of one run alone.

    shape: like digest, but of facets that change over their names alone.
    """

    shape: bytes = b""
    symlinks: tuple[SentSymlink, ...] = ()
    tags: tuple[SentTag, ...] | None = None
    lifecycle: Lifecycle = Lifecycle()
    version: str | None = None


class StatisticsFacets(NamedTuple):
    """Input or output facets: what one run counted at a dataset, digested as a whole.

    known: those not null; filters: the columns in the condition of an input's `subset`, sorted.
    """

    digest: bytes = b""
    names: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()


NO_RUN = RunFacets()
NO_JOB = JobFacets()
NO_DATASET = DatasetFacets()
NOT_COUNTED = StatisticsFacets()
