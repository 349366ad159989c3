"""What teams agree on: contracts, plans of changes, declared lineage, and the comparison with what really ran."""
