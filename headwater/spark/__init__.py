"""Bronze to silver to gold with PySpark; the rules are those of `headwater.lineage`."""
