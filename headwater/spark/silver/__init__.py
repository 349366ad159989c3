"""The silver layer: runs and their lineage, the meaning of names, datasets, and the state of a pass."""
