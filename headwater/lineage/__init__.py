"""The rules of lineage (docs/reference/lineage.md) as pure functions, shared by the index and Spark."""
