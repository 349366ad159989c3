"""Ingest events from storage into bronze with Spark: from event files, Event Hubs Capture and Delta tables."""
