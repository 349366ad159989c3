"""The rules of lineage (docs/lineage.md) as pure functions, shared by the index and Spark."""
