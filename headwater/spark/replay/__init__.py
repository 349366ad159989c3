"""Replay events with Spark tasks. Spark reads the events from bronze, and code of the sinks converts and sends them."""
