"""Derive silver and gold from bronze with PySpark, by the rules of `headwater.lineage`."""
