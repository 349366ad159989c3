"""The rules of lineage: pure functions on plain values, one definition for the index and for Spark."""
