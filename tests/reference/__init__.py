"""A second, brute-force implementation of docs/reference/lineage.md, with which tests compare Headwater.

It shares no code with Headwater.
"""
