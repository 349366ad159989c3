"""Rule 6.7: decide whether a write replaces all rows of its output.

The table of rule 6.7 in `docs/reference/lineage.md` documents the conditions. `write_kind` decides by the events of the
run; users' rules and commits are applied elsewhere (`applied_rules`).
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name

ADDS_ROWS, WHOLE_UNLESS_PARTITIONED, WHOLE_REWRITE = WRITE_KINDS = range(3)
"""The kinds of writes.

ADDS_ROWS: the write adds or changes rows.
WHOLE_UNLESS_PARTITIONED: the write replaces all rows, unless some event shows that the dataset is written in parts.
WHOLE_REWRITE: the write replaces all rows.
"""

SIGN_SQL_WHOLE = "whole"
"""Sign: the SQL empties or replaces its only target.

The SQL is a TRUNCATE, a DELETE without a condition, or a CREATE OR REPLACE TABLE AS.
"""

SIGN_PART = "part"
"""Sign: the write replaces only a part of the rows.

The SQL has a condition on the replaced rows, the SQL changes rows (MERGE, UPDATE, DELETE), or the Spark session
overwrites partitions dynamically.
"""

SIGN_PARTITIONS = "partitions"
"""Sign: PARTITION or PARTITIONED BY in the SQL shows that the output has partitions."""

SIGN_NOT_IF_EXISTS = "if not exists"
"""Sign: the SQL has IF NOT EXISTS, so it writes nothing if the table exists."""

SIGN_MATERIALIZED = "materialized"
"""Sign: dbt builds the whole table or view from scratch."""


SIGN_COMPLETE_LISTS = "lists all"
"""Sign: a rule of `names.yaml` declares that the producer's lists of columns are complete (rule 12.6)."""


class CompletedWrite(NamedTuple):
    """A completed write of one output by one run.

    job: the canonical name of the job, without its namespace.
    lifecycle: the `lifecycleStateChange` of the output; None without one.
    signs: the write signs of the run. The constants `SIGN_*` of this module are the ones that count here.
    is_part: whether the output is only a part of a dataset. This is so if the rules for names removed a folder or
    pattern from the name of the output, or if the output has a `subset` facet.
    is_only_output: whether the run has no other output.
    has_failed: whether the COMPLETE attempt of the run also has a FAIL event.
    """

    job: str
    output: Name
    lifecycle: str | None
    signs: Collection[str] = ()
    is_part: bool = False
    is_only_output: bool = True
    has_failed: bool = False


def write_kind(write: CompletedWrite) -> int:
    """Return the kind of a write, one of `WRITE_KINDS`, as the events of its run show it."""
    if write.has_failed or write.is_part:
        return ADDS_ROWS
    nodes = _job_name_parts(write.job)
    if SIGN_MATERIALIZED in write.signs or (SIGN_SQL_WHOLE in write.signs and write.is_only_output):
        return WHOLE_REWRITE
    if any(map(_REPLACING_STATEMENT.fullmatch, nodes)) and SIGN_NOT_IF_EXISTS not in write.signs:
        return WHOLE_REWRITE
    if write.lifecycle not in ("OVERWRITE", "TRUNCATE") or _is_partial_write(write, nodes):
        return ADDS_ROWS
    if any(node.startswith(_SAVE_COMMAND) for node in nodes) and not _is_path_or_jdbc(write.output):
        return ADDS_ROWS
    return WHOLE_UNLESS_PARTITIONED


def is_whole_rewrite(kind: int, *, has_parts: bool) -> bool:
    """Tell whether a write of this kind is a whole rewrite.

    has_parts: whether some event shows that the dataset is written in parts.
    """
    return kind == WHOLE_REWRITE or (kind == WHOLE_UNLESS_PARTITIONED and not has_parts)


def has_partition_sign(job: str, signs: Collection[str]) -> bool:
    """Tell whether the job name or the signs of a run show that its output has partitions."""
    return SIGN_PARTITIONS in signs or any(node.startswith(_DYNAMIC_OVERWRITE) for node in _job_name_parts(job))


def _is_partial_write(write: CompletedWrite, nodes: Iterable[str]) -> bool:
    if SIGN_PART in write.signs or has_partition_sign(write.job, write.signs):
        return True
    return any(node.startswith(_ROW_LEVEL) or not _ROW_CHANGE_WORDS.isdisjoint(_split_words(node)) for node in nodes)


def _job_name_parts(job: str) -> list[str]:
    """Split a job name such as `app.node.target` into parts in lower case. A part may be a node of a Spark plan."""
    return job.lower().split(".")


def _split_words(node: str) -> list[str]:
    return re.split(r"[^a-z]+", node)


def _is_path_or_jdbc(output: Name) -> bool:
    return output.namespace.partition(":")[0].lower() in _PATHS_AND_JDBC


_REPLACING_STATEMENT = re.compile(
    r"(?:(?:atomic_|execute_)?replace_table(?:_as_select)?|(?:atomic_|execute_)?create_table_as_select)"
    r"(?:_command|_exec(?:_v\d)?)?"
)
"""The nodes of Spark plans that replace a whole table.

The node `CreateDataSourceTableAsSelectCommand` is missing here, because `saveAsTable` in append mode runs it, too.
"""

_SAVE_COMMAND = "execute_save_into_data_source_command"
_DYNAMIC_OVERWRITE = "overwrite_partitions_dynamic"
_ROW_LEVEL = ("replace_iceberg_data", "replace_data", "write_delta", "write_iceberg_delta")
_ROW_CHANGE_WORDS = frozenset(("merge", "update", "delete"))

_PATHS_AND_JDBC = frozenset(
    (
        *("file", "abfss", "abfs", "wasbs", "wasb", "adl", "s3", "s3a", "s3n", "gs", "hdfs", "dbfs", "oss", "cosn"),
        *("postgres", "mysql", "mariadb", "sqlserver", "mssql", "oracle", "db2", "h2", "derby", "sqlite", "teradata"),
    )
)
"""The namespace schemes of file systems, and of databases that Spark writes over JDBC.

Snowflake, BigQuery, Kafka and Kusto are missing, because Spark's listener reports OVERWRITE for their appends, too.
"""
