"""Contracts, plans of changes, declared lineage, and reconcile: the comparison of received runs with job history."""
