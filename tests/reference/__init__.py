"""A second, brute-force reading of docs/reference/lineage.md, to hold the real one against; it shares no code with
it.
"""
