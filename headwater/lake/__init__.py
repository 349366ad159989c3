"""Delta tables with delta-rs: write once, read by position, keep small."""
