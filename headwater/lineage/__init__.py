"""The rules of lineage (design, section 8; docs/lineage.md): one definition, pure, for the index and for Spark."""
