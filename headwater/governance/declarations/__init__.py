"""Declared lineage: YAML files, and the events that they become."""
