"""Rule 6.7: what a write does to the rows that were there: replaces them all, or only a part of them, or none.

The table in `docs/lineage.md` names the source of each line. `write_kind` is the only place that decides.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name

ADDS, UNLESS_PARTS, WHOLE = WRITE_KINDS = range(3)
"""A write adds or changes rows; it is a whole rewrite unless the dataset is known to be written by parts; it is one."""

SQL_WHOLE = "whole"
"""The SQL empties or replaces its only target: TRUNCATE, DELETE without a condition, CREATE OR REPLACE TABLE AS."""

PART = "part"
"""The SQL has a condition on what it replaces, or changes rows (MERGE, UPDATE, DELETE), or the session overwrites
partitions dynamically."""

PARTITIONS = "partitions"
"""The SQL shows that the output has partitions: PARTITION or PARTITIONED BY."""

NOT_IF_EXISTS = "if not exists"
"""The SQL writes nothing if the table exists."""

MATERIALIZED = "materialized"
"""dbt builds the whole table or view from scratch."""


LISTS_ALL = "lists all"
"""The user declares that the lists of columns of the producer are complete (rule 12.6)."""


class Write(NamedTuple):
    """What is known of a completed write of one output by one run.

    signs: of the run, see above; is_part: a folder or pattern was removed from the name of the output, or the run has
    a `subset` of it; alone: the run has no other output; failed: the attempt has a FAIL, too.
    """

    job: str
    output: Name
    lifecycle: str | None
    signs: Collection[str] = ()
    is_part: bool = False
    alone: bool = True
    failed: bool = False


def write_kind(write: Write) -> int:
    """Return one of `WRITE_KINDS`."""
    if write.failed or write.is_part:
        return ADDS
    nodes = _nodes(write.job)
    if MATERIALIZED in write.signs or (SQL_WHOLE in write.signs and write.alone):
        return WHOLE
    if any(map(_STATEMENT.fullmatch, nodes)) and NOT_IF_EXISTS not in write.signs:
        return WHOLE
    if write.lifecycle not in ("OVERWRITE", "TRUNCATE") or _shows_part(write, nodes):
        return ADDS
    if any(node.startswith(_SAVE) for node in nodes) and not _is_path_or_jdbc(write.output):
        return ADDS
    return UNLESS_PARTS


def rewrites(kind: int, *, by_parts: bool) -> bool:
    """Tell whether a write of this kind is a whole rewrite; by_parts: some mention of the dataset shows a part."""
    return kind == WHOLE or (kind == UNLESS_PARTS and not by_parts)


def shows_partitions(job: str, signs: Collection[str]) -> bool:
    """Tell whether a run shows that what it writes has partitions."""
    return PARTITIONS in signs or any(node.startswith(_DYNAMIC) for node in _nodes(job))


def _shows_part(write: Write, nodes: Iterable[str]) -> bool:
    if PART in write.signs or shows_partitions(write.job, write.signs):
        return True
    return any(node.startswith(_ROW_LEVEL) or not _WORDS.isdisjoint(_words(node)) for node in nodes)


def _nodes(job: str) -> list[str]:
    """Return the parts of a job's name that may name a node of Spark's plan: `app.node.target`."""
    return job.lower().split(".")


def _words(node: str) -> list[str]:
    return re.split(r"[^a-z]+", node)


def _is_path_or_jdbc(output: Name) -> bool:
    return output.namespace.partition(":")[0].lower() in _PATHS_AND_JDBC


_STATEMENT = re.compile(
    r"(?:(?:atomic_|execute_)?replace_table(?:_as_select)?|(?:atomic_|execute_)?create_table_as_select)"
    r"(?:_command|_exec(?:_v\d)?)?"
)
"""`CreateDataSourceTableAsSelectCommand` is not here: it is also what `saveAsTable` in append mode runs."""

_SAVE = "execute_save_into_data_source_command"
_DYNAMIC = "overwrite_partitions_dynamic"
_ROW_LEVEL = ("replace_iceberg_data", "replace_data", "write_delta", "write_iceberg_delta")
_WORDS = frozenset(("merge", "update", "delete"))

_PATHS_AND_JDBC = frozenset(
    (
        *("file", "abfss", "abfs", "wasbs", "wasb", "adl", "s3", "s3a", "s3n", "gs", "hdfs", "dbfs", "oss", "cosn"),
        *("postgres", "mysql", "mariadb", "sqlserver", "mssql", "oracle", "db2", "h2", "derby", "sqlite", "teradata"),
    )
)
"""Schemes of file systems, and of databases that Spark writes by JDBC. For the connectors of
Snowflake, BigQuery, Kafka and Kusto, the listener reports OVERWRITE of appends as well."""
