"""Replay by tasks of Spark: the sinks' own conversion and delivery, over bronze as Spark reads it."""
