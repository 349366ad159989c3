"""Who did not report: job history and Delta commits, held against the runs that landed."""
