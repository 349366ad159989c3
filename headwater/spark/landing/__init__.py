"""What landed in storage instead of a receiver, into bronze by Spark: files that grow, Capture, tables."""
