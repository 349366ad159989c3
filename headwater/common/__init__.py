"""Helpers without knowledge of lineage: errors, setting values, paging, atomic files."""
