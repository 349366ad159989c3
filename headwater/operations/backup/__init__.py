"""Back up a matching pair of log and lake while Headwater is running, and restore it."""
