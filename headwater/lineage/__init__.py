"""The rules of lineage (docs/lineage.md): one definition, pure, for the index and for Spark."""
