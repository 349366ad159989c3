"""The parsed facet objects of a run, a job or a dataset."""

from typing import NamedTuple

from msgspec import Struct

from headwater.events.event import Content, Facet, SentSymlink, SentTag
from headwater.events.facet_digests import is_deleted
from headwater.events.rule_facets import JobType, Lifecycle, Parent
from headwater.events.statistics_facets import Numbers

OF_COLUMNS = ("columnLineage",)
"""Names of facets with the column lineage of a dataset. If a dataset has several, the first of this list counts.

`rows.py` parses them.
"""

TABLES = {"schema": "schemas", "lineage": "column_lineage", **dict.fromkeys(OF_COLUMNS, "column_lineage")}
"""Maps the name of each facet that has a separate table to this table, which has a row per field or edge.

The texts of other facets are rows of the table `facets`.
"""

CHANGING = frozenset({"version", "dataQualityMetrics", "dataQualityAssertions"})
"""Names of dataset facets that differ from run to run."""


class FacetSet(Struct, frozen=True, gc=False):
    """A parsed facet object.

    digest: digest over the names and digests of all facets, independent of their order; empty if there are no facets.
    names: the names of all facets. facets: the facets that are not null. values: the facets that are stored as text
    under a content hash. tables: the facets that are stored as rows under a content hash.
    """

    digest: bytes = b""
    names: tuple[str, ...] = ()
    facets: tuple[Facet, ...] = ()
    values: tuple[Content, ...] = ()
    tables: tuple[Content, ...] = ()

    def content_hash(self, *keys: str) -> str | None:
        """Return the content hash of the first facet in `keys` that is present; None if all are missing.

        keys: names of schema or lineage facets, which are stored as rows.
        """
        found = self._first_content(keys)
        return found.content_hash if found else None

    def hash_or_deleted(self, *keys: str) -> str | None:
        """Return the content hash of the first facet in `keys` that is present.

        Returns an empty text if this facet has `_deleted: true`, and None if all facets in `keys` are missing.
        """
        found = self._first_content(keys)
        return None if found is None else "" if is_deleted(found.raw) else found.content_hash

    def _first_content(self, keys: tuple[str, ...]) -> Content | None:
        by_key = {content.key: content for content in self.tables}
        return next((by_key[key] for key in keys if key in by_key), None)


class RunFacets(FacetSet, frozen=True, gc=False):
    """The facets of a run.

    text: the JSON text as sent. known: names of the facets that are not null. parent: the parent run. artifact: id of
    the Fabric item that the run belongs to, or None.
    """

    text: str | None = None
    known: tuple[str, ...] = ()
    parent: Parent = Parent()
    artifact: str | None = None


class JobFacets(FacetSet, frozen=True, gc=False):
    """The facets of a job."""

    type: JobType = JobType()


class DatasetFacets(FacetSet, frozen=True, gc=False):
    """The facets of a dataset, without input and output facets.

    shape: like `digest`, but for facets in `CHANGING` it covers only whether they are present, null or deleted.
    numbers: what the facets measure.
    """

    shape: bytes = b""
    symlinks: tuple[SentSymlink, ...] = ()
    tags: tuple[SentTag, ...] | None = None
    lifecycle: Lifecycle = Lifecycle()
    version: str | None = None
    numbers: tuple[Numbers, ...] = ()


class StatisticsFacets(NamedTuple):
    """Input or output facets: statistics of one run about a dataset.

    names: names of all facets. known: names of the facets that are not null. filters: the sorted columns in the
    condition of the input facet `subset`. parts_read: whether this condition names partitions or locations. numbers:
    what the run read, wrote or measured.
    """

    digest: bytes = b""
    names: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    parts_read: bool = False
    numbers: tuple[Numbers, ...] = ()

    @property
    def recurring(self) -> tuple[object, ...]:
        """The members that recur in later events of the same job."""
        return self.names, self.known, self.filters, self.parts_read


NO_RUN = RunFacets()
NO_JOB = JobFacets()
NO_DATASET = DatasetFacets()
NOT_COUNTED = StatisticsFacets()
