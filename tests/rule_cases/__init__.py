"""Hand-written cases of the lineage rules, derived from docs/reference/lineage.md and checked with every judge."""
