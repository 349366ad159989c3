"""Delta tables with delta-rs: exactly-once appends, reads by position, and maintenance."""
