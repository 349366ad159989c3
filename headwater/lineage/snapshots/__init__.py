"""Determine which lineage counts at a time: the validity of edges, and the snapshots that answer questions."""
