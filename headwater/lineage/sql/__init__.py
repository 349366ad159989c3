"""Rule 13: infer column lineage from the SQL of a run if its producer reports none."""
