"""Hand-written cases of the rules of lineage, worked out from docs/lineage.md and held against every judge."""
