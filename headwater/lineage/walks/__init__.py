"""Rules 7, 8 and 9 over a graph: walks, the masking surface, verdicts about columns."""
