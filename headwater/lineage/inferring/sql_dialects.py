"""In which dialect a producer writes its SQL: the facet says it, else who sends it, else the datasets' namespaces."""

import re
from collections.abc import Iterable

_NAMED = {
    "awsathena": "athena", "sqlserver": "tsql", "mssql": "tsql", "synapse": "tsql", "azuresql": "tsql",
    "fabric-warehouse": "tsql", "postgresql": "postgres", "greenplum": "postgres", "cockroachdb": "postgres",
    "mariadb": "mysql", "unitycatalog": "databricks", "sparksql": "spark", "awsglue": "spark", "s3": "", "gs": "",
    "trino": "trino", "presto": "presto", "postgres": "postgres", "redshift": "redshift", "snowflake": "snowflake",
    "bigquery": "bigquery", "athena": "athena", "tsql": "tsql", "mysql": "mysql", "oracle": "oracle",
    "sqlite": "sqlite", "duckdb": "duckdb", "hive": "hive", "spark": "spark", "databricks": "databricks",
    "clickhouse": "clickhouse", "teradata": "teradata",
}  # fmt: skip
"""What facets, schemes of namespaces and producers call a dialect → what the parser calls it."""

_WORD = re.compile(r"[a-z][a-z0-9-]*")
ANY = ""
"""The parser's own: what most dialects have in common."""


def dialect_of(said: str | None, namespaces: Iterable[str], producer: str) -> str:
    """Return the parser's name for a dialect, `ANY` where nothing tells.

    said: by the facet; namespaces: of the datasets, those that are written first; producer: the URI of who sends it.
    """
    if said and (found := _NAMED.get(said.strip().casefold())):
        return found
    words = [*reversed(_WORD.findall(producer.casefold()))]
    schemes = [namespace.casefold().partition(":")[0] for namespace in namespaces]
    return next((found for word in (*words, *schemes) if (found := _NAMED.get(word))), ANY)
