"""Rule 13.2: find the dialect of SQL from the SQL facet, the producer or the dataset namespaces, in this order."""

import re
from collections.abc import Iterable

_DIALECTS = {
    "awsathena": "athena", "sqlserver": "tsql", "mssql": "tsql", "synapse": "tsql", "azuresql": "tsql",
    "fabric-warehouse": "tsql", "postgresql": "postgres", "greenplum": "postgres", "cockroachdb": "postgres",
    "mariadb": "mysql", "unitycatalog": "databricks", "sparksql": "spark", "awsglue": "spark", "s3": "", "gs": "",
    "trino": "trino", "presto": "presto", "postgres": "postgres", "redshift": "redshift", "snowflake": "snowflake",
    "bigquery": "bigquery", "athena": "athena", "tsql": "tsql", "mysql": "mysql", "oracle": "oracle",
    "sqlite": "sqlite", "duckdb": "duckdb", "hive": "hive", "spark": "spark", "databricks": "databricks",
    "clickhouse": "clickhouse", "teradata": "teradata",
}  # fmt: skip
"""Maps names of dialects in facets, producers and schemes of namespaces to the parser's names."""

_WORD = re.compile(r"[a-z][a-z0-9-]*")
ANY_DIALECT = ""
"""The default dialect of the parser, which has the features that most dialects share."""


def dialect_of(facet_dialect: str | None, namespaces: Iterable[str], producer: str) -> str:
    """Return the parser's name of the dialect of a run's SQL, `ANY_DIALECT` if the dialect is unknown.

    facet_dialect: the dialect in the SQL facet, None without one.
    namespaces: the namespaces of the datasets of the run, outputs first.
    producer: the URI of the producer.
    """
    if facet_dialect and (found := _DIALECTS.get(facet_dialect.strip().casefold())):
        return found
    words = [*reversed(_WORD.findall(producer.casefold()))]
    schemes = [namespace.casefold().partition(":")[0] for namespace in namespaces]
    return next((found for word in (*words, *schemes) if (found := _DIALECTS.get(word))), ANY_DIALECT)
