"""Hand-written cases of the rules of lineage, worked out from docs/reference/lineage.md and held against every
judge.
"""
