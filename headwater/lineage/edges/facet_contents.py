"""Store and read the contents of schema, lineage and SQL facets by content hash.

The contents have dataset names in canonical form and column names as sent.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from headwater.events.decode import decode
from headwater.events.rows import Row
from headwater.lineage.edges.schema_columns import Path, is_joined_hash, join_column_lists, split_schema_hash
from headwater.lineage.names.dataset_name import Name

CanonicalizeName = Callable[[str, str], Name]


class Transformation(NamedTuple):
    """The transformation of one edge, as the facet reports it.

    is_direct: whether the edge is DIRECT; False for INDIRECT. subtype: for example IDENTITY or FILTER.
    """

    is_direct: bool
    is_masked: bool
    subtype: str | None
    description: str | None


OWN_JOB = Name("", "")
"""Placeholder for a source or target of type JOB without a name. It means the job of the event with the facet."""


class SentEdge(Struct, frozen=True, gc=False, array_like=True):
    """One line of a lineage facet.

    target: the dataset that an entry of a `lineage` facet names as target; None for the dataset with the facet.
    output_column: the output column; None if the line concerns the whole target.
    source: the input dataset; None if the facet gives no source, or gives a job as source.
    source_column: the input column; None if the line concerns the whole source.
    has_transformation: whether the line has a transformation. If so, the producer can report filters and joins (9.2).
    source_job: the name, as sent, of a job that feeds the output instead of a dataset (rule 4.12); `OWN_JOB` for the
    job of the event; None without such a job.
    target_job: the name, as sent, of the job that the source feeds (rule 4.13), or `OWN_JOB`; None without such a job.
    A line with a target job has neither a target nor an output column.
    """

    target: Name | None
    output_column: str | None
    source: Name | None
    source_column: str | None
    transformation: Transformation
    has_transformation: bool = True
    source_job: Name | None = None
    target_job: Name | None = None

    @property
    def has_source(self) -> bool:
        """Whether the line has a source, which is a dataset or a job."""
        return self.source is not None or self.source_job is not None


MAX_SQL_CHARACTERS = 100_000
"""The maximum length of SQL that Headwater parses.

