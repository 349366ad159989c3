"""Rules 7, 8 and 9 on a graph of columns: impact and upstream, the masking surface, and column verdicts."""
