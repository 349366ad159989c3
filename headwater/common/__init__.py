"""Helpers without knowledge of lineage: errors, settings' values, paging, atomic files."""
