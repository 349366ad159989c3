"""Silver to gold: edges with the time in which they counted, the masking surface, unused columns, health of runs."""
