"""Rules 4, 5, 6, 11 and 12: the edges of a run, the executions that count, and the columns of a dataset."""
