"""A batch from the log into bronze, once."""
