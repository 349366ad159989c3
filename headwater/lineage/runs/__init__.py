"""Rules 1 and 3: events to facts of runs, facts to runs, runs to what they say."""
