"""Ingestion of events: HTTP requests and files become records of the event log, which the parser writes to bronze."""