Stored SQL is cut to one more character, so that readers recognize longer SQL.
"""


class SentSql(Struct, frozen=True, gc=False, array_like=True):
    """The content of an `sql` facet. The dialect is None if the facet gives no dialect."""

    query: str
    dialect: str | None = None


class FacetContents(Protocol):
    """Storage of facets by content hash. The methods that return a facet raise KeyError for an unknown hash."""

    def __contains__(self, content_hash: object) -> bool:
        """Tell whether a facet with this hash is stored."""

    def add_schema(self, content_hash: str, columns: Sequence[Path]) -> None:
        """Store the columns of a schema. The path of a nested column follows the path of its struct."""

    def add_lineage(self, content_hash: str, edges: Sequence[SentEdge]) -> None:
        """Store the lines of a lineage facet."""

    def lineage(self, content_hash: str) -> Sequence[SentEdge]:
        """Return the lines of a lineage facet."""

    def schema(self, content_hash: str) -> Sequence[Path]:
        """Return the columns of a schema, or of several schemas if the hash is a result of `join_schema_hashes`."""

    def add_sql(self, content_hash: str, sql: SentSql) -> None:
        """Store an `sql` facet."""

    def sql(self, content_hash: str) -> SentSql:
        """Return an `sql` facet."""


class FacetContentsInMemory:
    """Stores the contents of facets in dictionaries; implements `FacetContents`."""

    def __init__(self) -> None:
        self._lineage: dict[str, Sequence[SentEdge]] = {}
        self._schemas: dict[str, Sequence[Path]] = {}
        self._sql: dict[str, SentSql] = {}

    def __contains__(self, content_hash: object) -> bool:
        return content_hash in self._lineage or content_hash in self._schemas or content_hash in self._sql

    def add_schema(self, content_hash: str, columns: Sequence[Path]) -> None:
        """Store the columns of a schema."""
        self._schemas[content_hash] = columns

    def add_lineage(self, content_hash: str, edges: Sequence[SentEdge]) -> None:
        """Store the lines of a lineage facet."""
        self._lineage[content_hash] = edges

    def lineage(self, content_hash: str) -> Sequence[SentEdge]:
        """Return the lines of a lineage facet."""
        return self._lineage[content_hash]

    def schema(self, content_hash: str) -> Sequence[Path]:
        """Return the columns of a schema, or of several schemas if the hash is a result of `join_schema_hashes`."""
        if is_joined_hash(content_hash):
            return join_column_lists([self.schema(each) for each in split_schema_hash(content_hash)])
        return self._schemas[content_hash]

    def add_sql(self, content_hash: str, sql: SentSql) -> None:
        """Store an `sql` facet."""
        self._sql[content_hash] = sql

    def sql(self, content_hash: str) -> SentSql:
        """Return an `sql` facet."""
        return self._sql[content_hash]


def schema_paths(rows: Sequence[Row]) -> tuple[Path, ...]:
    """Return the paths of the columns of a schema, given the rows of the schema in the table `schemas`."""
    return tuple(tuple(row[2]) for row in rows)


def parse_sql_facet(facet: bytes) -> SentSql:
    """Parse the JSON of an `sql` facet. If the facet has no query, the query of the result is an empty text."""
    value = decode(facet)
    query, dialect = (value.get("query"), value.get("dialect")) if isinstance(value, dict) else (None, None)
    if not isinstance(query, str) or not query.strip():
        return SentSql("")
    return SentSql(query[: MAX_SQL_CHARACTERS + 1], dialect if isinstance(dialect, str) else None)


def read_sent_edges(rows: Sequence[Row], canonical_name: CanonicalizeName) -> tuple[SentEdge, ...]:
    """Return the lines of a lineage facet, given the rows of the facet in the table `column_lineage`.

    The result omits lines with internal files of Delta as their source (rule 11.1).
    """
    edges = tuple(_read_all_edges(rows, canonical_name))
    noise = {source for source in {edge.source for edge in edges} if source and is_delta_internal_file(source)}
    return tuple(edge for edge in edges if edge.source not in noise) if noise else edges


def _read_all_edges(rows: Sequence[Row], canonical_name: CanonicalizeName) -> Iterator[SentEdge]:
    forms: dict[tuple[str | None, str | None], Name | None] = {}
    transformations: dict[tuple[bool, Row], Transformation] = {}

    def form(namespace: str | None, name: str | None) -> Name | None:
        found = canonical_name(namespace or "", name) if name else None
        return forms.setdefault((namespace, name), found)

    for row in rows:  # a facet repeats the same names and transformations hundreds of times
        to_type, to_namespace, to_name, _, output, from_type, from_namespace, from_name, column = row[3:12]
        job = _job_name(from_namespace, from_name) if from_type == "JOB" else None
        target_job = _job_name(to_namespace, to_name) if to_type == "JOB" else None
        if job is not None:
            from_namespace = from_name = column = None
        place, step = (from_namespace, from_name), (output is None, row[13:17])
        source = forms[place] if place in forms else form(*place)
        transformation = transformations.get(step) or transformations.setdefault(
            step, _transformation_of_row(*row[13:17], dataset_wide=output is None)
        )
        stated = _has_transformation(*row[13:17])
        if target_job is not None:
            if source is not None or job is not None:
                yield SentEdge(None, None, source, column, transformation, stated, job, target_job)
            continue
        target = form(to_namespace, to_name) if to_name else None
        yield SentEdge(target, output, source, column, transformation, stated, job)


def _job_name(namespace: str | None, name: str | None) -> Name:
    """Return the name of a job in a `lineage` facet as sent, or `OWN_JOB` if the facet gives no name."""
    return Name(namespace or "", name).shortened if name else OWN_JOB


def _transformation_of_row(
    kind: str | None, subtype: str | None, text: str | None, masking: bool | None, *, dataset_wide: bool
) -> Transformation:
    """Return the transformation of a row.

    Facets before version 1-1-0 have IDENTITY or MASKED as their type.
    """
    old = (kind or "").upper()
    if subtype is None and masking is None and old not in ("", "DIRECT", "INDIRECT"):
        known = "IDENTITY" if old == "IDENTITY" else "TRANSFORMATION"
        return Transformation(not dataset_wide, old == "MASKED", known, text or None)
    return Transformation(not dataset_wide and old != "INDIRECT", bool(masking), subtype, text or None)


def _has_transformation(kind: str | None, subtype: str | None, _: str | None, masking: bool | None) -> bool:
    """Tell whether a row has a transformation. The `transformationType` of facets before 1-1-0 does not count."""
    return subtype is not None or masking is not None or (kind or "").upper() in ("DIRECT", "INDIRECT")


_DELTA_FILE_PREFIXES = ("delta_source_snapshot_", "delta_table_state_")


def is_delta_internal_file(name: Name) -> bool:
    """Tell whether a name denotes internal files of Delta, which are not a dataset (rule 11.1)."""
    last = name.name.rpartition("/")[2]
    return last == "_delta_log" or last.startswith(_DELTA_FILE_PREFIXES)


_METADATA_TABLE_COLUMNS = (
    frozenset(("committed_at", "snapshot_id", "parent_id", "manifest_list")),  # snapshots
    frozenset(("made_current_at", "snapshot_id", "is_current_ancestor")),  # history
    frozenset(("latest_snapshot_id", "latest_schema_id", "latest_sequence_number")),  # metadata_log_entries
    frozenset(("snapshot_id", "max_reference_age_in_ms", "min_snapshots_to_keep")),  # refs
    frozenset(("content", "file_path", "file_format", "file_size_in_bytes")),  # files, data_files, delete_files
    frozenset(("status", "snapshot_id", "sequence_number", "data_file")),  # entries
    frozenset(("path", "partition_spec_id", "added_snapshot_id")),  # manifests
    frozenset(("record_count", "file_count", "position_delete_record_count")),  # partitions
    frozenset(("file_path", "pos", "delete_file_path")),  # position_deletes
)
"""Columns that identify the metadata tables of Iceberg 1.9.

Their names do not, because listeners report `t.snapshots` under the name `t`.
"""


def is_iceberg_metadata_table(columns: Sequence[Path]) -> bool:
    """Tell whether these columns belong to an Iceberg metadata table instead of the table itself (rule 11.4)."""
    names = {path[0] for path in columns}
    return any(known <= names for known in _METADATA_TABLE_COLUMNS)
