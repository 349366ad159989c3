"""Lineage that no listener sees, as people write it down: files of declarations, and the events that they become."""
