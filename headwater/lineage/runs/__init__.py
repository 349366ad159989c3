"""Rules 1 and 3: convert events into facts, merge the facts of a run, and derive the lineage of the run."""
